package policy

import (
	"slices"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/weburl"
)

// IsPermission reports whether a meta decides which users may find a document: push.MetaAllow, push.MetaDeny, or
// CloudView's security. It ignores case and everything except letters and digits, since targets replace or drop other
// characters.
func IsPermission(name string) bool {
	var plain [len(push.MetaAllow)]byte
	n := 0
	for i := range len(name) {
		switch c := name[i] | 0x20; {
		case name[i] >= '0' && name[i] <= '9':
			return false
		case c < 'a' || c > 'z':
		case n == len(plain):
			return false
		default:
			plain[n] = c
			n++
		}
	}
	switch string(plain[:n]) {
	case "aclallow", "acldeny", "security":
		return true
	}
	return false
}

// WithoutPermissions returns the metas of a page without permissions: only the configuration grants and denies.
func WithoutPermissions(metas []extract.Meta) []extract.Meta {
	is := func(m extract.Meta) bool { return IsPermission(m.Name) }
	if !slices.ContainsFunc(metas, is) {
		return metas
	}
	return slices.DeleteFunc(slices.Clone(metas), is)
}

// PermissionsInHeader reports whether permissions of a page come from a header of its response. A 304 need not repeat
// the header.
func (s *Settings) PermissionsInHeader(u weburl.URL) bool {
	inField := s.Inside != nil && slices.ContainsFunc(s.Inside.Fields, func(f Field) bool {
		return f.Kind == tree.Header && IsPermission(f.Name) && f.Matches(u)
	})
	return inField || s.Mapping != nil && slices.ContainsFunc(s.Mapping.Maps, func(m Map) bool {
		return m.Header != "" && IsPermission(m.To)
	})
}
