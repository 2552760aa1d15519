// Package console is the service in a browser: pages that show a crawl and control it.
//
// It is a client of the API. Each page asks the API within the process, with the
// rights of whoever looks at it, so rights and the log of changes stay in one place.
// Nothing that a crawled page says can run in it: html/template escapes it, the
// content security policy allows no script but the program's own files, and
// documents are shown as text.
//
// It owns the sessions of browsers, the pages and their templates. It starts no goroutine.
// Its locks, on the sessions and on each, are held for moments.
package console

import (
	"html/template"
	"log/slog"
	"net/http"
	"sync"

	"github.com/sextant-crawler/sextant/docs"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// Service is the API that the console is a client of: an admin.Server.
type Service interface {
	// Caller says who makes a request, or what is wrong with their token.
	Caller(r *http.Request) (admin.Caller, *admin.Problem)
	// SignIn says who has a token, at the pace at which wrong ones may be tried.
	SignIn(r *http.Request, token string) (admin.Caller, *admin.Problem)
	// As is the API as one caller sees it.
	As(c admin.Caller) http.Handler
}

// Settings are what a console shows beside what the API tells.
type Settings struct {
	// Crawlers are the names of those in the process, in their order.
	Crawlers []string
	// Version is the program's.
	Version string
	// Config is the file of the configuration.
	Config string
}

// Console answers for the pages. Its methods may be called at once.
type Console struct {
	service   Service
	settings  Settings
	log       *slog.Logger
	sessions  *sessions
	files     *files
	templates map[string]*template.Template
	routes    []page
	mux       *http.ServeMux
	// manual renders the manual when somebody looks at it first: most services are
	// never asked for it.
	manual func() (*docs.Manual, error)
}

// New makes a console; it fails only if its own templates are broken.
func New(service Service, s Settings, log *slog.Logger) (*Console, error) {
	c := &Console{service: service, settings: s, log: log, sessions: newSessions(), mux: http.NewServeMux(), manual: sync.OnceValues(docs.Open)}
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

// Patterns are the paths that the console answers to, in the words of http.ServeMux.
func (c *Console) Patterns() []string {
	patterns := []string{"GET /static/"}
	for i := range c.routes {
		patterns = append(patterns, c.routes[i].pattern)
	}
	return patterns
}

// ServeHTTP answers one request. Where it comes from has been judged before.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	c.mux.ServeHTTP(w, r)
}

// contentPolicy is the content security policy of all pages: nothing but the program's own
// files, no script or style in a page, and no frame around it.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// secure sets the headers in which pages differ from other answers of the service.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	// With no-referrer browsers send "Origin: null" with forms, which cannot be told from
	// those of other sites (Fetch standard, "append a request Origin header").
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}
