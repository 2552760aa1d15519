// Package admin is the running service's door: health, status and metrics for
// whoever may read them, and commands for the owner of the data directory.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Crawler is a crawl at work, or what of one the service shows.
type Crawler interface {
	Name() string
	Status(ctx context.Context) (crawl.Status, error)
	Details(ctx context.Context) (Details, error)
	// Hosts calls fn for the n hosts with the longest queues, then for up to n more
	// that rest longest.
	Hosts(ctx context.Context, n int, fn func(scheduler.HostInfo) error) error
	Submit(ctx context.Context, urls []string) ([]crawl.Submitted, error)
	Store() scheduler.Store
	// Verify proves the store's invariant and calls fn for each fault.
	Verify(ctx context.Context, fn func(fault string)) (records uint64, err error)
	Commands
	Reporter
}

// Service is what concerns all Crawlers of the process.
type Service interface {
	// Reload reads the configuration again. On an error nothing has changed.
	Reload(ctx context.Context) error
	// Preview judges the URLs of a Crawler by the configuration at path.
	Preview(ctx context.Context, c Crawler, path string, samples int) (*crawl.Preview, error)
	// Condition reads a condition in the elements of CrawlConfig.xml.
	Condition(xml string) (actionrules.Condition, error)
}

// Server answers for all Crawlers of a process.
type Server struct {
	crawlers []Crawler
	service  Service
	log      *slog.Logger
	about    About
}

// NewServer makes a server; it answers once Run is called.
func NewServer(crawlers []Crawler, service Service, log *slog.Logger) *Server {
	return &Server{crawlers: crawlers, service: service, log: log}
}

// Limits of a request: nothing that is asked here is large, or slow to send.
const (
	maxRequestBytes = 8 << 20
	headerTimeout   = 10 * time.Second
	shutdownTimeout = 5 * time.Second
)

// Run serves until ctx ends: on open only what changes nothing, on owner (the
// Unix socket, whose file mode is its lock) everything. Either may be nil.
func (s *Server) Run(ctx context.Context, open, owner net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	serve := func(l net.Listener, h http.Handler) {
		if l == nil {
			return
		}
		server := &http.Server{
			Handler: http.MaxBytesHandler(h, maxRequestBytes), ReadHeaderTimeout: headerTimeout,
			ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		}
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
	serve(open, sameHost(s.openRoutes()))
	serve(owner, s.ownerRoutes())
	return group.Wait()
}

// openRoutes are what anybody on this machine may read.
func (s *Server) openRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /status", s.status)
	mux.Handle("GET /metrics", s.metrics())
	return mux
}

// ownerRoutes are the open ones and the commands.
func (s *Server) ownerRoutes() *http.ServeMux {
	mux := s.openRoutes()
	mux.HandleFunc("POST /api/v1/add", s.forCrawler(s.add))
	mux.HandleFunc("GET /api/v1/urls", s.forCrawler(s.urls))
	mux.HandleFunc("GET /api/v1/url", s.forCrawler(s.url))
	mux.HandleFunc("GET /api/v1/robots", s.forCrawler(s.robots))
	mux.HandleFunc("GET /api/v1/hosts", s.forCrawler(s.hosts))
	mux.HandleFunc("GET /api/v1/moves", s.forCrawler(s.moves))
	mux.HandleFunc("GET /api/v1/traps", s.forCrawler(s.traps))
	mux.HandleFunc("GET /api/v1/preview", s.forCrawler(s.preview))
	mux.HandleFunc("POST /api/v1/reload", s.reload)
	mux.HandleFunc("GET /api/v1/verify", s.forCrawler(s.verify))
	s.commandRoutes(mux)
	s.reportRoutes(mux)
	return mux
}

// sameHost refuses requests that name another host than a loopback address: a
// page in a browser must not read this service through a name that it bends to it.
func sameHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "the Host header must name a loopback address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	all := make([]Status, 0, len(s.crawlers))
	for _, c := range s.crawlers {
		one, err := statusOf(r.Context(), c)
		if err != nil {
			s.fail(w, err)
			return
		}
		all = append(all, s.withNotices(one))
	}
	s.reply(w, all)
}

func statusOf(ctx context.Context, c Crawler) (Status, error) {
	status, err := c.Status(ctx)
	if err != nil {
		return Status{}, err
	}
	details, err := c.Details(ctx)
	return Status{Status: status, Details: details}, err
}

