package documents

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// TestBudget: a process that gets a part of the CPU is stopped when its CPU time is used up, one
// that gets none after wallFactor times that; where it cannot be measured, the clock counts.
func TestBudget(t *testing.T) {
	const limit = 10 * time.Second
	for name, tt := range map[string]struct {
		share    int // of the CPU, in percent
		measured bool
		want     time.Duration
	}{
		"alone":        {100, true, limit},
		"two threads":  {200, true, limit}, // no look comes before the limit
		"half of it":   {50, true, 2 * limit},
		"hardly any":   {1, true, wallFactor * limit},
		"stopped":      {0, true, wallFactor * limit},
		"not measured": {0, false, limit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				over := make(chan time.Duration, 2)
				b := &budget{
					cpu: func() (time.Duration, bool) {
						return time.Hour + time.Since(begun)*time.Duration(tt.share)/100, tt.measured
					},
					over: func() { over <- time.Since(begun) },
				}
				b.start(time.Minute)
				b.start(limit)
				if got := <-over; got < tt.want || got > tt.want+2*time.Millisecond {
					t.Errorf("over after %s, want %s", got, tt.want)
				}
				b.start(limit) // too late
				time.Sleep(time.Hour)
				if b.stop() || len(over) > 0 {
					t.Error("what was over has begun again")
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := &budget{cpu: func() (time.Duration, bool) { return 0, true }, over: func() { t.Error("over, though it was stopped") }}
		b.start(limit)
		time.Sleep(5 * limit)
		if !b.stop() {
			t.Error("it was over too early")
		}
		time.Sleep(time.Hour)
	})
}

// TestCPUTime: work counts, of this process, and of another one by its number.
func TestCPUTime(t *testing.T) {
	testneed.File(t, "/proc/self/statm", "linux")
	begun, ok := cpuTimeOf(os.Getpid())
	if !ok || begun <= 0 {
		t.Fatalf("%s, %t", begun, ok)
	}
	for used := begun; used < begun+20*time.Millisecond; {
		if used, ok = ownCPUTime(); !ok {
			t.Fatal("the own time cannot be measured")
		}
	}
}
