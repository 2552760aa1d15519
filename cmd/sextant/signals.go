package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// One goroutine handles signals until the function returned by onSignals ends it and waits.

// catchSignals catches a service's signals until release is called, from before anything is opened, so that none is
// missed. The first SIGTERM or SIGINT ends stop, the second one ends the process at once: that loses no more than a
// crash. hangups has one entry for all SIGHUP since the last read.
func catchSignals(
	ctx context.Context, log *slog.Logger,
) (stop context.Context, hangups <-chan struct{}, release func()) {
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	reloads := make(chan struct{}, 1)
	return stop, reloads, onSignals(cancel, func() {
		log.Warn("ended at once by a second signal; committed data is kept, and URLs in flight are fetched again")
		os.Exit(exitFailed)
	}, func() {
		select {
		case reloads <- struct{}{}:
		default: // one reload covers all of them
		}
	})
}

// onSignals calls first at the first SIGINT or SIGTERM, second at a later one, and
// hangup at each SIGHUP, until the returned function is called.
func onSignals(first, second, hangup func()) (stop func()) {
	signals := make(chan os.Signal, 4)
	done, ended := make(chan struct{}), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		defer close(ended)
		var asked stops
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if s == syscall.SIGHUP {
					hangup()
					continue
				}
				switch asked.take(time.Now()) {
				case 1:
					first()
				case 2:
					second()
				}
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}

// together is the time after the first signal within which another one counts as the same request: timeout(1), and
// programs that stop a process and its group, send two at once. No user types that fast.
const together = 100 * time.Millisecond

// stops counts the requests to stop.
type stops struct {
	first time.Time // zero if none yet
}

// take returns 1 for the first request, 2 for a later one, 0 for a repetition of the first one.
func (s *stops) take(now time.Time) int {
	switch {
	case s.first.IsZero():
		s.first = now
		return 1
	case now.Sub(s.first) < together:
		return 0
	}
	return 2
}
