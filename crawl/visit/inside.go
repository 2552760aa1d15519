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
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// extractFields extracts all Fields whose condition matches, and replaces the page's text by its main content if
// configured. On a failure the page is unchanged; an error is that of ctx.
func (v *visit) extractFields(ctx context.Context, response *fetcher.Response, p *extract.Page, result *scheduler.Result) (inside, error) {
	var in inside
	isPage := extract.IsHTML(response.Header.Get("Content-Type"), response.Body)
	main := isPage && v.policy.Settings.Inside.WantsMain(v.lease.URL)
	looked := v.newExtraction(response, p, main)
	for _, s := range []*search{looked.whole, looked.kept} {
		if err := v.search(ctx, isPage, s); err != nil {
			return in, err
		}
		if s == looked.kept { // the same where nothing was taken out
			break
		}
	}
	if main {
		v.mainContent(looked.kept, p)
	}
	if words := looked.kept.order.ChunkWords; isPage {
		in.chunks, in.chunksCut = looked.kept.found.Chunks, looked.kept.found.ChunksCut
	} else if words > 0 {
		in.chunks, in.chunksCut = tree.ChunksOf(p.Text, words)
	}
	for i, f := range looked.fields {
		found := Found{Name: f.Name, Selector: f.Selector, Values: []string{}}
		switch s := looked.by[i]; {
		case s == nil:
			found.Values = append(found.Values, plainValues(f, response, p)...)
		case s.failed != "":
			found.Failed = s.failed
		default:
			picked := s.next()
			found.Values, found.Failed, found.Cut = append(found.Values, picked.Values...), picked.Failed, picked.Cut
		}
		if !isPage && f.Kind == tree.Content {
			found.textOf(f, p)
		}
		if f.IsAddress() {
			v.absolute(found.Values, p)
		}
		found.divide(f, response.Truncated)
		in.fields = append(in.fields, found)
	}
	v.count(&in, result)
	if len(in.fields) > 0 {
		v.visitor.trial.record(func(t *Recording) { t.Fields = in.fields })
	}
	return in, nil
}

// search is a search of a page, or of its kept part, in another process.
type search struct {
	order  tree.Order
	body   []byte
	found  tree.Found
	failed string // the reason why it was not done
	// permissions is set if it is for permissions, too.
	permissions bool
	taken       int // of the picked values
}

// next returns the values of the next pick.
func (s *search) next() tree.Picked {
	s.taken++
	return s.found.Picked[s.taken-1]
}

// extraction holds the Fields to extract from a page: from the whole page, from its kept part, or without a search.
type extraction struct {
	fields      []*policy.Field
	by          []*search
	whole, kept *search
}

// newExtraction returns what to extract from a page, and from which part.
func (v *visit) newExtraction(response *fetcher.Response, p *extract.Page, main bool) *extraction {
	all := &extraction{whole: &search{order: tree.Order{ContentType: "text/html; charset=" + p.Charset}, body: response.Body}}
	all.kept = all.whole
	if p.Content != nil { // content of RemoveElements and noindex regions must not return
		all.kept = &search{order: tree.Order{ContentType: "text/html; charset=" + p.ContentCharset}, body: p.Content}
	}
	all.kept.order.Main, all.kept.order.ChunkWords = main, v.policy.Settings.Inside.ChunkWords(v.lease.URL)
	for i := range v.policy.Settings.Inside.Fields {
		f := &v.policy.Settings.Inside.Fields[i]
		if !f.Matches(v.lease.URL) {
			continue
		}
		var by *search
		switch {
		case f.Kind == tree.Content:
			by = all.kept
			by.order.Base = baseAddress(v.lease.URL, p)
		case f.Kind.NeedsTree():
			by = all.whole
		}
		if by != nil {
			by.permissions = by.permissions || policy.IsPermission(f.Name)
			many := f.Multiple || f.Split != ""
			by.order.Picks = append(by.order.Picks, tree.Pick{Select: f.Selector, Attribute: f.Attribute, Multiple: many, Bytes: f.MaxBytes})
		}
		all.fields, all.by = append(all.fields, f), append(all.by, by)
	}
	return all
}

