// Package admin is the HTTP interface of a running service: health, status and metrics, the API, and a client of it.
// Health, status and metrics are open to this machine. The API is for the owner of the data directory, over a Unix
// socket, and for holders of a token.
//
// It owns the table of routes, tokens and certificate, the rate limits of unknown callers, the configuration's file as
// the API writes it, and the history of figures. A command without a service uses the same routes, in its own process.
//
// Goroutines: Server.Run serves each listener, by net/http with one goroutine a connection, and keeps the history;
// Opening and Closing answer while a service opens or closes its stores; RoundTrip runs a handler without a connection.
// Each waits for its own goroutines. Locks: one each for tokens, connections, paces, history and
// the count of pending deletions. None is held over a request, and none is taken while another is held. Only that
// of a tally is held over a walk through the store.
package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/internal/notices"
)

// Run starts goroutines: two for each listener, one to serve and one to wait for the end, and
// one for the history. net/http has one for each connection.

// Server serves all Crawlers of a process.
type Server struct {
	crawlers []Crawler
	service  Service
	config   Configuration
	access   *Access
	log      *slog.Logger
	about    About
	console  string // its URL; empty for none

	guard   *guard
	open    *connections
	history *history
	watcher *watcher
	started time.Time
	readers slots // concurrent requests of readers
	heavy   slots
	bodies  struct{ readers, operator slots } // bodies being read
	writing chan struct{}                     // of the configuration: one at a time
	mux     *http.ServeMux
}

// NewServer returns a server. It responds once Run is called. If access is nil, there are no tokens.
func NewServer(crawlers []Crawler, service Service, configuration Configuration, access *Access, log *slog.Logger) *Server {
	s := &Server{
		crawlers: crawlers, service: service, config: configuration, access: access, log: log, guard: newGuard(access), open: newConnections(),
		writing: make(chan struct{}, 1), mux: http.NewServeMux(),
		history: newHistory(crawlers), started: time.Now(),
	}
	s.watcher = newWatcher(s)
	s.history.seen = s.watcher.see
	for _, r := range s.routes() {
		s.mount(&r)
	}
	return s
}

// Mount adds a pattern of http.ServeMux that h serves for callers with a role. It must be called before Run. Host,
// Origin and rate are checked before h is called.
func (s *Server) Mount(pattern string, role Role, h http.Handler) {
	method, path, _ := strings.Cut(pattern, " ")
	s.mount(&route{method: method, path: path, role: role, plain: h})
}

// mount adds a route. It identifies the caller of each request, and limits how many requests of readers run at once.
func (s *Server) mount(route *route) {
	s.mux.HandleFunc(route.pattern(), func(w http.ResponseWriter, r *http.Request) {
		caller, p := s.Caller(r)
		if p != nil {
			p.write(w, r)
			return
		}
		if caller.Role >= Reader {
			s.open.admitted(r)
		}
		if _, within := r.Context().Value(ownerKey{}).(Caller); caller.Role == Reader && !within {
			if !s.readers.take(maxReaderRequests) {
				busy("%d requests of readers are in progress: retry in a moment", maxReaderRequests).write(w, r)
				return
			}
			defer s.readers.free()
		}
		s.serve(route, w, r, caller)
	})
}

// roleHeader, with the value reader, asks for fewer rights than the caller has.
const roleHeader = "Sextant-Role"

// Caller identifies the client of a request, and its role. It is the only place that does. The Problem, if any, is the
// response to a wrong token.
func (s *Server) Caller(r *http.Request) (Caller, *Problem) {
	c, p := s.identify(r)
	if c.Role > Reader && r.Header.Get(roleHeader) == Reader.String() {
		c.Role, c.Socket = Reader, false
	}
	return c, p
}

func (s *Server) identify(r *http.Request) (Caller, *Problem) {
	if owner, ok := r.Context().Value(ownerKey{}).(Caller); ok {
		return owner, nil
	}
	c, p := s.guard.who(r)
	if p != nil && p.Status == http.StatusUnauthorized { // at the rate of wrong tokens
		s.log.Warn("an unknown token", "remote", r.RemoteAddr, "path", r.URL.Path)
	}
	return c, p
}

// ownerKey is the context key of the Caller of a request over the Unix socket.
type ownerKey struct{}

// Limits of connections and requests: no request here is large, or slow to send.
const (
	maxRequestBytes = 8 << 20
	maxHeaderBytes  = 64 << 10
	headerTimeout   = 10 * time.Second
	bodyTimeout     = time.Minute
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
)

// Run serves until ctx ends: clients with a token on open, and the operator on owner, the Unix socket, which its file
// mode protects. Either may be nil. Run closes open. It does not close a socket, because Closing uses it next.
func (s *Server) Run(ctx context.Context, open, owner net.Listener) error {
	if owner != nil {
		var err error
		if owner, err = lend(owner); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	serve := func(l net.Listener, server *http.Server) {
		group.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			if server.Shutdown(stopping) != nil {
				return server.Close()
			}
			return nil
		})
	}
	group.Go(func() error {
		whole := context.WithoutCancel(ctx) // also when the service stops immediately
		s.watcher.begin(whole)
		defer s.watcher.end(whole)
		return s.history.run(ctx)
	})
	if open != nil {
		server := s.httpServer(s.overTCP())
		s.open.limit(server)
		if server.TLSConfig = s.access.TLS(); server.TLSConfig != nil {
			open = tls.NewListener(open, server.TLSConfig)
		}
		serve(open, server)
	}
	if owner != nil {
		server := s.httpServer(http.HandlerFunc(s.answer))
		server.MaxHeaderBytes = maxRequestBytes // the owner may send many URLs at once
		server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, ownerKey{}, Caller{Role: Operator, Name: peerName(c), Remote: "socket", Socket: true})
		}
		serve(owner, server)
	}
	return group.Wait()
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// overTCP checks the origin of a request before it is handled.
func (s *Server) overTCP() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // an earlier response may have set one
		secure(w.Header(), r.TLS != nil)
		if p := s.guard.judge(r); p != nil {
			s.log.Debug("refused a request", "remote", r.RemoteAddr, "why", p.Detail)
			p.write(w, r)
			return
		}
		s.answer(w, r)
	})
}

// answer calls the route of a request, or refuses a path without one.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut} {
		other := *r
		other.Method = method
		if _, pattern := s.mux.Handler(&other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if allow := strings.Join(allowed, ", "); allow != "" {
		w.Header().Set("Allow", allow)
		newProblem(http.StatusMethodNotAllowed, codeMethod, "%s has %s, not %s", r.URL.Path, allow, r.Method).write(w, r)
		return
	}
	newProblem(http.StatusNotFound, codeNotFound, "there is no such path: /api/v1/openapi.yaml lists them").write(w, r)
}

// About describes the Server's process. The zero value is empty.
type About struct {
	Version string // of the program
	// Notices returns the status of the receivers of notices; nil: there are none.
	Notices func() []notices.Status
	// Round, if not nil, is called with the results of each round.
	Round func(crawler, words string)
	// Once is set if the process ends when its work is done.
	Once bool
}

// Tell sets the description of the process. It must be called before Run.
func (s *Server) Tell(a About) { s.about = a }
