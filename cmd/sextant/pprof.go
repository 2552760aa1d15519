package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/urfave/cli/v2"
)

// pprofHeaderTimeout bounds how slowly a request for a profile may come.
const pprofHeaderTimeout = 10 * time.Second

func pprofFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "pprof", EnvVars: env("pprof"),
		Usage: "serve Go's profiles below /debug/pprof/ on this loopback `ADDR`ess, for finding out what takes time or memory (default: nowhere)",
	}
}

// startPprof serves profiles where the flag says so, until stop is called.
func startPprof(c *cli.Context, log *slog.Logger) (stop func(), err error) {
	l, err := listenPprof(c)
	if l == nil || err != nil {
		return func() {}, err
	}
	log.Info("profiles are served", "address", "http://"+l.Addr().String()+"/debug/pprof/")
	ctx, cancel := context.WithCancel(c.Context)
	ended := make(chan error, 1)
	go func() { ended <- servePprof(ctx, l) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			log.Warn("serving profiles", "error", err)
		}
	}, nil
}

// listenPprof listens where the flag says; nil where it is not written.
func listenPprof(c *cli.Context) (net.Listener, error) {
	address := c.String("pprof")
	if address == "" {
		return nil, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, wrongUse("--pprof %q: write HOST:PORT, for example 127.0.0.1:6060", address)
	}
	if !isLoopback(address) {
		return nil, wrongUse("--pprof %q: only loopback addresses (127.0.0.1, [::1], localhost); from elsewhere use ssh -L", address)
	}
	return (&net.ListenConfig{}).Listen(c.Context, "tcp", address)
}

// servePprof serves profiles until ctx ends, to requests that name a loopback host: a
// page in a browser must not read them through a name that it bends to this machine.
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
		if !isLoopbackHost(host) {
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
