package service

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
)

// A goroutine of showProgress writes the line on a terminal. The function that showProgress returns ends it and waits.

// progressEvery is the interval at which the line on a terminal is updated.
const progressEvery = time.Second

// showProgress updates a line on out every second, in a goroutine that the returned
// function ends. It does nothing if out is nil.
func (s *Service) showProgress(ctx context.Context, out io.Writer) (end func()) {
	if out == nil {
		return func() {}
	}
	return beside(ctx, func(ctx context.Context) {
		for sleep(ctx, progressEvery) {
			fmt.Fprintf(out, "\r\x1b[K%s", s.Progress(ctx))
		}
		fmt.Fprint(out, "\r\x1b[K")
	})
}

// Progress describes the progress of all crawls.
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

// perSecond formats a rate, per minute if it is slow.
func perSecond(rate float64) string {
	switch {
	case rate >= 10:
		return fmt.Sprintf("%.0f/s", rate)
	case rate >= 0.1 || rate == 0:
		return fmt.Sprintf("%.1f/s", rate)
	}
	return fmt.Sprintf("%.1f/min", 60*rate)
}

// remaining formats the time for the pending URLs at a rate, or returns "" if it is unknown.
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
