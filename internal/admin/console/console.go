// Package console is the service in a browser: pages that show a crawl and control it.
//
// It is a client of the API. Each page uses the API within the process, with the rights of its visitor, so that rights
// and the log of changes are handled in one place. Content of a crawled page cannot run in it: html/template escapes
// it, the content security policy allows only the program's own scripts, and documents are shown as text.
//
// It owns the sessions of browsers, their sign-ins at a provider, the pages and their templates. It starts no
// goroutine. Its locks, on the sessions, on each session and on the sign-ins, are held briefly.
package console

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"sync"

	"github.com/sextant-crawler/sextant/docs"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// Service is the API that the console is a client of: an admin.Server.
type Service interface {
	// Caller identifies the client of a request, or returns the problem with its token.
	Caller(r *http.Request) (admin.Caller, *admin.Problem)
	// SignIn identifies the holder of a token, limiting the rate of wrong ones.
	SignIn(r *http.Request, token string) (admin.Caller, *admin.Problem)
	// As returns the API with the rights of a caller.
	As(c admin.Caller) http.Handler
}

// Provider signs people in elsewhere: an openid.Provider.
type Provider interface {
	Begin(ctx context.Context, redirect, state, nonce, verifier string) (string, error)
	Finish(ctx context.Context, redirect, code, nonce, verifier string) (admin.Caller, error)
}

// Settings are what the console shows besides the API's data.
type Settings struct {
	// Crawlers are the names of the process's Crawlers, in order.
	Crawlers []string
	// Version is the program's.
	Version string
	// Config is the file of the configuration.
	Config string
	// Provider signs people in elsewhere; nil: they need a token.
	Provider Provider
}

// Console serves the pages. Its methods may be called concurrently.
type Console struct {
	service   Service
	settings  Settings
	log       *slog.Logger
	sessions  *sessions
	flows     *flows
	files     *files
	templates map[string]*template.Template
	routes    []page
	mux       *http.ServeMux
	// manual renders the manual on first use, since most services never need it.
	manual func() (*docs.Manual, error)
}

// New returns a console; it fails only if its own templates are broken.
func New(service Service, s Settings, log *slog.Logger) (*Console, error) {
	c := &Console{service: service, settings: s, log: log, sessions: newSessions(), flows: newFlows(),
		mux: http.NewServeMux(), manual: sync.OnceValues(docs.Open)}
	c.routes = pages()
	var err error
	if c.files, err = loadFiles(); err != nil {
		return nil, err
	}
	if c.templates, err = parseTemplates(c.routes, c.files); err != nil {
		return nil, err
	}
	for i := range c.routes {
		c.mux.HandleFunc(c.routes[i].pattern, func(w http.ResponseWriter, r *http.Request) { c.serve(&c.routes[i], w, r) })
	}
	c.mux.Handle("GET /static/", c.files)
	return c, nil
}

// Patterns returns the console's paths, in the syntax of http.ServeMux.
func (c *Console) Patterns() []string {
	patterns := []string{"GET /static/"}
	for i := range c.routes {
		patterns = append(patterns, c.routes[i].pattern)
	}
	return patterns
}

// ServeHTTP handles one request, whose origin was checked before.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	c.mux.ServeHTTP(w, r)
}

// contentPolicy is the content security policy of all pages: only the program's own files, no inline script or style,
// and no framing.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// secure sets the headers in which pages differ from the service's other responses.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	// With no-referrer browsers send "Origin: null" with forms, which looks the same as from other sites (Fetch
	// standard, "append a request Origin header").
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}
