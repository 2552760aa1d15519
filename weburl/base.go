package weburl

import whatwg "github.com/nlnwa/whatwg-url/url"

// Base is a parsed URL against which references of one page are resolved. It is
// an immutable value. The zero value resolves absolute references only.
type Base struct {
	url URL // if it is http or https: nothing that canonical form drops is inherited
	// other is the base as given if url is zero: of another scheme, or too long in
	// canonical form.
	other string
}

// NewBase parses raw, an absolute URL of any scheme: a page's own URL or its
// base element's. The error wraps ErrMalformed or ErrTooLong.
func NewBase(raw string) (Base, error) {
	if len(raw) > MaxLength {
		return Base{}, &Error{URL: raw, Err: ErrTooLong}
	}
	if u, ok := parseFast(raw); ok {
		return Base{url: u}, nil
	}
	u, err := whatwg.Parse(raw)
	if err != nil {
		return Base{}, &Error{URL: raw, Err: ErrMalformed, Detail: err.Error()}
	}
	return baseOf(u), nil
}

func baseOf(u *whatwg.Url) Base {
	v, err := canonical("", u)
	if err != nil {
		return Base{other: u.Href(true)}
	}
	return Base{url: v}
}

func (b Base) href() string {
	if b.url.IsZero() {
		return b.other
	}
	return b.url.s
}

// Resolve reads ref relative to the base. The errors are those of Parse. The URL
// shares no memory with ref, so that a link does not keep its page.
func (b Base) Resolve(ref string) (URL, error) {
	if len(ref) > MaxLength {
		return URL{}, &Error{URL: ref, Err: ErrTooLong}
	}
	if u, ok := resolveFast(&b.url, ref); ok {
		return u, nil
	}
	if scheme := opaqueScheme(ref); scheme != "" {
		return URL{}, &Error{URL: ref, Err: ErrScheme, Detail: scheme}
	}
	return resolveSlow(b.href(), ref)
}

// Rebase returns the base that a base element with this href sets; an invalid href leaves b unchanged, as in the HTML
// standard.
func (b Base) Rebase(href string) Base {
	if len(href) > MaxLength {
		return b
	}
	if u, ok := resolveFast(&b.url, href); ok {
		return Base{url: u}
	}
	u, err := whatwg.ParseRef(b.href(), href)
	if err != nil || (u.Scheme() != "http" && u.Scheme() != "https") {
		return b
	}
	return baseOf(u)
}
