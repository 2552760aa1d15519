package main

import (
	"log/slog"
	"net"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/service"
)

// startPprof serves profiles on the flag's address, until stop is called.
func startPprof(c *cli.Context, log *slog.Logger) (stop func(), err error) {
	l, err := listenPprof(c)
	if l == nil || err != nil {
		return func() {}, err
	}
	return service.ServePprof(c.Context, l, log), nil
}

// listenPprof listens on the flag's address; nil without the flag.
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
