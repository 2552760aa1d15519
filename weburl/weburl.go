// Package weburl gives every part of the crawler one identity for a URL: how it
// is parsed, resolved, written in canonical form, hashed and grouped by host.
//
// The canonical form is that of the WHATWG URL standard, then: user information,
// fragment and empty query dropped, percent-encoding normalised (upper-case hex,
// unreserved characters of RFC 3986 decoded). It is idempotent.
package weburl

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// MaxLength is the longest URL, in bytes, that is accepted, before and after
// it is brought into canonical form.
const MaxLength = 4096

// URL is an absolute http or https URL in canonical form. It is an immutable
// value; the zero value is no URL.
type URL struct {
	s        string // canonical, without fragment
	fragment string // as discovered, without '#'
	// Offsets into s. The scheme is s[:schemeEnd].
	schemeEnd, hostStart, hostEnd, pathStart, pathEnd uint16
}

// Parse reads an absolute URL. The error wraps ErrMalformed, ErrScheme or ErrTooLong.
func Parse(raw string) (URL, error) {
	if len(raw) > MaxLength {
		return URL{}, &Error{URL: raw, Err: ErrTooLong}
	}
	u, err := whatwg.Parse(raw)
	if err != nil {
		return URL{}, &Error{URL: raw, Err: ErrMalformed, Detail: err.Error()}
	}
	return canonical(raw, u)
}

// Base is a parsed URL against which references of one page are resolved. It is
// safe for use by one goroutine at a time.
type Base struct{ u *whatwg.Url }

// NewBase parses raw, an absolute URL of any scheme: a page's own URL or its
// base element's.
func NewBase(raw string) (Base, error) {
	if len(raw) > MaxLength {
		return Base{}, &Error{URL: raw, Err: ErrTooLong}
	}
	u, err := whatwg.Parse(raw)
	if err != nil {
		return Base{}, &Error{URL: raw, Err: ErrMalformed, Detail: err.Error()}
	}
	return Base{u}, nil
}

// Resolve reads ref relative to the base. The errors are those of Parse.
func (b Base) Resolve(ref string) (URL, error) {
	if len(ref) > MaxLength {
		return URL{}, &Error{URL: ref, Err: ErrTooLong}
	}
	u, err := b.u.Parse(ref)
	if err != nil {
		return URL{}, &Error{URL: ref, Err: ErrMalformed, Detail: err.Error()}
	}
	return canonical(ref, u)
}

// Rebase is the base that a base element with this href makes of b; an href
// that is no URL leaves b as it is, as the HTML standard says.
func (b Base) Rebase(href string) Base {
	if len(href) > MaxLength {
		return b
	}
	u, err := b.u.Parse(href)
	if err != nil || (u.Scheme() != "http" && u.Scheme() != "https") {
		return b
	}
	return Base{u}
}

func canonical(raw string, u *whatwg.Url) (URL, error) {
	scheme := u.Scheme()
	if scheme != "http" && scheme != "https" {
		return URL{}, &Error{URL: raw, Err: ErrScheme, Detail: scheme + ":"}
	}
	host := u.Hostname()
	if host == "" {
		return URL{}, &Error{URL: raw, Err: ErrMalformed, Detail: "no host"}
	}
	port, path, query := u.Port(), normalisePercent(u.Pathname()), normalisePercent(u.Query())
	if port != "" {
		port = ":" + port
	}
	if query != "" {
		query = "?" + query
	}
	length := len(scheme) + len("://") + len(host) + len(port) + len(path) + len(query)
	if length > MaxLength { // before any offset is narrowed to 16 bits
		return URL{}, &Error{URL: raw, Err: ErrTooLong}
	}
	v := URL{fragment: u.Fragment()}
	v.schemeEnd = uint16(len(scheme))
	v.hostStart = v.schemeEnd + uint16(len("://"))
	v.hostEnd = v.hostStart + uint16(len(host))
	v.pathStart = v.hostEnd + uint16(len(port))
	v.pathEnd = v.pathStart + uint16(len(path))
	var b strings.Builder
	b.Grow(length)
	for _, part := range [...]string{scheme, "://", host, port, path, query} {
		b.WriteString(part)
	}
	v.s = b.String()
	return v, nil
}

// IsZero says whether u is the zero value.
func (u URL) IsZero() bool { return u.s == "" }

// String is the canonical URL, without fragment.
func (u URL) String() string { return u.s }

// Scheme is "http" or "https".
func (u URL) Scheme() string { return u.s[:u.schemeEnd] }

// Host is the host in lower case (IDN in punycode), without port; IPv6 without brackets.
func (u URL) Host() string {
	h := u.s[u.hostStart:u.hostEnd]
	if strings.HasPrefix(h, "[") {
		return h[1 : len(h)-1]
	}
	return h
}

// Port is the effective port: the written one, else 80 or 443.
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

// Query is what follows the question mark, without it; empty if there is none.
func (u URL) Query() string {
	if int(u.pathEnd) == len(u.s) {
		return ""
	}
	return u.s[u.pathEnd+1:]
}

// Fragment is the fragment of the link as discovered, without '#'. It is no part
// of the URL's identity.
func (u URL) Fragment() string { return u.fragment }

// PathAndQuery is the request target of RFC 9112 section 3.2.1.
func (u URL) PathAndQuery() string { return u.s[u.pathStart:] }

// Origin is scheme, host and port (RFC 6454), the default port left out, without
// a closing slash: the unit of politeness.
func (u URL) Origin() string { return u.s[:u.pathStart] }
