package weburl

import "strings"

// The fast path takes ordinary http and https URLs, which are nearly all that a
// crawl meets, in one pass and without allocation except for the result. Whatever
// it does not know it leaves to the slow path: it never says that a URL is wrong.
//
// Its functions append to the canonical URL so far, which begins on the stack,
// and give the number of bytes, or the position in s, up to which s is read.

// stackBytes is the length of a URL that is written without a buffer on the heap.
const stackBytes = 256

// parseFast reads an absolute URL. A canonical raw is not copied.
func parseFast(raw string) (u URL, ok bool) {
	s := trim(raw)
	scheme, rest, ok := cutScheme(s)
	if !ok {
		return u, false
	}
	var buf [stackBytes]byte
	out, n, ok := u.appendOrigin(room(buf[:0], len(s)), scheme, rest)
	if ok = ok && u.complete(out, rest, n, s); ok {
		u.hashHost(nil)
	}
	return u, ok
}

// resolveFast reads ref relative to base, which is zero if it is not http or https.
func resolveFast(base *URL, ref string) (u URL, ok bool) {
	s := trim(ref)
	scheme, rest, absolute := cutScheme(s)
	if !absolute {
		if base.IsZero() || schemeLength(s) > 0 {
			return u, false
		}
		scheme = base.Scheme()
		rest, absolute = strings.CutPrefix(s, "//")
	}
	var buf [stackBytes]byte
	out := room(buf[:0], len(base.s)+len(s))
	if !absolute {
		u = *base
		ok = u.inherit(out, rest)
		return u, ok
	}
	out, n, ok := u.appendOrigin(out, scheme, rest)
	if ok = ok && u.complete(out, rest, n, ""); ok {
		u.hashHost(base)
	}
	return u, ok
}

// inherit copies from the base the parts of a URL that a reference without a host lacks (URL standard, "relative
// state").
func (u *URL) inherit(out []byte, ref string) bool {
	u.fragment = ""
	if ref == "" {
		return true
	}
	switch ref[0] {
	case '#':
		return u.readFragment(out, ref[1:], "")
	case '?':
		return u.completeQuery(append(out, u.s[:u.pathEnd]...), ref, 0, "")
	case '/':
		return u.complete(append(out, u.s[:u.pathStart]...), ref, 0, "")
	default: // the last segment is replaced
		dir := int(u.pathStart) + strings.LastIndexByte(u.Path(), '/')
		return u.complete(append(out, u.s[:dir]...), ref, 0, "")
	}
}

// complete reads path, query and fragment, which begin at s[i]. The result is the
// beginning of shared if they are equal, and else new memory.
func (u *URL) complete(out []byte, s string, i int, shared string) bool {
	out, i = appendPath(out, int(u.pathStart), s, i)
	u.pathEnd = uint16(len(out)) // at most 4 x MaxLength
	return i >= 0 && u.completeQuery(out, s, i, shared)
}

func (u *URL) completeQuery(out []byte, s string, i int, shared string) bool {
	if i < len(s) && s[i] == '?' {
		out = append(out, '?')
		start := len(out)
		if out, i = appendEscaped(out, start, s, i+1, queryByte); i < 0 {
			return false
		}
		if len(out) == start { // an empty query does not count
			out = out[:start-1]
		}
	}
	if len(out) > MaxLength {
		return false
	}
	u.s = text(out, shared)
	return i == len(s) || u.readFragment(out[:0], s[i+1:], shared)
}

// readFragment reads a fragment that begins behind its '#'. It stands at the end
// of shared, if that is not empty.
func (u *URL) readFragment(out []byte, s, shared string) bool {
	out, end := appendEscaped(out, 0, s, 0, fragmentByte)
	u.fragment = text(out, shared[max(len(shared)-len(s), 0):])
	return end >= 0
}

// room is buf if n bytes fit, which is all that a URL takes whose bytes need no
// percent-encoding, and else a buffer on the heap.
func room(buf []byte, n int) []byte {
	if n < cap(buf) { // one more for the slash of an empty path
		return buf
	}
	return make([]byte, 0, n+1)
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
