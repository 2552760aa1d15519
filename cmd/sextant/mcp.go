package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/mcp"
)

// serveMCP asks for each call again: the service may start or stop meanwhile, and its store is not held.
func serveMCP(c *cli.Context) error {
	return mcp.Serve(c.Context, build().Version, c.App.Reader, c.App.Writer, func(_ context.Context,
		fn func(*admin.Client) error) error {
		return ask(c, withSettings(toRead), fn)
	})
}
