package main

import (
	"log/slog"
	"net"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/service"
)

// startPprof serves profiles where the flag says so, until stop is called.
func startPprof(c *cli.Context, log *slog.Logger) (stop func(), err error) {
	l, err := listenPprof(c)
	if l == nil || err != nil {
		return func() {}, err
	}
	return service.ServePprof(c.Context, l, log), nil
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
	if !service.IsLoopback(address) {
		return nil, wrongUse("--pprof %q: only loopback addresses (127.0.0.1, [::1], localhost); from elsewhere use ssh -L", address)
	}
	return (&net.ListenConfig{}).Listen(c.Context, "tcp", address)
}
