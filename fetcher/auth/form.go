package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
)

// The mutex of a formMethod guards whether it is logged in, the marks by which the form is recognized, and the log-in
// in progress. Any worker's goroutine takes it, never over a request.

// Form logs in with the form of a log-in page. It sends hidden fields, such as tokens against forged requests, as they
// are in the page; action and method are the page's. It is logged out when a response redirects to the log-in page,
// contains the log-in form or one of LoggedOut, or is a 401 or 403.
type Form struct {
	// URL is the log-in page.
	URL string
	// Fields are filled in, in addition to those of the page.
	Fields []Field
	// Name, ID or Index (from 1) select a form of the page; by default the one with a password field.
	Name, ID string
	Index    int
	// Success is the condition for a successful log-in. By default the last response must be 2xx and not contain the
	// log-in form.
	Success Success
	// LoggedOut are texts in the source of a page that show that no user is logged in.
	LoggedOut []string
	// LogInPages are further pages (scheme, host and path) to which visitors without a session are redirected.
	LogInPages []string
}

// Field is a field of a form.
type Field struct {
	Name  string
	Value secret.Value
}

// Success is the condition after submitting the form; all set fields must hold.
type Success struct {
	Text     string // occurs in the source of the last response
	Cookie   string // a cookie of this name is set
	Redirect bool   // a response redirects elsewhere than to the log-in page
}

func (k Form) start(s *Session) (method, error) {
	u, err := parsePageURL(k.URL)
	if err != nil {
		return nil, err
	}
	if len(k.Fields) == 0 {
		return nil, errors.New("the form has no fields: write those for the user name and password")
	}
	if k.Index < 0 {
		return nil, fmt.Errorf("form index %d: count from 1", k.Index)
	}
	m := &formMethod{direct: direct{s}, Form: k, url: u, pages: map[string]bool{pageKey(u): true}}
	for _, written := range k.LogInPages {
		p, err := parsePageURL(written)
		if err != nil {
			return nil, err
		}
		m.pages[pageKey(p)] = true
	}
	s.origins = append(s.origins, originOf(u))
	for _, f := range k.Fields {
		if f.Name == "" {
			return nil, errors.New("a field of the form has no name: write that of its input element")
		}
		m.marks = append(m.marks, f.Name)
	}
	return m, nil
}

func parsePageURL(written string) (*url.URL, error) {
	u, err := url.Parse(written)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("log-in page %q is not a URL: write one such as https://intranet.example.com/login", place(u))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// pageKey returns a key of a page that ignores its query.
func pageKey(u *url.URL) string {
	path, _, _ := strings.Cut(u.EscapedPath(), ";")
	if path == "" {
		path = "/"
	}
	return originOf(u).String() + path
}

type formMethod struct {
	direct
	Form
	url *url.URL

	mu    sync.Mutex
	in    bool
	pages map[string]bool // keys of log-in pages
	marks []string        // fields by which the log-in form is recognized
	flow
}

// flow is a log-in in progress.
type flow struct {
	pending *request // nil: the log-in page
	hops    int
	posted  bool
	cookie  bool // Success.Cookie was set since
	away    bool // a redirect led elsewhere since
}

const (
	maxHops  = 10 // redirects of one log-in
	maxPages = 100
)

func (*formMethod) nature() nature { return nature{name: "form", renews: true, lasting: true} }

func (m *formMethod) secrets() []secret.Value {
	all := make([]secret.Value, 0, len(m.Fields))
	for _, f := range m.Fields {
		all = append(all, f.Value)
	}
	return all
}

func (m *formMethod) ready(time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.in
}

func (m *formMethod) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.in, m.flow = false, flow{}
}

func (m *formMethod) next() *url.URL {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.request().url
}

// request returns the next request. Its caller holds mu.
func (m *formMethod) request() *request {
	if m.pending != nil {
		return m.pending
	}
	return &request{method: http.MethodGet, url: m.url}
}

