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

func indexerCommand() *cli.Command {
	return &cli.Command{
		Name:  "indexer",
		Usage: "run a small indexer to try things out: Push API, _bulk, webhooks, search page",
		Description: "For trials and tests: documents are kept in an embedded " +
			"index under --data, and can be searched on its page.",
		Flags: append([]cli.Flag{
			dataFlag(),
			&cli.StringFlag{Name: "listen", Value: defaultIndexerListen, Usage: "`ADDR` to serve on, loopback only", EnvVars: env("indexer-listen")},
			&cli.StringFlag{Name: "user", Usage: "require HTTP Basic with this `NAME`", EnvVars: env("user")},
			&cli.StringFlag{Name: "password", Usage: "the password of --user; better set in SEXTANT_PASSWORD", EnvVars: env("password")},
			&cli.StringFlag{Name: "webhook-secret", Usage: "require webhooks to be signed with this `SECRET`; better set in SEXTANT_WEBHOOK_SECRET", EnvVars: env("webhook-secret")},
			&cli.StringFlag{Name: "fail", Usage: "fail on purpose, for tests: `SCRIPT`"},
		}, logFlags()...),
		Action: runIndexer,
	}
}

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
		listener.Close() //nolint:errcheck // the first error is the one to tell
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
