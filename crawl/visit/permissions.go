package visit

import (
	"maps"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

const (
	// maxPlainValues is how many values a Field has that needs no tree, or splits its values.
	maxPlainValues = 1000
	// maxPrincipal is the length of the name of a user or group, in bytes. Indexes do not search much longer values.
	maxPrincipal = 1024
)

// divide splits the values of a Field, and bounds their number.
func (f *Found) divide(field *policy.Field) {
	if field.Split != "" {
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
	if policy.IsPermission(f.Name) && slices.ContainsFunc(f.Values, func(s string) bool { return len(s) > maxPrincipal }) {
		f.Cut = true
	}
}

// unsure notes the first Field of permissions whose values are not all known. If a denial is missing, an allowed user
// could find what is denied to one of the user's groups.
func (v *visit) unsure(in *inside, result *scheduler.Result) {
	for i := range in.fields {
		f := &in.fields[i]
		if !policy.IsPermission(f.Name) || f.Failed == "" && !f.Cut {
			continue
		}
		in.unsureOf = f.Name
		if result.Reason = scheduler.ReasonNoField; v.machineFailed != nil {
			result.Reason = scheduler.ReasonReader // the next request is not conditional
		}
		result.Words = "not all values of the field " + f.Name + " are known: no one is allowed to find the document"
		if f.Failed != "" {
			result.Words += ": " + f.Failed
		}
		return
	}
}

// allowNone removes everything that allows someone to find a document.
func allowNone(metas map[string][]string) {
	maps.DeleteFunc(metas, func(name string, _ []string) bool { return name != push.MetaDeny && policy.IsPermission(name) })
}

// compared returns a document as it is compared with others. One with permissions is compared by its hash, and so with
// documents of the same permissions alone: by its text, another one could take its place.
func compared(d *push.Document) *push.Document {
	for name := range d.Metas {
		if policy.IsPermission(name) {
			other := *d
			other.Text = ""
			return &other
		}
	}
	return d
}
