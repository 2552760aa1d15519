package service

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/trace"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// Start holds the arguments of a run besides its Options.
type Start struct {
	Once crawl.Once
	// Yes is the operator's confirmation of deletions by changed rules.
	Yes bool
	// Stop ends at the first signal to stop; Hangups has an entry for each SIGHUP.
	Stop    context.Context //nolint:containedctx // it is a signal, not the run's context
	Hangups <-chan struct{}
	// Progress is a terminal for the line that shows the progress of the crawl; nil: none.
	Progress io.Writer
}

// Run opens a service, runs it until it ends, and closes it. It returns the results of the crawls. It notifies systemd
// of the service's state if the environment names its socket.
func Run(ctx context.Context, o Options, start Start) (Summary, error) {
	o.notify, o.hangups = newNotifier(os.Getenv, o.Log), start.Hangups
	o.life, o.once = ctx, start.Once.Drain || start.Once.MaxPages > 0
	o.notify.starting()
	for again := false; ; again = true {
		summary, opened, err := run(ctx, o, start)
		lost := errors.Is(err, pgkv.ErrFenced) || errors.Is(err, pgkv.ErrSetBack)
		if err == nil || o.once || start.Stop.Err() != nil || !lost && (opened || !again) {
			return summary, err
		}
		o.Log.Error("this node begins again", "error", err)
		start.Yes, start.Once.RenewNow = false, false // they were for the first start
		sleep(start.Stop, againPause)
	}
}

// againPause is the time before a node that has lost its place begins again, and between two attempts.
const againPause = time.Second

// run opens a service, runs it until it ends, and closes it. It reports whether it was opened.
func run(ctx context.Context, o Options, start Start) (summary Summary, opened bool, err error) {
	s, err := openInTime(start.Stop, o)
	if s == nil || err != nil {
		return summary, false, err
	}
	s.log.Info("the service runs", "version", o.Version, "configuration", o.Path, "data", o.Data, "listen", s.Address(), "crawlers", len(s.crawls))
	if start.Yes {
		for _, r := range s.crawls {
			r.AllowNextEdit()
		}
	}
	defer context.AfterFunc(start.Stop, s.Stop)()
	traced, endTraces, err := trace.Begin(ctx, o.Version, o.Log)
	if err != nil {
		return summary, false, errors.Join(err, s.Close())
	}
	defer endTraces()
	ended := s.showProgress(ctx, start.Progress)
	began := time.Now()
	err = s.Run(traced, start.Once)
	ended()
	o.notify.send("STOPPING=1")
	defer o.notify.patience()() // it may take long to close a store
	// The summary is read before the stores are closed.
	summary = s.summary(context.WithoutCancel(ctx), start.Once, began)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return summary, true, err
}

// openInTime opens the service, and asks systemd for patience meanwhile. The service is nil if a signal to stop arrived
// before it was open.
func openInTime(stop context.Context, o Options) (*Service, error) {
	defer o.notify.patience()()
	s, err := Open(stop, o)
	if stop.Err() == nil {
		return s, err
	}
	o.Log.Info("stopped before the crawl began")
	o.notify.stopping()
	if err == nil {
		err = s.Close()
	} else if errors.Is(err, context.Canceled) {
		err = nil
	}
	return nil, err
}