func (m *formMethod) login(ctx context.Context) (done bool, err error) {
	m.mu.Lock()
	asked, f := m.request(), m.flow
	m.mu.Unlock()
	if f.pending == nil {
		m.jar.Clear() // leftovers of the old log-in may interfere
	}
	if done, err = m.step(ctx, asked, &f); done || err != nil {
		f = flow{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.in, m.flow = done, f
	return done, err
}

// step makes one request and stores the next one in f.
func (m *formMethod) step(ctx context.Context, asked *request, f *flow) (done bool, err error) {
	if err := m.origins.admit(asked.url); err != nil {
		return false, fmt.Errorf("%s is part of the log-in, but %w", place(asked.url), err)
	}
	req, err := asked.build()
	if err != nil {
		return false, err
	}
	resp, err := m.send(ctx, req.WithContext(ctx))
	if err != nil {
		return false, err
	}
	if f.posted {
		for _, c := range resp.Cookies() {
			f.cookie = f.cookie || c.Name == m.Success.Cookie && c.Value != "" && c.MaxAge >= 0
		}
	}
	switch {
	case isRedirect(resp.Response):
		return m.redirected(asked, resp, f)
	case f.posted:
		return m.submitted(asked, resp, f)
	}
	return false, m.fill(ctx, asked, resp, f)
}

func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// redirected follows a redirect, unless it already shows that the log-in succeeded.
func (m *formMethod) redirected(asked *request, resp *read, f *flow) (done bool, err error) {
	to, err := asked.url.Parse(resp.Header.Get("Location"))
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return false, fmt.Errorf("%s redirects to an invalid URL", place(asked.url))
	}
	to.Fragment, to.RawFragment, to.User = "", "", nil
	if f.posted && !m.isLogIn(to) {
		f.away = true
		want := m.Success
		if want.Text == "" && (want.Cookie != "" || want.Redirect) && (want.Cookie == "" || f.cookie) {
			return true, nil
		}
	}
	if f.hops++; f.hops > maxHops {
		return false, fmt.Errorf("%s: more than %d redirects", place(asked.url), maxHops)
	}
	next := request{method: http.MethodGet, url: to, referer: asked.referer}
	if code := resp.StatusCode; code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect {
		next = *asked
		next.url = to
	}
	f.pending = &next
	return false, nil
}

// fill prepares the form of the log-in page as the next request.
func (m *formMethod) fill(ctx context.Context, asked *request, resp *read, f *flow) error {
	if resp.StatusCode >= 400 && resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return fmt.Errorf("the log-in page %s responds with %d", place(asked.url), resp.StatusCode)
	}
	wrap := func(err error) error {
		words := "the log-in page " + place(asked.url)
		if resp.cut {
			words += " (cut at 1 MiB)"
		}
		return fmt.Errorf("%s: %w", words, err)
	}
	p := readPage(resp.body, resp.Header.Get("Content-Type"))
	found, err := m.choose(p)
	if err != nil {
		return wrap(err)
	}
	next, err := m.submission(p, found, asked.url)
	if err != nil {
		return wrap(err)
	}
	if err := m.origins.admit(next.url); err != nil {
		return wrap(fmt.Errorf("its form submits to %s: %w", place(next.url), err))
	}
	report(ctx, "%s", m.formWords(p, found, next))
	m.remember(asked.url, found)
	f.pending, f.posted = next, true
	return nil
}

// submitted evaluates the last response.
func (m *formMethod) submitted(asked *request, resp *read, f *flow) (bool, error) {
	from, want := place(asked.url), m.Success
	switch {
	case resp.StatusCode/100 != 2:
		return false, fmt.Errorf("%s responds to the form with %d", from, resp.StatusCode)
	case want.Text != "" && !shows(resp.body, resp.Header.Get("Content-Type"), want.Text):
		return false, fmt.Errorf("%s does not contain the text that proves success: check user name and password", from)
	case want.Text == "" && m.holdsForm(resp.body, resp.Header.Get("Content-Type")):
		return false, fmt.Errorf("%s shows the log-in form again: check user name and password", from)
	case want.Cookie != "" && !f.cookie:
		return false, fmt.Errorf("no cookie %s is set after submitting the form: check user name and password", tidy(want.Cookie, 100))
	case want.Redirect && !f.away:
		return false, fmt.Errorf("%s does not redirect after submitting the form: check user name and password", from)
	}
	return true, nil
}

func (m *formMethod) exchange(ctx context.Context, req *http.Request) (*http.Response, bool, error) {
	resp, err := m.settings.Do(ctx, req)
	return resp, true, err
}
