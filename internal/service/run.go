package service

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/trace"
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

// Run opens a service, runs it until it ends, and closes it. It returns what the crawls
// did. Systemd is told how the service stands if the environment names its socket.
func Run(ctx context.Context, o Options, start Start) (Summary, error) {
	o.notify, o.hangups = newNotifier(os.Getenv, o.Log), start.Hangups
	o.notify.starting()
	s, err := openInTime(start.Stop, o)
	if s == nil || err != nil {
		return Summary{}, err
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
		return Summary{}, errors.Join(err, s.Close())
	}
	defer endTraces()
	ended := s.showProgress(ctx, start.Progress)
	began := time.Now()
	err = s.Run(traced, start.Once)
	ended()
	defer o.notify.end()() // it may take long to close a store
	// The summary is read before the stores are closed.
	summary := s.summary(context.WithoutCancel(ctx), start.Once, began)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return summary, err
}

// openInTime opens the service, and asks systemd for patience meanwhile. The service is nil
// if a signal to stop came before it was open: then there is nothing left to do.
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
