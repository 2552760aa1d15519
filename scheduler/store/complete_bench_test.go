package store

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// knownInBench returns SEXTANT_BENCH_KNOWN, the number of known URLs at the start of a benchmark, fewer if it is short.
func knownInBench(b *testing.B) int {
	s, ok := os.LookupEnv("SEXTANT_BENCH_KNOWN")
	if !ok && testing.Short() {
		return 10_000
	}
	if !ok {
		return 100_000
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1000 {
		b.Fatalf("SEXTANT_BENCH_KNOWN=%s: want a number from 1000 on", s)
	}
	return n
}

// addKnown makes n URLs of so many hosts known.
func addKnown(b *testing.B, s *Store, n, hosts int) []scheduler.Link {
	links := make([]scheduler.Link, n)
	for i := range links {
		links[i] = linkTo(b, fmt.Sprintf("http://host%d.test/known/page%d.html", i%hosts, i))
	}
	const batch = 10_000
	for i := 0; i < n; i += batch {
		if _, _, err := s.Add(b.Context(), links[i:min(i+batch, n)], false); err != nil {
			b.Fatal(err)
		}
	}
	return links
}

// cpuTime returns what the process has used of all processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// lease is a URL of the benchmark's crawl and where it was taken from.
type lease struct {
	scheduler.WaitingURL
	place scheduler.Place
	floor uint64
}

// BenchmarkComplete takes and completes pages with 20 links, 18 of them known, 256 at
// once, with SEXTANT_BENCH_KNOWN known URLs (100,000) on 1,024 hosts or
// a thousandth as many, synced. Each page is queued again, so that they never end. SEXTANT_BENCH_OS=1: not synced.
// SEXTANT_BENCH_LINKS=1: with the page's links stored. In "document" each page becomes a
// document, or ceases to be one.
func BenchmarkComplete(b *testing.B) {
	for _, body := range []int{0, 4 << 10} {
		b.Run(fmt.Sprintf("body=%d", body), func(b *testing.B) { benchComplete(b, body, false) })
	}
	b.Run("document", func(b *testing.B) { benchComplete(b, 4<<10, true) })
}

func benchComplete(b *testing.B, body int, documents bool) {
	known := knownInBench(b)
	hosts := max(known/1000, 1024)
	o := Options{}
	if os.Getenv("SEXTANT_BENCH_OS") != "" {
		o.Durability = OS
	}
	s := openStore(b, b.TempDir(), o)
	links := addKnown(b, s, known, hosts)
	places := make(chan scheduler.Place, 2*hosts)
	if err := s.Places(b.Context(), func(p scheduler.Place, _ uint64) error {
		places <- p
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	var fresh, left atomic.Int64
	left.Store(int64(b.N))
	// page completes a lease with 18 known links and 2 new ones.
	page := func(w *lease) error {
		n := int(fresh.Add(1))
		c := scheduler.Completion{
			Key: w.Key, Taken: w.place, Seq: w.Seq, Floor: w.floor, Next: w.Record, Old: &w.Record, AsOf: w.AsOf,
			Links: make([]scheduler.Link, 0, 20),
		}
		if links := os.Getenv("SEXTANT_BENCH_LINKS") != ""; links {
			c.Outlinks, c.Next.Linked = scheduler.ReplaceOutlinks, true
		}
		for i := range 18 {
			c.Links = append(c.Links, links[(n*7919+i*104729)%known])
		}
		for i := range 2 {
			c.Links = append(c.Links, linkTo(b, fmt.Sprintf("http://host%d.test/new/%d/%d", n%hosts, n, i)))
		}
		c.Next.Indexed = documents && !w.Record.Indexed
		if body > 0 {
			c.Order = &scheduler.Order{Body: make([]byte, body)}
		}
		_, err := scheduler.CompleteAndWait(b.Context(), s, c)
		return err
	}
	before, err := s.Stats()
	if err != nil {
		b.Fatal(err)
	}
	keys := before.Keys
	b.ResetTimer()
	begin := cpuTime()
	var workers sync.WaitGroup
	for range 256 {
		workers.Go(func() {
			for left.Load() > 0 {
				p := <-places
				urls, err := s.Queue(b.Context(), p, 0, 32)
				if err != nil {
					b.Error(err)
					return
				}
				for i, w := range urls {
					if left.Add(-1) < 0 {
						break
					}
					floor := w.Seq + 1
					if i+1 < len(urls) {
						floor = urls[i+1].Seq
					}
					if err := page(&lease{w, p, floor}); err != nil {
						b.Error(err)
						return
					}
				}
				places <- p
			}
		})
	}
	workers.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(float64((cpuTime()-begin).Microseconds())/float64(b.N), "cpu-µs/page")
	st, err := s.Stats()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(st.Keys-keys)/float64(b.N), "keys/page")
	b.ReportMetric(float64(st.LongestCommit.Milliseconds()), "longest-ms")
	b.ReportMetric(float64(st.Writes)/float64(st.Commits), "writes/batch")
}
