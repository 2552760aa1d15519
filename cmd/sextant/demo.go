package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/demo/site"
	"github.com/sextant-crawler/sextant/internal/service"
)

// The demo has a goroutine for each sample site, one for the indexer, and one for the
// service. runDemo ends them and waits for them.

// The ports of the demo: the console's, then those of the sites and the indexer.
const (
	demoPort = 7370
	// demoPace is the pause between two requests to a host, for a viewer; quickPace is that of --once.
	demoPace, quickPace = 400 * time.Millisecond, 5 * time.Millisecond
	// watched is the shortest pause with which the demo shows its slow features: a slow host, one that rests after an
	// error, and reading a PDF.
	watched = 100 * time.Millisecond
	// slowBy is the delay of the slow host's responses, as a multiple of the pace.
	slowBy = 3
)

// demo is the sample sites, the indexer, the service, and the messages about them.
type demo struct {
	dir     string
	pace    time.Duration
	slow    time.Duration // delay of the slow host's responses; 0: no slow host
	world   *site.World
	sites   [3]net.Listener // the main site, the library, the harbour office
	indexer net.Listener
	server  *indexer.Server
	service *service.Service
	log     *slog.Logger
}

func runDemo(c *cli.Context) (err error) {
	if c.Duration("pace") < 0 || c.Duration("pace")%time.Millisecond != 0 {
		return wrongUse("--pace %s: write whole milliseconds, such as 400ms", c.Duration("pace"))
	}
	if port := c.Int("port"); port < 0 || port > 65_000 {
		return wrongUse("--port %d: write a port up to 65000, or 0", port)
	}
	log, err := demoLogger(c)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sextant-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := &demo{dir: dir, log: log, pace: demoPace}
	if c.Bool("once") {
		d.pace = quickPace
	}
	if c.IsSet("pace") {
		d.pace = max(c.Duration("pace"), time.Millisecond)
	}
	if d.pace >= watched {
		d.slow = slowBy * d.pace
	}
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	defer onSignals(cancel, cancel, func() {})()
	if err := d.open(ctx, c.Int("port")); err != nil {
		return errors.Join(err, d.close())
	}
	return errors.Join(d.run(ctx, c), d.close())
}

// demoLogger returns a logger that is quiet enough for a viewer, unless a level is set.
func demoLogger(c *cli.Context) (*slog.Logger, error) {
	if !c.IsSet("log-level") {
		if err := c.Set("log-level", "error"); err != nil {
			return nil, err
		}
	}
	return newLogger(c)
}

// open opens everything. close closes what is open, also after an error.
func (d *demo) open(ctx context.Context, port int) (err error) {
	for i := range d.sites {
		if d.sites[i], err = listenNear(ctx, port, i+1); err != nil {
			return err
		}
	}
	if d.indexer, err = listenNear(ctx, port, len(d.sites)+1); err != nil {
		return err
	}
	d.world = site.NewWorld(address(d.sites[0]), d.slow)
	d.server, err = indexer.Open(filepath.Join(d.dir, "indexer"), indexer.Settings{Fail: indexer.Fail{Bad: []string{site.Refused}}}, d.log)
	if err != nil {
		return err
	}
	path := filepath.Join(d.data(), "config", config.FileName)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	text := site.Config(site.Places{
		Site: address(d.sites[0]), Library: address(d.sites[1]), Harbour: address(d.sites[2]), Indexer: address(d.indexer), Pace: d.pace, Unread: d.slow == 0,
	})
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return d.openService(ctx, path, port)
}

// openService opens the service at the port, or at a free one.
func (d *demo) openService(ctx context.Context, path string, port int) error {
	parsed, report, err := config.Load(path)
	if err != nil {
		return err
	}
	if parsed == nil {
		return report.Err()
	}
	for i := range parsed.Crawlers[0].Push { // so that a viewer need not wait for the index
		target := &parsed.Crawlers[0].Push[i]
		target.BatchAge, target.CheckpointAge = d.pace, 2*d.pace
	}
	o := service.Options{
		Path: path, File: parsed, Crawlers: parsed.Crawlers, Data: d.data(), Listen: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Access: &admin.AccessSettings{}, Log: d.log, Version: build().Version, Agent: userAgent(),
	}
	d.service, err = service.Open(ctx, o)
	if errors.Is(err, syscall.EADDRINUSE) {
		o.Listen = "127.0.0.1:0"
		d.service, err = service.Open(ctx, o)
	}
	if err != nil {
		d.service = nil // it is closed
	}
	return err
}

func (d *demo) data() string { return filepath.Join(d.dir, "data") }

// signInURL returns the console's URL, with a ticket that signs in once.
func (d *demo) signInURL() (string, error) {
	token, err := os.ReadFile(admin.TokenPath(d.data(), admin.Operator))
	if err != nil {
		return "", err
	}
	return d.service.SignInURL(strings.TrimSpace(string(token))), nil
}

// listenNear listens at an offset from the port or, if that is taken or the port is 0, on a free one.
func listenNear(ctx context.Context, port, offset int) (net.Listener, error) {
	if port > 0 {
		l, err := service.ListenTCP(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(port+offset)))
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return service.ListenTCP(ctx, "127.0.0.1:0")
}

// address returns the URL of a listener, without a slash.
func address(l net.Listener) string { return "http://" + l.Addr().String() }

// run serves sites and indexer, runs the service, and guides the viewer, until everything was shown with --once, or ctx
// ends.
func (d *demo) run(ctx context.Context, c *cli.Context) error {
	servers, stopServers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServers()
	serving, servers := errgroup.WithContext(servers)
	for i, h := range []http.Handler{d.world.Site(), d.world.Books(), d.world.Harbour()} {
		serving.Go(func() error { return serveUntil(servers, d.sites[i], h) })
	}
	serving.Go(func() error { return d.server.Run(servers, d.indexer) })

	link, err := d.signInURL()
	if err != nil {
		return err
	}
	running, crawling := errgroup.WithContext(ctx)
	running.Go(func() error { return d.service.Run(crawling, endless) })
	running.Go(func() error {
		defer d.service.Stop()
		guide := newGuide(d, c)
		if err := guide.show(crawling, link); err != nil || c.Bool("once") {
			return err
		}
		<-crawling.Done()
		return nil
	})
	err = running.Wait()
	if ctx.Err() != nil {
		err = nil // ended by a signal
	}
	stopServers()
	return errors.Join(err, serving.Wait())
}

// serveUntil serves a site until ctx ends.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		_ = server.Close() // a sample site has nothing to finish
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the sample site %s: %w", l.Addr(), err)
	}
	return nil
}

// close closes everything that is open.
func (d *demo) close() error {
	var errs []error
	if d.service != nil {
		errs = append(errs, d.service.Close())
	}
	if d.server != nil {
		errs = append(errs, d.server.Close())
	}
	for _, l := range append(d.sites[:], d.indexer) {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
