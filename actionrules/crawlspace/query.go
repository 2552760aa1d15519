package crawlspace

import (
	"net/url"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// queryFilter drops the query parameters that are not listed (Smartsite,
// "Application settings"). Names are compared with their case, as written
// or decoded.
type queryFilter struct {
	keep   map[string]bool
	reason Reason
}

// newQueryFilter reads the list of names; id is always on it.
func newQueryFilter(t *Text) *queryFilter {
	if t == nil {
		return nil
	}
	f := &queryFilter{map[string]bool{"id": true}, reasonAt(GateQuery, t.At, `keep="`+t.Value+`"`)}
	for _, name := range strings.Split(t.Value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			f.keep[name] = true
		}
	}
	return f
}

// rewrite returns u without the parameters that are not kept; u itself where all are.
func (f *queryFilter) rewrite(u weburl.URL) weburl.URL {
	query := u.Query()
	if f == nil || query == "" || f.keepsAll(query) {
		return u
	}
	var kept []string
	for _, parameter := range strings.Split(query, "&") {
		if f.keeps(parameter) {
			kept = append(kept, parameter)
		}
	}
	s := u.Origin() + u.Path()
	if len(kept) > 0 {
		s += "?" + strings.Join(kept, "&")
	}
	if shorter, err := weburl.Parse(s + "#" + u.Fragment()); err == nil {
		return shorter
	}
	if shorter, err := weburl.Parse(s); err == nil { // the fragment made it too long
		return shorter
	}
	return u // a part of a URL is one
}

func (f *queryFilter) keepsAll(query string) bool {
	for rest, more := query, true; more; {
		var parameter string
		if parameter, rest, more = strings.Cut(rest, "&"); !f.keeps(parameter) {
			return false
		}
	}
	return true
}

// keeps reports whether a parameter, name=value or a name alone, is kept.
func (f *queryFilter) keeps(parameter string) bool {
	name, _, _ := strings.Cut(parameter, "=")
	if f.keep[name] {
		return true
	}
	if !strings.ContainsAny(name, "%+") {
		return false
	}
	name, err := url.QueryUnescape(name)
	return err == nil && f.keep[name]
}