// baseAddress returns the base of a page's relative addresses.
func baseAddress(page weburl.URL, p *extract.Page) string {
	if base, err := BaseOf(page, extract.Page{}).Resolve(p.Base); p.Base != "" && err == nil {
		return base.String()
	}
	return page.String()
}

// mainContent replaces the text of a page by its main content, if one was found.
func (v *visit) mainContent(s *search, p *extract.Page) {
	if s.failed == "" {
		v.meter.Fields.AddMain(s.found.Main != "")
		v.meter.HostPages.AddMain(v.lease.Place.Host, s.found.Main != "")
	}
	if s.found.Main != "" {
		p.Text = s.found.Main
		v.visitor.trial.record(func(t *Recording) { t.MainText = s.found.Main })
	}
}

// search searches a page in another process. It records failures; an error is that of ctx.
func (v *visit) search(ctx context.Context, isPage bool, s *search) (err error) {
	picks := s.order.Picks
	switch {
	case len(picks) == 0 && !s.order.Main && s.order.ChunkWords == 0:
		return nil
	case !isPage:
		s.found.Picked = make([]tree.Picked, len(picks))
		return nil
	case v.policy.Settings.Pages == nil:
		s.failed = string(documents.Unavailable)
		return nil
	}
	s.found, err = v.policy.Settings.Pages.Search(ctx, &s.order, s.body)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err == nil && len(s.found.Picked) == len(picks):
		for i := range s.found.Picked {
			if failed := s.found.Picked[i].Failed; failed != "" {
				v.noteUnsearched(s.body, partReason(failed), picks[i].Select+": "+failed)
				break
			}
		}
		return nil
	}
	reason := documents.Crashed
	if e, ok := errors.AsType[*documents.Error](err); ok {
		reason = e.Reason
	}
	v.noteUnsearched(s.body, reason, fmt.Sprint(err))
	if (s.order.Main || s.permissions) && reason.OfMachine() {
		v.machineFailed = err
	}
	s.found, s.failed = tree.Found{}, string(reason)
	return nil
}

// partReason returns the reason of a pick that failed while others succeeded.
func partReason(failed string) documents.Reason {
	if failed == tree.Late {
		return documents.TooSlow
	}
	return documents.Crashed
}

// noteUnsearched counts and logs a page that could not be searched.
func (v *visit) noteUnsearched(body []byte, reason documents.Reason, words string) {
	v.meter.Fields.Fail(string(reason))
	v.log.Warn("cannot search a page; its document lacks some fields, or has the whole text",
		"url", v.lease.URL.String(), "bytes", len(body), "error", words)
}

// plainValues returns the values of a field that needs no tree.
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
	if !f.Multiple && f.Split == "" && len(values) > 1 {
		values = values[:1]
	}
	return values
}

// absolute resolves addresses relative to the page.
func (v *visit) absolute(values []string, p *extract.Page) {
	base := BaseOf(v.lease.URL, *p)
	for i, value := range values {
		if u, err := base.Resolve(value); err == nil {
			values[i] = u.String()
		}
	}
}

// count counts the fields by name, and sets in the result the first that was not found, unless there is another
// problem.
func (v *visit) count(in *inside, result *scheduler.Result) {
	if len(in.fields) == 0 {
		return
	}
	all := true
	for i := range in.fields {
		f := &in.fields[i]
		if slices.ContainsFunc(in.fields[:i], func(e Found) bool { return e.Name == f.Name }) {
			continue
		}
		values, cut := in.valuesOf(f.Name)
		found := len(values) > 0
		if lost := v.meter.Fields.Add(f.Name, found, cut); lost && f.Name == push.MetaAllow {
			v.log.Warn("the last pages have no permissions, so no user finds them: has the site changed? "+
				"Look at a page with sextant fetch, and adapt the Field", "field", f.Name, "url", v.lease.URL.String())
		}
		all = all && (found || f.Name == push.MetaDeny)
		if found || f.Name == push.MetaDeny || result.Reason != scheduler.NoReason {
			continue
		}
		result.Reason, result.Words = scheduler.ReasonNoField, "the field "+f.Name+" was not found"
		if f.Failed != "" {
			result.Words = "the field " + f.Name + " was not found: " + f.Failed
		}
	}
	v.meter.HostPages.AddSearched(v.lease.Place.Host, all)
	in.unsure(v.machineFailed, result)
}
