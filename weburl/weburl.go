// Package weburl gives every part of the crawler one identity for a URL: how it
// is parsed, resolved, written in canonical form, hashed and grouped by host.
//
// The canonical form is that of the WHATWG URL standard, then: user information,
// fragment and empty query dropped, percent-encoding normalised (upper-case hex,
// unreserved characters of RFC 3986 decoded). It is idempotent.
package weburl

import "strings"

// MaxLength is the longest URL, in bytes, that is accepted, before and after
// it is brought into canonical form.
const MaxLength = 4096

// URL is an absolute http or https URL in canonical form. It is an immutable
// value; the zero value is not a URL.
type URL struct {
	s        string // canonical, without fragment
	fragment string // as discovered, without '#'
	// Offsets into s. The scheme is s[:schemeEnd].
	schemeEnd, hostStart, hostEnd, pathStart, pathEnd uint16
	hostHash                                          uint16 // with which its keys begin
}

// Parse reads an absolute URL. The error wraps ErrMalformed, ErrScheme or
// ErrTooLong. A canonical raw is not copied: the URL shares its memory.
func Parse(raw string) (URL, error) {
	if len(raw) > MaxLength {
		return URL{}, &Error{URL: raw, Err: ErrTooLong}
	}
	if u, ok := parseFast(raw); ok {
		return u, nil
	}
	if scheme := opaqueScheme(raw); scheme != "" {
		return URL{}, &Error{URL: raw, Err: ErrScheme, Detail: scheme}
	}
	return parseSlow(raw)
}

// FromCanonical reads a string that String has returned, such as a stored URL. It returns false if s is not in
// canonical form, so a damaged one is never taken for another URL. The URL shares the memory of s if the host is an
// ordinary one.
func FromCanonical(s string) (URL, bool) {
	u, err := Parse(s)
	if err != nil || u.s != s {
		return URL{}, false
	}
	return u, true
}

// IsZero reports whether u is the zero value.
func (u URL) IsZero() bool { return u.s == "" }

// String returns the canonical URL, without fragment.
func (u URL) String() string { return u.s }

// Scheme returns "http" or "https".
func (u URL) Scheme() string { return u.s[:u.schemeEnd] }

// Host returns the host in lower case (IDN in punycode), without port; IPv6 without brackets.
func (u URL) Host() string {
	h := u.s[u.hostStart:u.hostEnd]
	if strings.HasPrefix(h, "[") {
		return h[1 : len(h)-1]
	}
	return h
}

// Port returns the effective port: the written one, else 80 or 443.
func (u URL) Port() string {
	if u.hostEnd < u.pathStart {
		return u.s[u.hostEnd+1 : u.pathStart]
	}
	if u.Scheme() == "https" {
		return "443"
	}
	return "80"
}

// Path begins with a slash and has no query.
func (u URL) Path() string { return u.s[u.pathStart:u.pathEnd] }

// Query returns the text after the question mark, or "".
func (u URL) Query() string {
	if int(u.pathEnd) == len(u.s) {
		return ""
	}
	return u.s[u.pathEnd+1:]
}

// Fragment returns the fragment of the link as discovered, without '#'. It is not part
// of the URL's identity.
func (u URL) Fragment() string { return u.fragment }

// WithFragment returns u with another fragment, which is not checked.
func (u URL) WithFragment(fragment string) URL {
	u.fragment = fragment
	return u
}

// PathAndQuery returns the request target of RFC 9112 section 3.2.1.
func (u URL) PathAndQuery() string { return u.s[u.pathStart:] }

// Origin returns scheme, host and port (RFC 6454), the default port left out, without
// a closing slash: the unit of politeness.
func (u URL) Origin() string { return u.s[:u.pathStart] }