func (s *Server) hosts(w http.ResponseWriter, r *http.Request, c Crawler) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 1 {
		http.Error(w, "n is a number, 1 or more", http.StatusBadRequest)
		return
	}
	hosts := []HostStatus{}
	err = c.Hosts(r.Context(), n, func(info scheduler.HostInfo) error {
		hosts = append(hosts, NewHostStatus(info))
		return nil
	})
	if err != nil {
		s.fail(w, err)
		return
	}
	s.reply(w, hosts)
}

// forCrawler gives a command the Crawler that the query names; a process with
// one needs no name.
func (s *Server) forCrawler(command func(http.ResponseWriter, *http.Request, Crawler)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("crawler")
		for _, c := range s.crawlers {
			if c.Name() == name || (name == "" && len(s.crawlers) == 1) {
				command(w, r, c)
				return
			}
		}
		http.Error(w, s.whichCrawler(name), http.StatusBadRequest)
	}
}

// whichCrawler says what is wrong with the name of a Crawler.
func (s *Server) whichCrawler(name string) string {
	var names []string
	for _, c := range s.crawlers {
		names = append(names, c.Name())
	}
	if name == "" {
		return "the service runs several Crawlers: name one with --crawler (" + strings.Join(names, ", ") + ")"
	}
	return fmt.Sprintf("the service has no Crawler %q: it has %s", name, strings.Join(names, ", "))
}

func (s *Server) add(w http.ResponseWriter, r *http.Request, c Crawler) {
	var body urlList
	if !s.body(w, r, &body) {
		return
	}
	submitted, err := c.Submit(r.Context(), body.URLs)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.log.Info("URLs submitted", "crawler", c.Name(), "count", len(submitted))
	s.reply(w, submitted)
}

func (s *Server) urls(w http.ResponseWriter, r *http.Request, c Crawler) {
	filter, err := ParseFilter(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	s.stream(w, "listing URLs", func(w io.Writer) error {
		out := json.NewEncoder(w)
		return crawl.Stored(r.Context(), c.Store(), filter, func(u crawl.StoredURL) error { return out.Encode(u) })
	})
}

func (s *Server) url(w http.ResponseWriter, r *http.Request, c Crawler) {
	u, err := weburl.Parse(r.URL.Query().Get("url"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stored, ok, err := crawl.StoredOne(r.Context(), c.Store(), u)
	switch {
	case err != nil:
		s.fail(w, err)
	case !ok:
		http.Error(w, "not known: "+u.String(), http.StatusNotFound)
	default:
		s.reply(w, stored)
	}
}

func (s *Server) robots(w http.ResponseWriter, r *http.Request, c Crawler) {
	query := r.URL.Query()
	u, err := weburl.Parse(query.Get("url"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	says, err := crawl.StoredRobots(r.Context(), c.Store(), query.Get("agent"), query.Get("original") == "true", u)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.reply(w, says)
}

func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	if err := s.service.Reload(r.Context()); err != nil {
		s.decline(w, err, "")
		return
	}
	s.reply(w, struct{}{})
}

func (s *Server) preview(w http.ResponseWriter, r *http.Request, c Crawler) {
	query := r.URL.Query()
	samples, err := strconv.Atoi(query.Get("samples"))
	if err != nil || samples < 0 {
		http.Error(w, "samples is a number, 0 or more", http.StatusBadRequest)
		return
	}
	p, err := s.service.Preview(r.Context(), c, query.Get("config"), samples)
	if err != nil {
		s.decline(w, err, "")
		return
	}
	s.reply(w, p)
}

func (s *Server) moves(w http.ResponseWriter, r *http.Request, c Crawler) {
	moved, err := crawl.StoredMoves(r.Context(), c.Store())
	if err != nil {
		s.fail(w, err)
		return
	}
	s.reply(w, moved)
}

func (s *Server) traps(w http.ResponseWriter, r *http.Request, c Crawler) {
	counts, err := crawl.StoredTraps(r.Context(), c.Store())
	if err != nil {
		s.fail(w, err)
		return
	}
	s.reply(w, counts)
}

// Verification is the answer of verify.
type Verification struct {
	Crawler string   `json:"crawler"`
	URLs    uint64   `json:"urls"`
	Faults  []string `json:"faults"`
}

func (s *Server) verify(w http.ResponseWriter, r *http.Request, c Crawler) {
	v := Verification{Crawler: c.Name(), Faults: []string{}}
	urls, err := c.Verify(r.Context(), func(fault string) { v.Faults = append(v.Faults, fault) })
	if err != nil {
		s.fail(w, err)
		return
	}
	v.URLs = urls
	s.reply(w, v)
}

func (s *Server) reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Debug("an answer was not read", "error", err)
	}
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	s.log.Error("a command failed", "error", err)
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
