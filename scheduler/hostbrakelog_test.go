package scheduler_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestHostBrakeTells: deletions that come to be held are told of; that there were none
// is not.
func TestHostBrakeTells(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			set := scheduler.DefaultSettings()
			hostBrake(&set)
			ctx, cancel := context.WithCancel(t.Context())
			f := &running{scheduler.New(storetest.NewMemory(), set, slog.New(slog.NewTextHandler(&log, nil))), t, cancel, make(chan error, 1)}
			go func() { f.done <- f.Run(ctx) }()
			pages := links(20, "http://a.test/%d", scheduler.Index)
			if known {
				f.known(pages)
			} else {
				f.add(pages...)
			}
			for range 20 {
				f.complete(f.next(), scheduler.Result{Status: 404})
			}
			f.end()
			if !strings.Contains(log.String(), "fails as a whole") || strings.Contains(log.String(), "deletions=") != known {
				t.Errorf("documents known %t: the log has\n%s", known, log.String())
			}
		})
	}
}
