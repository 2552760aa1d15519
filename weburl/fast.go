package weburl

import "strings"

// The fast path takes ordinary http and https URLs, which are nearly all that a
// crawl meets, in one pass and without allocation but for the result. Whatever
// it does not know it leaves to the slow path: it never says that a URL is wrong.
//
// Its functions append to the canonical URL so far, which begins on the stack,
// and give the number of bytes, or the position in s, up to which s is read.

// stackBytes is the length of a URL that is written without a buffer on the heap.
const stackBytes = 256

// parseFast reads an absolute URL. A canonical raw is not copied.
func parseFast(raw string) (URL, bool) {
	s := trim(raw)
	scheme, rest, ok := cutScheme(s)
	if !ok {
		return URL{}, false
	}
	var buf [stackBytes]byte
	out, u, n, ok := appendOrigin(buf[:0], scheme, rest)
	if !ok {
		return URL{}, false
	}
	return u.complete(out, rest, n, s)
}

// resolveFast reads ref relative to base, which is zero if it is not http or https.
func resolveFast(base URL, ref string) (URL, bool) {
	s := trim(ref)
	scheme, rest, absolute := cutScheme(s)
	if !absolute {
		if base.IsZero() || schemeLength(s) > 0 {
			return URL{}, false
		}
		if scheme, rest, absolute = base.Scheme(), s, strings.HasPrefix(s, "//"); absolute {
			rest = s[len("//"):]
		}
	}
	var buf [stackBytes]byte
	if !absolute {
		return base.inherit(buf[:0], rest)
	}
	out, u, n, ok := appendOrigin(buf[:0], scheme, rest)
	if !ok {
		return URL{}, false
	}
	return u.complete(out, rest, n, "")
}

// inherit completes a reference that has no host (URL standard, "relative state").
func (u URL) inherit(out []byte, ref string) (URL, bool) {
	u.fragment = ""
	if ref == "" {
		return u, true
	}
	switch ref[0] {
	case '#':
		return u.withFragment(out, ref[1:], "")
	case '?':
		return u.withQuery(append(out, u.s[:u.pathEnd]...), ref, 0, "")
	case '/':
		return u.complete(append(out, u.s[:u.pathStart]...), ref, 0, "")
	default: // the last segment is replaced
		dir := int(u.pathStart) + strings.LastIndexByte(u.Path(), '/')
		return u.complete(append(out, u.s[:dir]...), ref, 0, "")
	}
}

// complete reads path, query and fragment, which begin at s[i]. The result is the
// beginning of shared if they are equal, and else new memory.
func (u URL) complete(out []byte, s string, i int, shared string) (URL, bool) {
	out, i, ok := appendPath(out, int(u.pathStart), s, i)
	if !ok {
		return URL{}, false
	}
	if len(out) > MaxLength { // before any offset is narrowed to 16 bits
		return URL{}, false
	}
	u.pathEnd = uint16(len(out))
	return u.withQuery(out, s, i, shared)
}

func (u URL) withQuery(out []byte, s string, i int, shared string) (URL, bool) {
	if i < len(s) && s[i] == '?' {
		out = append(out, '?')
		start, ok := len(out), false
		if out, i, ok = appendEscaped(out, start, s, i+1, queryByte); !ok {
			return URL{}, false
		}
		if len(out) == start { // an empty query is none
			out = out[:start-1]
		}
	}
	if len(out) > MaxLength {
		return URL{}, false
	}
	u.s = text(out, shared)
	if i == len(s) {
		return u, true
	}
	return u.withFragment(out[:0], s[i+1:], shared)
}

// withFragment reads a fragment that begins behind its '#'. It stands at the end
// of shared, if that is not empty.
func (u URL) withFragment(out []byte, s, shared string) (URL, bool) {
	out, _, ok := appendEscaped(out, 0, s, 0, fragmentByte)
	u.fragment = text(out, shared[max(len(shared)-len(s), 0):])
	return u, ok
}

// text is b as the beginning of shared, if that is equal, and else as new memory.
func text(b []byte, shared string) string {
	if len(b) <= len(shared) && string(b) == shared[:len(b)] {
		return shared[:len(b)]
	}
	return string(b)
}

// trim removes what the standard ignores around a URL: spaces and control characters.
func trim(s string) string {
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}
