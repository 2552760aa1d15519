package main

import (
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
)

// defaultListen is the service's address for health, status, metrics and API.
const defaultListen = "127.0.0.1:7370"

// runFlags returns the flags of run, whose environment variables configure it in a container.
func runFlags() []cli.Flag {
	return append(flags(
		&cli.BoolFlag{Name: "once", Usage: "end when no URL or document is waiting, in flight or unsent"},
		&cli.Int64Flag{Name: "max-pages", Usage: "end after `N` pages, for a trial"},
		&cli.DurationFlag{Name: "drain-timeout", Usage: "how long --once waits for an indexer that is down, such as 90s or 10m (default: without limit)"},
		&cli.StringFlag{Name: "listen", Value: defaultListen, Usage: "`ADDR` of the API, health, status and metrics; off for none. An address other than loopback requires --tls-cert and --tls-key", EnvVars: env("listen")},
		yesToEdit(), renewNow(),
		&cli.StringFlag{Name: "memory-limit", EnvVars: env("memory-limit"), Usage: "`SIZE` of memory to stay below, such as 512MiB or 2GiB, mapped files not counted; or off (default: 1GiB, or three quarters of the container's if that is less); GOMEMLIMIT takes precedence"},
		&cli.IntFlag{Name: "threads", EnvVars: env("threads"), Usage: "fetch at most `N` URLs concurrently, all Crawlers together (default: the sum of their nthreads)"},
	), append(accessFlags(), openIDFlags()...)...)
}

func runCrawl(c *cli.Context) error {
	if err := checkRun(c); err != nil {
		return err
	}
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	// net/http writes messages about hostile servers to the standard logger.
	stdlog.SetFlags(0)
	stdlog.SetOutput(slog.NewLogLogger(log.Handler(), slog.LevelDebug).Writer())
	budget, err := memoryBudget(c)
	if err != nil {
		return err
	}
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
	database, err := databaseOf(c)
	if err != nil {
		return err
	}
	stop, hangups, release := catchSignals(c.Context, log)
	defer release()
	access := accessSettings(c)
	start := service.Start{
		Once: crawl.Once{Drain: c.Bool("once"), DrainTimeout: c.Duration("drain-timeout"), MaxPages: c.Int64("max-pages"), RenewNow: c.Bool("now")},
		Yes:  c.Bool("yes"), Stop: stop, Hangups: hangups, Progress: progressOf(c),
	}
	summary, err := service.Run(c.Context, service.Options{
		Path: path, File: parsed, Crawlers: crawlers, Data: c.String("data"), Database: database,
		Listen: c.String("listen"), Access: &access, OpenID: openIDSettings(c),
		Log: log, Version: build().Version, Agent: userAgent(), Memory: budget, Threads: c.Int("threads"),
	}, start)
	if err != nil {
		return err
	}
	for i := range summary.Crawls { // for programs one object a line
		if err := showText(c, "summary", &summary.Crawls[i]); err != nil {
			return err
		}
	}
	if !start.Once.Drain {
		return nil
	}
	if summary.RootsFailed != nil {
		return no(summary.RootsFailed)
	}
	return copiesLeft(summary.Crawls)
}

// copiesLeft is the error of a run that deleted documents and did not fetch the copies that replace them.
func copiesLeft(crawls []service.CrawlSummary) error {
	var left uint64
	for i := range crawls {
		left += crawls[i].NotDone.Copies
	}
	if left == 0 {
		return nil
	}
	return &failure{exitLeft, fmt.Errorf("documents left the index, but %s that should replace them %s not fetched yet: run it again", admin.Count(left, "page"), map[bool]string{true: "was", false: "were"}[left == 1])}
}

// checkRun returns an error for an invalid command line.
func checkRun(c *cli.Context) error {
	if c.Int("threads") < 0 {
		return wrongUse("--threads must be 0 (the sum of the Crawlers' nthreads) or more")
	}
	if c.Int64("max-pages") < 0 || c.Duration("drain-timeout") < 0 {
		return wrongUse("--max-pages and --drain-timeout must be 0 or more")
	}
	if err := checkOpenID(c); err != nil {
		return err
	}
	return checkListen(c)
}

// progressOf returns the writer for progress if a user waits for a crawl that runs once.
func progressOf(c *cli.Context) io.Writer {
	if out, ok := c.App.ErrWriter.(*os.File); ok && c.Bool("once") && term.IsTerminal(int(out.Fd())) {
		return out
	}
	return nil
}

// aboveProgress writes log lines to a terminal in place of its last line, which shows the progress.
type aboveProgress struct{ io.Writer }

func (w aboveProgress) Write(line []byte) (int, error) {
	if _, err := w.Writer.Write(append([]byte("\r\x1b[K"), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// memoryBudget reads the flag: bytes, 0 without it, or service.NoMemoryLimit.
func memoryBudget(c *cli.Context) (int64, error) {
	written := c.String("memory-limit")
	switch written {
	case "":
		return 0, nil
	case "off":
		return service.NoMemoryLimit, nil
	}
	n, ok := service.ParseSize(written)
	if !ok {
		return 0, wrongUse("--memory-limit %q: write a size such as 512MiB or 2GiB, or off", written)
	}
	return n, nil
}
