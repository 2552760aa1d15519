// Package weburl gives every part of the crawler one identity for a URL: how it
// is parsed, resolved, written in canonical form, hashed and grouped by host.
//
// The canonical form is that of the WHATWG URL standard, then: user information,
// fragment and empty query dropped, percent-encoding normalised (upper-case hex,
// unreserved characters of RFC 3986 decoded). It is idempotent.
package weburl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// MaxLength is the longest URL, in bytes, that is accepted, before and after
// it is brought into canonical form.
const MaxLength = 4096

// Reasons for which a string is not a URL that can be crawled; test with errors.Is.
var (
	ErrMalformed = errors.New("malformed URL")
	ErrScheme    = errors.New("not an http or https URL")
	ErrTooLong   = fmt.Errorf("URL longer than %d bytes", MaxLength)
)

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
	path, query := normalisePercent(u.Pathname()), normalisePercent(u.Query())
	var b strings.Builder
	b.Grow(len(scheme) + len(host) + len(path) + len(query) + 10)
	b.WriteString(scheme)
	b.WriteString("://")
	v := URL{schemeEnd: uint16(len(scheme)), hostStart: uint16(b.Len()), fragment: u.Fragment()}
	b.WriteString(host)
	v.hostEnd = uint16(b.Len())
	if p := u.Port(); p != "" {
		b.WriteByte(':')
		b.WriteString(p)
	}
	v.pathStart = uint16(b.Len())
	b.WriteString(path)
	if b.Len()+len(query)+1 > MaxLength {
		return URL{}, &Error{URL: raw, Err: ErrTooLong}
	}
	v.pathEnd = uint16(b.Len())
	if query != "" {
		b.WriteByte('?')
		b.WriteString(query)
	}
	v.s = b.String()
	return v, nil
}

// normalisePercent writes percent-encoded bytes in upper-case hex and decodes
// those that RFC 3986 section 2.3 calls unreserved. A decoded character is never
// placed where it would complete a stray '%' to a new encoded byte, so that the
// result does not change when it is normalised again.
func normalisePercent(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	stray := -3
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '%' {
			out = append(out, c)
			continue
		}
		if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			stray = len(out)
			out = append(out, c)
			continue
		}
		d := unhex(s[i+1])<<4 | unhex(s[i+2])
		if isUnreserved(d) && len(out)-stray > 2 {
			out = append(out, d)
		} else {
			out = append(out, '%', upperHex[d>>4], upperHex[d&15])
		}
		i += 2
	}
	return string(out)
}

const upperHex = "0123456789ABCDEF"

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	default:
		return c - 'A' + 10
	}
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
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

// Key identifies a canonical URL: the first 128 bits of its SHA-256. A
// cryptographic hash because links are hostile: nobody must be able to make a
// URL that hides another one.
type Key [16]byte

// Key hashes the canonical form.
func (u URL) Key() Key { return keyOf(u.s) }

// String is the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// HostKey identifies an origin: the first 64 bits of its SHA-256. Two origins
// that share it would share a queue and its politeness, and nothing else.
type HostKey [8]byte

// HostKey hashes the origin.
func (u URL) HostKey() HostKey {
	k := keyOf(u.Origin())
	return HostKey(k[:8])
}

func keyOf(s string) Key {
	h := sha256.Sum256([]byte(s))
	return Key(h[:16])
}

// Error says which string is no URL that can be crawled, and why.
type Error struct {
	URL    string // as given, cut for display
	Err    error  // ErrMalformed, ErrScheme or ErrTooLong
	Detail string // the parser's words, may be empty
}

func (e *Error) Error() string {
	u := e.URL
	if len(u) > 200 {
		u = u[:200] + "..."
	}
	if e.Detail == "" {
		return fmt.Sprintf("%q: %v", u, e.Err)
	}
	return fmt.Sprintf("%q: %v: %s", u, e.Err, e.Detail)
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }
