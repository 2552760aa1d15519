package indexer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Run starts the goroutine that serves, and waits for it. The mutex of a Server guards the pushed data; requests take
// it, and it is held during a sync.

// Settings configures a Server. The zero value accepts any connector from any client.
type Settings struct {
	Connectors      []string       // names accepted; empty: any
	User, Password  string         // HTTP Basic for all paths except /healthz; both empty for none
	Fail            Fail           // scripted failures
	MaxRequestBytes int64          // of one add_documents, and of all that are read at once; default 256 MiB
	MaxParts        int            // of one add_documents; default 100,000
	MaxPendingBytes int64          // pushed and not synced, before an automatic sync; default 16 MiB
	WebhookSecret   string         // required signatures of webhooks; empty: unchecked
	Exit            func(code int) // ends the process for Fail.DieAfter; default os.Exit
}

// Server is the receiver. All methods may be called concurrently, except Close, which must follow the end of Run.
type Server struct {
	settings Settings
	log      *slog.Logger
	store    *store
	page     *template.Template
	script   *script
	reading  *semaphore.Weighted // bytes of requests in memory

	mu         sync.Mutex // guards the fields below, and is held during a sync
	session    int64
	connectors map[string]*connector
	pending    int64                 // bytes in all connectors
	keys       map[string]remembered // by Idempotency-Key
	older      map[string]remembered // earlier keys
	closed     bool
}

const (
	shutdownGrace = 5 * time.Second
	headerTimeout = 10 * time.Second
	readTimeout   = 5 * time.Minute
)

// errClosed is the response to commands after Close.
var errClosed = errors.New("the indexer is closed")

// Open opens or creates the index in dir/bleve. A nil log discards. If another process has the index open, the error
// states what to do.
func Open(dir string, settings Settings, log *slog.Logger) (*Server, error) {
	if (settings.User == "") != (settings.Password == "") {
		return nil, errors.New("indexer: User and Password require each other: set both or neither")
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	page, err := parsePage()
	if err != nil {
		return nil, err
	}
	st, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{
		settings: withDefaults(settings), log: log, store: st, page: page,
		script: newScript(settings.Fail), session: newSession(), keys: map[string]remembered{},
	}
	s.reading = semaphore.NewWeighted(s.settings.MaxRequestBytes)
	if s.connectors, err = st.connectors(); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return s, nil
}

func withDefaults(s Settings) Settings {
	if s.MaxRequestBytes <= 0 {
		s.MaxRequestBytes = 256 << 20
	}
	if s.MaxParts <= 0 {
		s.MaxParts = 100_000
	}
	if s.MaxPendingBytes <= 0 {
		s.MaxPendingBytes = 16 << 20
	}
	if s.Exit == nil {
		s.Exit = os.Exit
	}
	return s
}

// newSession returns a random positive integer of 63 bits.
func newSession() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process instead
	return max(int64(binary.BigEndian.Uint64(b[:])>>1), 1)
}

// Run serves on l until ctx ends, then lets open requests finish for 5 seconds, and closes l. It returns nil after a
// stop by ctx. It does not sync: Close does.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.ofThisMachine(http.NewCrossOriginProtection().Handler(s.Handler())),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("indexer: serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		s.log.Warn("requests were aborted when the indexer stopped", "error", err)
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("indexer: serve on %s: %w", l.Addr(), err)
	}
	return nil
}

// ofThisMachine refuses requests whose Host header is neither a loopback name nor the dialled address, so that a page
// in a browser cannot reach the index by a name that resolves to this machine.
func (s *Server) ofThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]")
		}
		ip := net.ParseIP(host)
		local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if host != "localhost" && (ip == nil || !ip.IsLoopback() && (local == nil || !local.IP.Equal(ip))) {
			s.refuse(w, r, &refusal{status: http.StatusForbidden, words: fmt.Sprintf("the Host header names %.100q: write the address as 127.0.0.1, [::1] or localhost", r.Host)})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Handler serves the protocol and the pages.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/papi/4/connectors/{connector}/{command}", s.serveCommand)
	mux.HandleFunc("/papi/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, &refusal{status: http.StatusNotFound,
			words: "this path does not exist: write /papi/4/connectors/NAME/COMMAND"})
	})
	mux.HandleFunc("/elastic/{path...}", s.serveElastic)
	mux.HandleFunc("POST /webhook/{name}", s.protocol(true, s.refuseHook, s.webhook))
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /style.css", serveStyle)
	mux.HandleFunc("GET /api/search", s.serveSearch)
	mux.HandleFunc("GET /status", s.serveStatus)
	mux.HandleFunc("GET /documents", s.serveDocument)

	outer := http.NewServeMux()
	outer.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	outer.Handle("/", s.authenticated(mux))
	return outer
}

func (s *Server) authenticated(next http.Handler) http.Handler {
	if s.settings.User == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if !same(user, s.settings.User) || !same(password, s.settings.Password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="sextant indexer", charset="UTF-8"`)
			s.refuse(w, r, &refusal{status: http.StatusUnauthorized, words: "wrong or missing user and password"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// same compares in a time that reveals neither length nor content.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Close syncs pending operations and closes the index. Later commands get a 500. Further calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.syncAll(), s.store.close())
}

// Count returns the number of synced documents in all connectors.
func (s *Server) Count() (int, error) { return s.store.count() }

// URIs lists the synced documents of a connector, sorted.
func (s *Server) URIs(connector string) ([]string, error) {
	return s.store.uris(connector)
}
