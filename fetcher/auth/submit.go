package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/text/encoding"

	"github.com/sextant-crawler/sextant/config/secret"
)

// choose returns the log-in form of a page.
func (k Form) choose(p *page) (*form, error) {
	if !k.selects() {
		return k.guess(p)
	}
	for i, f := range p.forms {
		if k.picks(f, i) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("it has no form with that name, id or number; it has %s", formsOf(p))
}

func (k Form) selects() bool { return k.Name != "" || k.ID != "" || k.Index != 0 }

// picks reports whether f, the form at i, may be the log-in form.
func (k Form) picks(f *form, i int) bool {
	if !k.selects() {
		return f.hasPassword()
	}
	return k.Name != "" && f.name == k.Name || k.ID != "" && f.id == k.ID || k.Index == i+1
}

// guess returns the first form with a password field that also has the configured fields, else the first with a
// password field: a page may also have a registration form.
func (k Form) guess(p *page) (*form, error) {
	var first *form
	for i, f := range p.forms {
		switch {
		case !k.picks(f, i):
		case k.fits(f):
			return f, nil
		case first == nil:
			first = f
		}
	}
	switch {
	case len(p.forms) == 0:
		return nil, errors.New("it has no form; a form that a script creates cannot be filled in")
	case first == nil:
		return nil, fmt.Errorf("it has no form with a password field; it has %s: if one of them logs in, write its name, id or number", formsOf(p))
	}
	return first, nil
}

// fits reports whether f has all configured fields.
func (k Form) fits(f *form) bool {
	return !slices.ContainsFunc(k.Fields, func(own Field) bool { return !f.hasField(own.Name) })
}

func formsOf(p *page) string {
	forms := p.forms
	if len(forms) == 0 {
		return "none at all"
	}
	var names []string
	for i, f := range forms[:min(len(forms), 10)] {
		names = append(names, fmt.Sprintf("form %d (name %q, id %q)", i+1, tidy(f.name, 40), tidy(f.id, 40)))
	}
	return strings.Join(names, ", ")
}

// pair is a name and value that a form sends.
type pair struct{ name, value string }

// pairs returns the form's successful controls in order, as a browser sends them when Enter is pressed in a field, with
// the configured values in their place, followed by configured fields that the form lacks.
func (k Form) pairs(f *form) []pair {
	own := map[string]secret.Value{}
	for _, field := range k.Fields {
		own[field.Name] = field.Value
	}
	pressed := false
	for _, c := range f.controls {
		_, ours := own[c.name]
		pressed = pressed || c.kind == "submit" && ours
	}
	var all []pair
	written := map[string]bool{}
	for _, c := range f.controls {
		value, ours := own[c.name]
		switch {
		case c.name == "" && c.kind != "submit":
		case ours:
			if !written[c.name] {
				all, written[c.name] = append(all, pair{c.name, value.Reveal()}), true
			}
		case c.disabled, c.kind == "reset", c.kind == "button", c.kind == "image", c.kind == "file",
			(c.kind == "checkbox" || c.kind == "radio") && !c.checked:
		case c.kind == "submit":
			if !pressed && c.name != "" {
				all = append(all, pair{c.name, c.value})
			}
			pressed = true // the first one is the default button
		default:
			all = append(all, pair{c.name, c.value})
		}
	}
	for _, field := range k.Fields {
		if !written[field.Name] {
			all, written[field.Name] = append(all, pair{field.Name, field.Value.Reveal()}), true
		}
	}
	return all
}

// request is a request of a log-in, which is repeated after a redirect that keeps it.
type request struct {
	method, contentType string
	url                 *url.URL
	body                []byte
	referer             *url.URL
}

func (r *request) build() (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequest(r.method, r.url.String(), body)
	if err != nil {
		return nil, errors.New(place(r.url) + ": it does not form a request")
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if from := r.referer; from != nil {
		// Servers that guard against forged requests require one of these.
		req.Header.Set("Referer", (&url.URL{Scheme: from.Scheme, Host: from.Host, Path: from.Path, RawPath: from.RawPath}).String())
		if r.method == http.MethodPost {
			req.Header.Set("Origin", from.Scheme+"://"+from.Host)
		}
	}
	return req, nil
}

// submission returns the request that sends f, found on the page at from.
func (k Form) submission(p *page, f *form, from *url.URL) (*request, error) {
	if f.tooMany {
		return nil, fmt.Errorf("the form has more than %d fields", maxControls)
	}
	base := from
	if p.base != "" {
		if u, err := from.Parse(p.base); err == nil {
			base = u
		}
	}
	target := from
	if f.action != "" {
		u, err := base.Parse(f.action)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("the form's action is not a URL")
		}
		target = u
	}
	r := &request{method: http.MethodGet, referer: from}
	clean := *target
	clean.Fragment, clean.RawFragment, clean.User = "", "", nil
	r.url = &clean
	pairs := k.pairs(f)
	for i := range pairs {
		pairs[i].name, pairs[i].value = encode(p.encoding, pairs[i].name), encode(p.encoding, pairs[i].value)
	}
	switch {
	case f.method != "post":
		clean.RawQuery = urlEncode(pairs)
	case f.enctype == "multipart/form-data":
		r.method = http.MethodPost
		return r, r.multipart(pairs)
	default:
		r.method, r.contentType, r.body = http.MethodPost, "application/x-www-form-urlencoded", []byte(urlEncode(pairs))
	}
	return r, nil
}

// encode writes s in the page's encoding, as browsers do; a missing character becomes a character reference.
func encode(e encoding.Encoding, s string) string {
	out, err := encoding.HTMLEscapeUnsupported(e.NewEncoder()).String(s)
	if err != nil {
		return s
	}
	return out
}

func urlEncode(pairs []pair) string {
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.name) + "=" + url.QueryEscape(p.value))
	}
	return b.String()
}

func (r *request) multipart(pairs []pair) error {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range pairs {
		if err := w.WriteField(p.name, p.value); err != nil {
			return err
		}
	}
	r.contentType = w.FormDataContentType()
	err := w.Close()
	r.body = b.Bytes()
	return err
}
