package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/sextant-crawler/sextant/crawl"
)

// The line on a terminal is written by a goroutine of showProgress, which the function that
// it returns ends and waits for.

// Start is what a run is asked for beside its Options.
type Start struct {
	Once crawl.Once
	// Yes is the operator's word for what changed rules delete.
	Yes bool
	// Stop ends at the first signal to stop; Hangups has an entry for each SIGHUP.
	Stop    context.Context //nolint:containedctx // it is a signal, not the run's context
	Hangups <-chan struct{}
	// Progress is a terminal whose line tells how far the crawl is; nil: none.
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
	ended := s.showProgress(ctx, start.Progress)
	err = s.Run(ctx, start.Once)
	ended()
	defer o.notify.end()() // it may take long to close a store
	// The summary is read before the stores are closed.
	summary := s.summary(context.WithoutCancel(ctx), start.Once)
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

// progressEvery is how often the line on a terminal is written anew.
const progressEvery = time.Second

// showProgress writes a line on out anew every second, in a goroutine that the returned
// function ends. It does nothing if out is nil.
func (s *Service) showProgress(ctx context.Context, out io.Writer) (end func()) {
	if out == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				fmt.Fprint(out, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(out, "\r\x1b[K%s", s.Progress(ctx))
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Progress words how far all crawls are.
func (s *Service) Progress(ctx context.Context) string {
	var fetched, waiting, unsent uint64
	var rate float64
	for _, r := range s.crawls {
		status, err := r.figures(ctx)
		if err != nil {
			return err.Error()
		}
		fetched += uint64(status.Totals.Pages)
		for _, n := range status.Pending {
			waiting += n
		}
		unsent += status.Outbox.Waiting
		rate += status.Rates.PagesPerS
	}
	words := fmt.Sprintf("%s fetched (%s), %s waiting", comma(fetched), perSecond(rate), comma(waiting))
	if left := remaining(waiting, rate); left != "" {
		words += " (" + left + ")"
	}
	if unsent > 0 {
		words += ", " + comma(unsent) + " unsent"
	}
	return words
}

func comma(n uint64) string { return humanize.Comma(int64(n)) } //nolint:gosec // no count is so large

// perSecond words a rate, by the minute where that is more than a second's.
func perSecond(rate float64) string {
	switch {
	case rate >= 10:
		return fmt.Sprintf("%.0f/s", rate)
	case rate >= 0.1 || rate == 0:
		return fmt.Sprintf("%.1f/s", rate)
	}
	return fmt.Sprintf("%.1f/min", 60*rate)
}

// remaining says how long what waits would take at a rate, where that can be said.
func remaining(waiting uint64, rate float64) string {
	if waiting == 0 || rate < 0.01 {
		return ""
	}
	left := time.Duration(float64(waiting) / rate * float64(time.Second))
	switch {
	case left < time.Minute:
		return "less than a minute left, if no more is found"
	case left < 2*time.Hour:
		return fmt.Sprintf("about %.0f min left, if no more is found", left.Minutes())
	}
	return fmt.Sprintf("about %.0f h left, if no more is found", left.Hours())
}
