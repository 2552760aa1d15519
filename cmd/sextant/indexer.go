package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

// defaultIndexerListen is the port of CloudView's push server on a default install.
const defaultIndexerListen = "127.0.0.1:10002"

func runIndexer(c *cli.Context) error {
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	settings := indexer.Settings{User: c.String("user"), Password: c.String("password"), WebhookSecret: c.String("webhook-secret")}
	if settings.Fail, err = indexer.ParseFail(c.String("fail")); err != nil {
		return wrongUse("--fail: %w", err)
	}
	listener, err := listenLoopback(c.Context, c.String("listen"))
	if err != nil {
		return err
	}
	// A folder of its own, since ./data is also where a crawl keeps its store.
	dir := filepath.Join(c.String("data"), "indexer")
	server, err := indexer.Open(dir, settings, log)
	if err != nil {
		listener.Close() //nolint:errcheck // the first error is the one to report
		return err
	}
	ctx, cancel := context.WithCancel(c.Context)
	defer onSignals(cancel, cancel, func() {})()
	defer cancel()
	fmt.Fprintf(c.App.Writer, "indexer: http://%s/ (Push API below /papi/4/connectors/NAME/, _bulk below /elastic/, webhooks at /webhook/NAME), documents in %s\n", listener.Addr(), dir)
	runErr := server.Run(ctx, listener)
	if err := server.Close(); err != nil {
		return err
	}
	return runErr
}
