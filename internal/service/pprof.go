package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// One goroutine serves profiles; ServePprof returns the function that ends it and waits.

// pprofHeaderTimeout bounds how slowly a request for a profile may come.
const pprofHeaderTimeout = 10 * time.Second

// ServePprof serves Go's profiles on l until stop is called. One goroutine serves.
func ServePprof(ctx context.Context, l net.Listener, log *slog.Logger) (stop func()) {
	log.Info("profiles are served", "address", "http://"+l.Addr().String()+"/debug/pprof/")
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- servePprof(ctx, l) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			log.Warn("serving profiles", "error", err)
		}
	}
}

// servePprof serves profiles until ctx ends, to requests that name a loopback host: a page in a browser must not read
// them by DNS rebinding.
func servePprof(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	server := &http.Server{ReadHeaderTimeout: pprofHeaderTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !IsLoopbackHost(host) {
			http.Error(w, "the Host header must name a loopback address", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
