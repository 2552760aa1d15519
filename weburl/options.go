package weburl

import (
	"slices"
	"strings"
)

// Options take out of a canonical URL what names no other page on the sites of a
// crawl. They are not part of the canonical form: Parse and Resolve never apply
// them. Options is a value: comparable, free to copy, safe for concurrent use; the
// zero value does nothing.
//
// A URL goes through Apply once, before its first Key. A store keeps the
// Fingerprint; where that differs, each stored URL is known by Apply(u) from then
// on. What an option has dropped does not come back when it is turned off.
//
// Names of parameters are compared without the case of ASCII letters.
type Options struct {
	// DropWWW drops a leading "www." of the host where a dot is left inside the
	// rest: www.example.com becomes example.com, and www.com stays.
	DropWWW bool
	// DropSessionIDs drops ";jsessionid=..." up to the end of its path segment or the
	// next ';', and the query parameters jsessionid, PHPSESSID, sid and aspsessionid*.
	DropSessionIDs bool
	// DropTracking drops the query parameters utm_*, gclid, fbclid, mc_cid and mc_eid.
	DropTracking bool
	// SortQuery puts the query's parameters into the order of their names, byte by byte as written; parameters of the same
	// name keep their order, as in URLSearchParams.sort (URL standard).
	SortQuery bool
}

// optionsVersion changes when an option begins to mean something else.
const optionsVersion = "1"

// Fingerprint identifies what the options do, to be stored beside URLs they were
// applied to; "" for those that do nothing.
func (o Options) Fingerprint() string {
	var words []string
	for _, option := range [...]struct {
		on   bool
		word string
	}{{o.DropWWW, "www"}, {o.DropSessionIDs, "session"}, {o.DropTracking, "tracking"}, {o.SortQuery, "sort"}} {
		if option.on {
			words = append(words, option.word)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return optionsVersion + " " + strings.Join(words, " ")
}

// Apply returns u as the options write it, with its fragment. The result is in
// canonical form, no longer than u, and applying it again changes nothing. Where
// there is nothing to do it is u, without allocation.
//
// A path or query with a '%' that begins no percent-encoding stays as it is: what
// is canonical in it depends on its neighbours. So does a segment like
// "..;jsessionid=1", which without its session id would lead elsewhere.
func (o Options) Apply(u URL) URL {
	if o == (Options{}) || u.IsZero() {
		return u
	}
	return o.apply(u)
}

// apply is separate from Apply so that the compiler can inline Apply, which is enough for most crawls.
func (o Options) apply(u URL) URL {
	www := 0
	if o.DropWWW {
		www = wwwLength(u.s[u.hostStart:u.hostEnd])
	}
	path, query := u.Path(), u.Query()
	if o.DropSessionIDs && strings.IndexByte(path, ';') >= 0 {
		path = withoutSession(path)
	}
	changed := query != "" && !o.keeps(query) && !hasStray(query)
	if www == 0 && len(path) == len(u.Path()) && !changed {
		return u
	}
	if changed {
		query = o.rewritten(query)
	}
	return u.with(www, path, query)
}

// with is u without the first bytes of its host, and with another path and query.
func (u URL) with(cut int, path, query string) URL {
	v := u
	v.hostEnd -= uint16(cut)
	v.pathStart -= uint16(cut)
	v.pathEnd = v.pathStart + uint16(len(path))
	var b strings.Builder
	b.Grow(int(v.pathEnd) + 1 + len(query))
	b.WriteString(u.s[:u.hostStart])
	b.WriteString(u.s[int(u.hostStart)+cut : u.pathStart])
	b.WriteString(path)
	if query != "" {
		b.WriteByte('?')
		b.WriteString(query)
	}
	v.s = b.String()
	if cut > 0 {
		v.hashHost(nil)
	}
	return v
}

// wwwLength returns the length of all leading "www." that are removed.
func wwwLength(host string) (n int) {
	const www = "www."
	for strings.HasPrefix(host[n:], www) {
		rest := host[n+len(www):]
		if dot := strings.IndexByte(rest, '.'); dot <= 0 || dot == len(rest)-1 {
			break
		}
		n += len(www)
	}
	return n
}

// withoutSession returns path without its session ids.
func withoutSession(path string) string {
	const session = ";jsessionid="
	if hasStray(path) {
		return path
	}
	var out strings.Builder
	written, segment := 0, 0
	for i := 0; i < len(path); i++ {
		if path[i] == '/' {
			segment = i + 1
		}
		if path[i] != ';' || !hasFolded(path[i:], session) || startsWithDots(path[segment:i+1]) {
			continue
		}
		end := len(path)
		if n := strings.IndexAny(path[i+1:], ";/"); n >= 0 {
			end = i + 1 + n
		}
		out.WriteString(path[written:i])
		written, i = end, end-1
	}
	if written == 0 {
		return path
	}
	out.WriteString(path[written:])
	return out.String()
}

// startsWithDots reports whether a segment is a dot segment up to its first ';', as in
// "..;a=b": without what follows it would lead elsewhere.
func startsWithDots(segment string) bool {
	return dotSegment(segment[:strings.IndexByte(segment, ';')]) > 0
}

// keeps reports whether the query already conforms to the options.
func (o Options) keeps(query string) bool {
	before := ""
	for start := 0; ; start++ {
		end := start
		for end < len(query) && query[end] != '=' && query[end] != '&' {
			end++
		}
		name := query[start:end]
		if o.drops(name) || o.SortQuery && name < before {
			return false
		}
		next := strings.IndexByte(query[end:], '&')
		if next < 0 {
			return true
		}
		before, start = name, end+next
	}
}

// rewritten returns the query rewritten by the options.
func (o Options) rewritten(query string) string {
	pairs := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool { return o.drops(nameOf(pair)) })
	if o.SortQuery {
		slices.SortStableFunc(pairs, func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) })
	}
	return strings.Join(pairs, "&")
}

func nameOf(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	return name
}

// drops reports whether a parameter is removed. Unreserved characters are never encoded in a canonical URL, so a name
// has one spelling except for case.
func (o Options) drops(name string) bool {
	if name == "" {
		return false
	}
	switch name[0] | 0x20 {
	case 'j':
		return o.DropSessionIDs && isFolded(name, "jsessionid")
	case 'p':
		return o.DropSessionIDs && isFolded(name, "phpsessid")
	case 's':
		return o.DropSessionIDs && isFolded(name, "sid")
	case 'a':
		return o.DropSessionIDs && hasFolded(name, "aspsessionid")
	case 'u':
		return o.DropTracking && hasFolded(name, "utm_")
	case 'g':
		return o.DropTracking && isFolded(name, "gclid")
	case 'f':
		return o.DropTracking && isFolded(name, "fbclid")
	case 'm':
		return o.DropTracking && (isFolded(name, "mc_cid") || isFolded(name, "mc_eid"))
	}
	return false
}

func isFolded(s, lower string) bool { return len(s) == len(lower) && strings.EqualFold(s, lower) }

func hasFolded(s, lower string) bool {
	return len(s) >= len(lower) && strings.EqualFold(s[:len(lower)], lower)
}

// hasStray reports whether s has a '%' without two digits behind it.
func hasStray(s string) bool {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			return false
		}
		if len(s) < i+3 || !isHex(s[i+1]) || !isHex(s[i+2]) {
			return true
		}
		s = s[i+3:]
	}
}
