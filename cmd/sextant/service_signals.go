package main

import (
	"context"
	"log/slog"
	"os"
)

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
