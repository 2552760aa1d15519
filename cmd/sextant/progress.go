package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// showProgress writes a line that is written anew every second, where a person
// waits at a terminal for --once. The function returned ends it.
func showProgress(c *cli.Context, s *service, once bool) (end func()) {
	out, ok := c.App.ErrWriter.(*os.File)
	if !once || !ok || !term.IsTerminal(int(out.Fd())) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.Context)
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
				fmt.Fprintf(out, "\r\x1b[K%s", s.progress(ctx))
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// progress words how far all crawls are.
func (s *service) progress(ctx context.Context) string {
	var fetched, waiting, unsent uint64
	var rate float64
	for _, r := range s.crawls {
		status, err := r.Status(ctx)
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
	return fmt.Sprintf("%d fetched (%.0f/s), %d waiting, %d unsent", fetched, rate, waiting, unsent)
}
