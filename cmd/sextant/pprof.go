package main

import (
	"log/slog"
	"net"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/service"
)

// startPprof serves profiles on the flag's address, until stop is called.
func startPprof(c *cli.Context, log *slog.Logger) (stop func(), err error) {
	address := c.String("pprof")
	if address == "" {
		return func() {}, nil
	}
	if err := checkAddress("pprof", address, "only loopback addresses are allowed (127.0.0.1, [::1], localhost); from another machine use ssh -L"); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(c.Context, "tcp", address)
	if err != nil {
		return nil, err
	}
	return service.ServePprof(c.Context, l, log), nil
}
