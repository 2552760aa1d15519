package visit

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// inside holds the values of a page's Fields. The zero value is that of a page without Fields.
type inside struct {
	// incompleteField is the first Field of permissions whose values are not all known, or "".
	incompleteField string
	fields          []Found
	chunks          []push.Chunk
	// chunksCut means that there are more chunks.
	chunksCut bool
}

// Found is the result of the search for a Field.
type Found struct {
	Name     string   `json:"name"`
	Selector string   `json:"select"`
	Values   []string `json:"values"`
	// Failed is the reason why the search did not run or finish.
	Failed string `json:"failed,omitempty"`
	// Cut means that it exceeds a limit of length or number.
	Cut bool `json:"cut,omitempty"`
}

// textOf sets the content of a document other than a page to its text, if the form is text.
func (f *Found) textOf(field *policy.Field, p *extract.Page) {
	if field.Key != "text" || p.Text == "" {
		return
	}
	text := p.Text
	if f.Cut = len(text) > field.MaxBytes; f.Cut {
		text = tree.CutAtLine(text, field.MaxBytes)
	}
	f.Values = append(f.Values, text)
}

const (
	// maxPlainValues is the most values of a Field that needs no tree, or splits its values.
	maxPlainValues = 1000
	// maxPrincipal is the length of the name of a user or group, in bytes. Indexes do not search much longer values.
	maxPrincipal = 1024
	// cutFrom is the length from which a value may have been cut by the reader, at 16 KiB.
	cutFrom = 16<<10 - utf8.UTFMax
)

// divide splits the values of a Field, and bounds their number. truncated is set if the page has more than was read.
func (f *Found) divide(field *policy.Field, truncated bool) {
	if field.Split != "" {
		mayBeCut := func(s string) bool { return len(s) > cutFrom }
		f.Cut = f.Cut || field.Kind != tree.Header && slices.ContainsFunc(f.Values, mayBeCut)
		var all []string
		seen := map[string]bool{"": true}
		for _, value := range f.Values {
			for part := range strings.SplitSeq(value, field.Split) {
				if part = strings.TrimSpace(part); !seen[part] && len(all) <= maxPlainValues {
					seen[part] = true
					all = append(all, part)
				}
			}
		}
		f.Values = append([]string{}, all...)
	}
	if len(f.Values) > maxPlainValues {
		f.Values, f.Cut = f.Values[:maxPlainValues], true
	}
	tooLong := func(s string) bool { return len(s) > maxPrincipal }
	f.Cut = f.Cut || policy.IsPermission(f.Name) &&
		(truncated && field.Kind != tree.Header || slices.ContainsFunc(f.Values, tooLong))
}

// unsure notes the first Field of permissions whose values are not all known. If a denial is missing, an allowed user
// could find pages that are denied to one of the user's groups. failed is the reason why this machine could not read
// the page.
func (in *inside) unsure(failed error, result *scheduler.Result) {
	for i := range in.fields {
		f := &in.fields[i]
		if !policy.IsPermission(f.Name) || f.Failed == "" && !f.Cut {
			continue
		}
		in.incompleteField = f.Name
		if result.Reason = scheduler.ReasonNoField; failed != nil {
			result.Reason = scheduler.ReasonReader // the next request is not conditional
		}
		result.Words = "not all values of the field " + f.Name + " are known: no one is allowed to find the document"
		if f.Failed != "" {
			result.Words += ": " + f.Failed
		}
		return
	}
}

// valuesOf returns the values of the first field of a name that found some, and whether they were truncated.
func (in *inside) valuesOf(name string) (values []string, cut bool) {
	for i := range in.fields {
		if in.fields[i].Name == name && len(in.fields[i].Values) > 0 {
			return in.fields[i].Values, in.fields[i].Cut
		}
	}
	return nil, false
}

// title returns the value of the Field title if it found one, or else the page's title.
func (in *inside) title(p extract.Page, u weburl.URL) string {
	if values, _ := in.valuesOf("title"); len(values) > 0 {
		return values[0]
	}
	return title(p, u)
}

// cutMeta names the fields of a document that hold less than the page.
const cutMeta = "content_cut"

// over puts the fields in place of the page's own metas of their names.
func (in *inside) over(metas []extract.Meta) []extract.Meta {
	if in.chunksCut {
		metas = append(slices.Clone(metas), extract.Meta{Name: cutMeta, Content: wire.Chunks})
	}
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
		values, cut := in.valuesOf(name)
		for _, value := range values {
			out = append(out, extract.Meta{Name: name, Content: value})
		}
		if cut {
			out = append(out, extract.Meta{Name: cutMeta, Content: name})
		}
	}
	return out
}
