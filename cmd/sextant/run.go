package main

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
)

// defaultListen is where the service answers for health, status, metrics and API.
const defaultListen = "127.0.0.1:7370"

func runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "crawl until stopped; with --once, until nothing is left to do",
		Description: "The first SIGTERM or SIGINT ends it after the pages in flight, the second at once.\n" +
			"Without --crawler all Crawlers of the configuration run.",
		Flags: append(flags(
			&cli.BoolFlag{Name: "once", Usage: "end when nothing is waiting, in flight or unsent", EnvVars: env("once")},
			&cli.Int64Flag{Name: "max-pages", Usage: "end after `N` pages, for a trial", EnvVars: env("max-pages")},
			&cli.DurationFlag{Name: "drain-timeout", Usage: "how long --once waits for an indexer that is down (0: for ever)", EnvVars: env("drain-timeout")},
			&cli.StringFlag{Name: "listen", Value: defaultListen, Usage: "`ADDR`ess of the API, health, status and metrics; off for none. Beyond loopback it needs --tls-cert and --tls-key", EnvVars: env("listen")},
			yesToEdit(), memoryFlag(), threadsFlag(), pprofFlag(),
		), accessFlags()...),
		Action: runCrawl,
	}
}

func runCrawl(c *cli.Context) error {
	if c.Args().Present() {
		return wrongUse("run takes no arguments, found %q: name the configuration with --config", c.Args().First())
	}
	if c.Int("threads") < 0 {
		return wrongUse("--threads is 0 (as many as the Crawlers' nthreads together) or more")
	}
	if c.Int64("max-pages") < 0 || c.Duration("drain-timeout") < 0 {
		return wrongUse("--max-pages and --drain-timeout are 0 or more")
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	// net/http writes what hostile servers say to the standard logger.
	stdlog.SetFlags(0)
	stdlog.SetOutput(slog.NewLogLogger(log.Handler(), slog.LevelDebug).Writer())
	budget, err := memoryBudget(c)
	if err != nil {
		return err
	}
	if err := checkListen(c); err != nil {
		return err
	}
	stopPprof, err := startPprof(c, log)
	if err != nil {
		return err
	}
	defer stopPprof()
	parsed, report, err := loadConfig(c)
	if err != nil {
		return err
	}
	for _, w := range report.Warnings {
		log.Warn("configuration", "problem", w.String())
	}
	crawlers, err := crawlersOf(c, parsed)
	if err != nil {
		return err
	}
	path, err := absoluteConfig(c)
	if err != nil {
		return err
	}
	once := crawl.Once{Drain: c.Bool("once"), DrainTimeout: c.Duration("drain-timeout"), MaxPages: c.Int64("max-pages")}
	signals, release := catchSignals(c.Context, log)
	defer release()
	notify := newNotifier(os.Getenv, log)
	notify.starting()
	s, err := openInTime(c, signals, path, parsed, crawlers, serviceOptions{
		log: log, memory: budget, threads: c.Int("threads"), notify: notify, hangups: signals.hangups, own: ownFilesOf(c),
		access: func() (*admin.Access, error) { return openAccess(c, c.String("data")) },
	})
	if s == nil || err != nil {
		return err
	}
	s.log.Info("the service runs", "version", build().Version, "configuration", path, "data", c.String("data"), "listen", s.address(), "crawlers", len(s.crawls))
	if c.Bool("yes") {
		for _, r := range s.crawls {
			r.AllowNextEdit()
		}
	}
	defer context.AfterFunc(signals.stop, s.stop)()
	ctx := c.Context
	ended := showProgress(c, s, once.Drain)
	err = s.run(ctx, once)
	ended()
	defer notify.end()() // it may take long to close a store
	// The summary is read before the stores are closed.
	summary := s.summary(context.WithoutCancel(ctx), once)
	if closeErr := s.close(); err == nil {
		err = closeErr
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	for _, line := range summary.lines {
		fmt.Fprintln(c.App.Writer, line)
	}
	if once.Drain && summary.rootsFailed != nil {
		return no(summary.rootsFailed)
	}
	return nil
}

// openInTime opens the service, while systemd is asked for patience. The service is nil
// where a signal to stop came before it was open: then there is nothing to do any more.
func openInTime(c *cli.Context, signals *signals, path string, parsed *config.File, crawlers []config.Crawler, o serviceOptions) (*service, error) {
	defer o.notify.patience()()
	s, err := openService(signals.stop, path, parsed, crawlers, c.String("data"), c.String("listen"), o)
	if signals.stop.Err() == nil {
		return s, err
	}
	o.log.Info("stopped before the crawl began")
	o.notify.stopping()
	if err == nil {
		err = s.close()
	} else if errors.Is(err, context.Canceled) {
		err = nil
	}
	return nil, err
}

// summary is what a crawl that ended by itself says.
type summary struct {
	lines       []string
	rootsFailed error
}

// summary words what the crawls did and what they leave for later.
func (s *service) summary(ctx context.Context, once crawl.Once) summary {
	var out summary
	if !once.Drain && once.MaxPages == 0 {
		return out
	}
	for _, r := range s.crawls {
		status, err := r.Status(ctx)
		if err != nil {
			out.lines = append(out.lines, fmt.Sprintf("%s: the figures cannot be read: %v", r.Name(), err))
			continue
		}
		out.lines = append(out.lines, fmt.Sprintf("%s: %s fetched, %s known, %s indexed (%d permanent and %d temporary errors)",
			r.Name(), count(int(status.Totals.Pages), "page"), count(int(status.Known), "URL"), count(int(status.Indexed), "document"),
			status.ByClass["permanent"], status.ByClass["temporary"]))
		if undone := undoneWork(status, *r.weights.Load()); undone != "" {
			out.lines = append(out.lines, "not done: "+undone)
		}
		if later := laterWork(status, *r.weights.Load()); later != "" {
			out.lines = append(out.lines, "for later: "+later)
		}
		if err := r.RootsFailed(ctx); err != nil {
			out.rootsFailed = errors.Join(out.rootsFailed, fmt.Errorf("%s: %w", r.Name(), err))
		}
	}
	return out
}

// undoneWork counts what a crawl that was stopped early leaves.
func undoneWork(s crawl.Status, weights [6]int) string {
	var waiting uint64
	for source, w := range weights {
		if w > 0 {
			waiting += s.Pending[sourceName(source)]
		}
	}
	var parts []string
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d URLs waiting", waiting))
	}
	if s.Outbox.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d orders unsent", s.Outbox.Waiting))
	}
	return join(parts)
}

// laterWork counts what --once does not wait for.
func laterWork(s crawl.Status, weights [6]int) string {
	var parts []string
	add := func(n uint64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.Timed, "retries and refreshes")
	var off uint64
	for source, w := range weights {
		if w == 0 {
			off += s.Pending[sourceName(source)]
		}
	}
	add(off, "URLs in sources of weight 0")
	add(s.Outbox.Resting, "deletions resting")
	add(s.Outbox.Held, "deletions held")
	add(s.Outbox.Dead, "dead letters")
	return join(parts)
}

// progressEvery is how often the line on a terminal is written anew.
const progressEvery = time.Second
