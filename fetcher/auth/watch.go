package auth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Event is a step of a session: a request with its response, or a finding. It contains no secret.
type Event struct {
	Method string `json:"method,omitempty"` // of a request; empty: only Words
	URL    string `json:"url,omitempty"`    // without its query
	Status int    `json:"status,omitempty"` // of the response, 0 for none
	// Words describe the request and its response, or a finding.
	Words []string `json:"words"`
	Error string   `json:"error,omitempty"`
}

type watching struct{}

// Watch returns a context in which a session reports each of its steps: the requests of log-ins, and those of pages
// that carry credentials. tell may be called concurrently.
func Watch(ctx context.Context, report func(Event)) context.Context {
	return context.WithValue(ctx, watching{}, report)
}

// report adds an event for something other than a request, if ctx is watched.
func report(ctx context.Context, format string, args ...any) {
	if to, ok := ctx.Value(watching{}).(func(Event)); ok {
		to(Event{Words: []string{fmt.Sprintf(format, args...)}})
	}
}

// reporting returns a Do that reports each request, if ctx is watched.
func (s *Session) reporting(do Do) Do {
	return func(ctx context.Context, req *http.Request) (*http.Response, error) {
		resp, err := do(ctx, req)
		if to, ok := ctx.Value(watching{}).(func(Event)); ok {
			to(s.eventOf(req, resp, err))
		}
		return resp, err
	}
}

func (s *Session) eventOf(req *http.Request, resp *http.Response, err error) Event {
	e := Event{Method: req.Method, URL: place(req.URL), Words: []string{}}
	if scheme, rest, _ := strings.Cut(req.Header.Get("Authorization"), " "); scheme != "" && rest != "" {
		e.Words = append(e.Words, "with credentials ("+tidy(scheme, 20)+")")
	}
	e.Words = append(e.Words, cookieWords("with", req.Cookies())...)
	if err != nil {
		e.Error = s.scrub(err, req.URL).Error()
		return e
	}
	e.Status = resp.StatusCode
	if resp.StatusCode == http.StatusUnauthorized {
		e.Words = append(e.Words, "the server offers "+offered(resp.Header))
	}
	if to, err := req.URL.Parse(resp.Header.Get("Location")); err == nil && isRedirect(resp) {
		e.Words = append(e.Words, "leads to "+place(to))
	}
	e.Words = append(e.Words, cookieWords("sets", resp.Cookies())...)
	return e
}

// cookieWords lists cookies by name, without their values.
func cookieWords(verb string, cookies []*http.Cookie) []string {
	const shown = 10
	var names []string
	for _, c := range cookies {
		if name := tidy(c.Name, 40); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case len(names) == 1:
		return []string{verb + " the cookie " + names[0]}
	case len(names) > shown:
		return []string{fmt.Sprintf("%s the cookies %s and %d more", verb, strings.Join(names[:shown], ", "), len(names)-shown)}
	}
	return []string{verb + " the cookies " + strings.Join(names, ", ")}
}

// formWords describes the form that was found, and the names that are sent with it.
func (k Form) formWords(p *page, f *form, next *request) string {
	number := slices.Index(p.forms, f) + 1
	var own, others []string
	for _, c := range f.controls {
		if name := tidy(c.name, 40); name != "" && !slices.Contains(k.names(), c.name) && len(others) < 10 && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	for _, name := range k.names() {
		if written := tidy(name, 40); f.hasField(name) {
			own = append(own, written)
		} else {
			own = append(own, written+" (which the form does not have)")
		}
	}
	words := fmt.Sprintf("form %d of %d (name %q, id %q) is filled in: %s", number, len(p.forms), tidy(f.name, 40), tidy(f.id, 40), strings.Join(own, ", "))
	if len(others) > 0 {
		words += "; its own fields are " + strings.Join(others, ", ")
	}
	return words + fmt.Sprintf("; it is submitted with %s to %s", next.method, place(next.url))
}

func (k Form) names() (names []string) {
	for _, f := range k.Fields {
		names = append(names, f.Name)
	}
	return names
}

// reportLogIn reports the end of a log-in, if a request ended it.
func (s *Session) reportLogIn(ctx context.Context, done bool, err error) {
	form, isForm := s.method.(*formMethod)
	switch {
	case err != nil && ctx.Err() == nil:
		report(ctx, "the log-in %s failed: %v", s.settings.Name, err)
	case done && isForm:
		report(ctx, "the log-in %s worked: %s", s.settings.Name, form.Success.words())
	case done:
		report(ctx, "the log-in %s worked", s.settings.Name)
	}
}

// words describes the conditions that a successful log-in met.
func (w Success) words() string {
	var all []string
	if w.Text != "" {
		all = append(all, "the page contains the text that proves it")
	}
	if w.Cookie != "" {
		all = append(all, "the cookie "+tidy(w.Cookie, 40)+" is set")
	}
	if w.Redirect {
		all = append(all, "it led elsewhere")
	}
	if len(all) == 0 {
		return "the response does not contain the log-in form"
	}
	return strings.Join(all, ", and ")
}
