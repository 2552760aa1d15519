package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/demo/indexer"
	"github.com/sextant-crawler/sextant/demo/site"
	"github.com/sextant-crawler/sextant/service"
)

// The demo has three goroutines: the sample site, the receiver, and its own, which runs the
// service. It ends the other two and waits for them.

// demoDeadline bounds the crawl of the sample site, which takes a second or two.
const demoDeadline = time.Minute

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "crawl a built-in site into a built-in indexer and show where to look",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "exit after the crawl", EnvVars: env("once")},
		}, logFlags()...),
		Action: runDemo,
	}
}

// demo is the sample site, the indexer and what is said about them.
type demo struct {
	dir     string
	site    net.Listener
	indexer net.Listener
	server  *indexer.Server
	log     *slog.Logger
}

func runDemo(c *cli.Context) (err error) {
	if c.Args().Present() {
		return wrongUse("demo takes no arguments, found %q", c.Args().First())
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sextant-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := openDemo(c.Context, dir, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	defer onSignals(cancel, cancel, func() {})()

	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	servers, _ := errgroup.WithContext(serving)
	servers.Go(func() error { return d.serveSite(serving) })
	servers.Go(func() error { return d.server.Run(serving, d.indexer) })
	err = d.show(ctx, c.App.Writer, c.Bool("once"))
	stopServing()
	return errors.Join(err, servers.Wait(), d.server.Close())
}

func openDemo(ctx context.Context, dir string, log *slog.Logger) (*demo, error) {
	d := &demo{dir: dir, log: log}
	var err error
	if d.site, err = listenLoopback(ctx, "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if d.indexer, err = listenLoopback(ctx, "127.0.0.1:0"); err != nil {
		return nil, errors.Join(err, d.site.Close())
	}
	d.server, err = indexer.Open(filepath.Join(dir, "indexer"), indexer.Settings{}, log)
	if err != nil {
		return nil, errors.Join(err, d.site.Close(), d.indexer.Close())
	}
	return d, nil
}

func (d *demo) siteURL() string    { return "http://" + d.site.Addr().String() }
func (d *demo) indexerURL() string { return "http://" + d.indexer.Addr().String() }

func (d *demo) serveSite(ctx context.Context) error {
	server := &http.Server{Handler: site.Handler(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		_ = server.Close() // there is nothing to finish for a sample site
	})
	defer stop()
	if err := server.Serve(d.site); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// show crawls the sample site once and says what to look at. Then, unless once is
// set, the service goes on and everything can be looked at until ctx ends.
func (d *demo) show(ctx context.Context, out io.Writer, once bool) error {
	path := filepath.Join(d.dir, config.FileName)
	if err := os.WriteFile(path, []byte(site.Config(d.siteURL(), d.indexerURL())), 0o600); err != nil {
		return err
	}
	parsed, report, err := config.Load(path)
	if err != nil {
		return err
	}
	if parsed == nil {
		return report.Err()
	}
	fmt.Fprintf(out, "crawling the sample site %s/ with %s\n", d.siteURL(), path)
	begin := time.Now()
	crawling, cancel := context.WithTimeout(ctx, demoDeadline)
	defer cancel()
	status, err := d.crawl(crawling, parsed, crawl.Once{Drain: true}, nil)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d pages crawled, %d documents indexed, %d excluded or failed, in %.1f s\n",
		status.Totals.Pages, status.Indexed, status.ByClass["ignored"]+status.ByClass["permanent"], time.Since(begin).Seconds())
	n, err := d.server.Count()
	if err != nil {
		return err
	}
	if uint64(n) != status.Indexed {
		return fmt.Errorf("the indexer has %d documents instead of %d", n, status.Indexed)
	}
	if once {
		return nil
	}
	fmt.Fprintf(out, "  as files    %s\n", filepath.Join(d.dir, "data", "out"))
	fmt.Fprintf(out, "  the site    %s/\n  the search  %s/?%s\n", d.siteURL(), d.indexerURL(), url.Values{"q": {site.SampleQuery}}.Encode())
	fmt.Fprintf(out, "  explain     sextant explain -c %s -d %s %s/\n", path, filepath.Join(d.dir, "data"), d.siteURL())
	_, err = d.crawl(ctx, parsed, crawl.Once{}, func(s *service.Service) {
		fmt.Fprintf(out, "  console     %s (its token: cat %s)\n", s.ConsoleURL(), admin.TokenPath(filepath.Join(d.dir, "data"), admin.Operator))
		fmt.Fprintf(out, "  status      http://%s/status\nserving until Ctrl-C; everything lies in %s and is removed then\n", s.Address(), d.dir)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// crawl runs a service on the demo's data directory; started is called when it answers.
func (d *demo) crawl(ctx context.Context, parsed *config.File, once crawl.Once, started func(*service.Service)) (crawl.Status, error) {
	o := service.Options{
		Path: filepath.Join(d.dir, config.FileName), File: parsed, Crawlers: parsed.Crawlers,
		Data: filepath.Join(d.dir, "data"), Listen: "127.0.0.1:0", Log: d.log, Version: build().Version, Agent: userAgent(),
	}
	if started != nil {
		o.Access = &admin.AccessSettings{}
	}
	s, err := service.Open(ctx, o)
	if err != nil {
		return crawl.Status{}, err
	}
	if started != nil {
		started(s)
	}
	err = s.Run(ctx, once)
	status, statusErr := s.Crawlers()[0].Status(context.WithoutCancel(ctx))
	return status, errors.Join(err, statusErr, s.Close())
}
