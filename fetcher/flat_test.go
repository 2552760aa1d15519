package fetcher

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/hostile"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// measured is what a process holds.
type measured struct {
	goroutines, descriptors int
	heap                    uint64
}

func measure(t *testing.T) measured {
	t.Helper()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		testneed.Missing(t, "no /proc: %v", err)
	}
	return measured{runtime.NumGoroutine(), len(open), m.HeapAlloc}
}

// TestFlatAfterHostileAnswers: after SEXTANT_HOSTILE (200) answers of servers that
// misbehave, as many goroutines, descriptors and bytes are in use as after the first of
// each, whatever became of the connections.
func TestFlatAfterHostileAnswers(t *testing.T) { onBoth(t, testFlatAfterHostileAnswers) }

func testFlatAfterHostileAnswers(t *testing.T, newFetcher maker) {
	if testing.Short() {
		t.Skip("memory is measured without the race detector")
	}
	n := 200
	if s := os.Getenv("SEXTANT_HOSTILE"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal("SEXTANT_HOSTILE is no number")
		}
	}
	servers := hostile.Start(t)
	f := newFetcher(t, func(s *Settings) {
		*s = hostileSettings(servers, "none")
		const soon = short
		s.ConnectTimeout, s.TLSTimeout, s.FirstByteTimeout, s.IdleTimeout, s.DownloadTimeout = soon, soon, soon, soon, 2*soon
		s.MaxBodyBytes = 64 << 10
	})
	names := servers.Names()
	run := func(n int) {
		var workers sync.WaitGroup
		next := make(chan string)
		for range 16 {
			workers.Go(func() {
				for name := range next {
					_, _ = f.Fetch(t.Context(), Request{URL: mustURL(t, servers.URLs[name])}) // whatever comes
				}
			})
		}
		for i := range n {
			next <- names[i%len(names)]
		}
		close(next)
		workers.Wait()
		f.Close()
	}
	run(2 * len(names))
	var before measured
	for range 100 { // until what was cut off seems to be gone on both ends
		last := before
		if before = measure(t); before.goroutines == last.goroutines && before.descriptors == last.descriptors {
			break
		}
		time.Sleep(short)
	}
	run(n)
	after, more := measure(t), true
	for range 6000 { // until it is
		if more = after.goroutines > before.goroutines+20 || after.descriptors > before.descriptors+20 || after.heap > before.heap+8<<20; !more {
			break
		}
		time.Sleep(10 * time.Millisecond)
		after = measure(t)
	}
	t.Logf("after %d: %+v, before: %+v", n, after, before)
	if more {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1) // into memory
		t.Errorf("after %d hostile answers: %+v, before: %+v\n%s", n, after, before, stacks.String())
	}
}
