package visit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/scheduler"
)

// inside is what was found in a page by Fields. The zero value is that of a page that has none.
type inside struct {
	fields []Found
}

// Found is a field that was looked for.
type Found struct {
	Name     string   `json:"name"`
	Selector string   `json:"select"`
	Values   []string `json:"values"`
	// Failed says why it was not looked for, or not to the end.
	Failed string `json:"failed,omitempty"`
}

// lookInside looks in a page for all Fields whose condition matches, and makes its text that of its
// main content, if that is wanted. What goes wrong leaves it as it is; an error is that of ctx.
func (v *visit) lookInside(ctx context.Context, response *fetcher.Response, p *extract.Page, result *scheduler.Result) (inside, error) {
	var in inside
	var looked []*policy.Field
	order := tree.Order{ContentType: "text/html; charset=" + p.Charset}
	for i := range v.policy.Settings.Inside.Fields {
		f := &v.policy.Settings.Inside.Fields[i]
		if f.Match != nil && !f.Match(v.lease.URL) {
			continue
		}
		looked = append(looked, f)
		if f.Kind.NeedsTree() {
			order.Picks = append(order.Picks, tree.Pick{Select: f.Selector, Attribute: f.Attribute, Multiple: f.Multiple})
		}
	}
	isPage := extract.IsHTML(response.Header.Get("Content-Type"), response.Body)
	main := isPage && v.policy.Settings.Inside.WantsMain(v.lease.URL)
	// What RemoveElements and noindex regions take out must not come back with the main content.
	order.Main = main && p.Content == nil
	searched, failed, err := v.search(ctx, isPage, &order, response.Body)
	if err != nil {
		return in, err
	}
	if main {
		err = v.mainContent(ctx, &searched, failed, p)
	}
	if err != nil || len(looked) == 0 {
		return in, err
	}
	picked := searched.Picked
	for _, f := range looked {
		found := Found{Name: f.Name, Selector: f.Selector, Values: []string{}}
		switch {
		case !f.Kind.NeedsTree():
			found.Values = append(found.Values, plainValues(f, response, p)...)
		case failed != "":
			found.Failed = failed
		default:
			found.Values, found.Failed = append(found.Values, picked[0].Values...), picked[0].Failed
			picked = picked[1:]
		}
		if f.IsAddress() {
			v.absolute(found.Values, p)
		}
		in.fields = append(in.fields, found)
	}
	v.count(&in, result)
	v.visitor.trial.found(in.fields)
	return in, nil
}

// mainContent makes the text of a page that of its main content, if there is one: what was found
// in the page, or is in what is left of it when parts were taken out.
func (v *visit) mainContent(ctx context.Context, found *tree.Found, failed string, p *extract.Page) (err error) {
	if p.Content != nil {
		order := tree.Order{ContentType: "text/html; charset=" + p.ContentCharset, Main: true}
		if *found, failed, err = v.search(ctx, true, &order, p.Content); err != nil {
			return err
		}
	}
	if failed == "" {
		v.meter.Fields.AddMain(found.Main != "")
	}
	if found.Main != "" {
		p.Text = found.Main
		v.visitor.trial.mainContent(found.Main)
	}
	return nil
}

// search has another process look through the page. Failed is the reason where that was not done.
func (v *visit) search(ctx context.Context, isPage bool, order *tree.Order, body []byte) (found tree.Found, failed string, err error) {
	switch {
	case len(order.Picks) == 0 && !order.Main:
		return found, "", nil
	case !isPage:
		return tree.Found{Picked: make([]tree.Picked, len(order.Picks))}, "", nil
	case v.policy.Settings.Pages == nil:
		return found, string(documents.Unavailable), nil
	}
	found, err = v.policy.Settings.Pages.Search(ctx, order, body)
	switch {
	case err != nil && ctx.Err() != nil:
		return found, "", ctx.Err()
	case err == nil && len(found.Picked) == len(order.Picks):
		for i := range found.Picked {
			if failed := found.Picked[i].Failed; failed != "" {
				v.unsearched(body, partReason(failed), order.Picks[i].Select+": "+failed)
				break
			}
		}
		return found, "", nil
	}
	reason := documents.Crashed
	if e, ok := errors.AsType[*documents.Error](err); ok {
		reason = e.Reason
	}
	v.unsearched(body, reason, fmt.Sprint(err))
	return tree.Found{}, string(reason), nil
}

// partReason is the reason of a pick that failed while others did not.
func partReason(failed string) documents.Reason {
	if failed == tree.Late {
		return documents.TooSlow
	}
	return documents.Crashed
}

// unsearched counts and logs a page that could not be searched.
func (v *visit) unsearched(body []byte, reason documents.Reason, words string) {
	v.meter.Fields.Fail(string(reason))
	v.log.Warn("a page cannot be searched: its document is without some of its fields, or has its whole text",
		"url", v.lease.URL.String(), "bytes", len(body), "error", words)
}

// plainValues are those of a field that needs no tree.
func plainValues(f *policy.Field, response *fetcher.Response, p *extract.Page) []string {
	var values []string
	if f.Kind == tree.Header {
		for _, value := range response.Header.Values(f.Key) {
			values = append(values, strings.ToValidUTF8(strings.TrimSpace(value), "\uFFFD"))
		}
	} else {
		for _, meta := range p.Metas {
			if meta.Name == f.Key {
				values = append(values, meta.Content)
			}
		}
	}
	values = slices.DeleteFunc(values, func(s string) bool { return s == "" })
	if !f.Multiple && len(values) > 1 {
		values = values[:1]
	}
	return values
}

// absolute makes addresses of those relative to the page.
func (v *visit) absolute(values []string, p *extract.Page) {
	base := BaseOf(v.lease.URL, *p)
	for i, value := range values {
		if u, err := base.Resolve(value); err == nil {
			values[i] = u.String()
		}
	}
}

// count counts the fields by name, and puts into the result the first that is not there, unless
// something else is wrong.
func (v *visit) count(in *inside, result *scheduler.Result) {
	for i := range in.fields {
		f := &in.fields[i]
		if slices.ContainsFunc(in.fields[:i], func(e Found) bool { return e.Name == f.Name }) {
			continue
		}
		found := len(in.valuesOf(f.Name)) > 0
		v.meter.Fields.Add(f.Name, found)
		if found || result.Reason != scheduler.NoReason {
			continue
		}
		result.Reason, result.Words = scheduler.ReasonNoField, "the field "+f.Name+" was not found"
		if f.Failed != "" {
			result.Words = "the field " + f.Name + " was not found: " + f.Failed
		}
	}
}

// valuesOf are those of the first field of a name that found some.
func (in *inside) valuesOf(name string) []string {
	for i := range in.fields {
		if in.fields[i].Name == name && len(in.fields[i].Values) > 0 {
			return in.fields[i].Values
		}
	}
	return nil
}

// over puts the fields in place of the page's own metas of their names.
func (in *inside) over(metas []extract.Meta) []extract.Meta {
	if len(in.fields) == 0 {
		return metas
	}
	isField := func(name string) bool {
		return slices.ContainsFunc(in.fields, func(f Found) bool { return f.Name == name })
	}
	out := slices.DeleteFunc(slices.Clone(metas), func(m extract.Meta) bool { return isField(m.Name) })
	for i := range in.fields {
		name := in.fields[i].Name
		if slices.ContainsFunc(in.fields[:i], func(e Found) bool { return e.Name == name }) {
			continue
		}
		for _, value := range in.valuesOf(name) {
			out = append(out, extract.Meta{Name: name, Content: value})
		}
	}
	return out
}
