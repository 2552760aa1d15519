package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// One goroutine takes signals until the function that onSignals returns ends it and waits.

// signals are what a service is asked by them. They are caught before anything is
// opened, so that none meets a process that has not learnt of it yet.
type signals struct {
	// stop ends at the first SIGTERM or SIGINT.
	stop context.Context
	// hangups has one entry for all SIGHUP that came since it was read last.
	hangups chan struct{}
}

// catchSignals catches signals until the returned function is called. The second one
// to stop ends the process at once, wherever it is: that loses no more than a crash.
func catchSignals(ctx context.Context, log *slog.Logger) (*signals, func()) {
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &signals{stop: stop, hangups: make(chan struct{}, 1)}
	return s, onSignals(cancel, func() {
		log.Warn("ended at once by a second signal: what was committed is kept, what was in flight is fetched again")
		os.Exit(exitFailed)
	}, func() {
		select {
		case s.hangups <- struct{}{}:
		default: // one reload reads what all of them are about
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

// together is how soon after the first signal another one is the same wish: timeout(1),
// and whatever stops a process and its group, send two at once. Nobody types so fast.
const together = 100 * time.Millisecond

// stops counts the wishes to stop.
type stops struct {
	first time.Time // zero: there was none
}

// take is 1 for the first wish, 2 for a later one, 0 for a signal that is the first
// wish once more.
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
