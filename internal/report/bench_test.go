package report

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// BenchmarkEachBroken reports one broken URL in a hundred of 20,000 pages (or as many as
// SEXTANT_BENCH_KNOWN says) with 30 links each.
func BenchmarkEachBroken(b *testing.B) {
	urls := 20_000
	if testing.Short() {
		urls = 2_000
	}
	if s, ok := os.LookupEnv("SEXTANT_BENCH_KNOWN"); ok {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1000 {
			b.Fatalf("SEXTANT_BENCH_KNOWN=%s: want a number from 1000 on", s)
		}
		urls = n
	}
	store, err := badgerstore.Open(b.TempDir(), badgerstore.Options{MinFree: -1, Durability: badgerstore.OS})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }() // nothing of it is kept
	fillGraph(b, store, urls)
	for b.Loop() {
		broken, pages, most := 0, 0, uint64(0)
		err := EachBroken(b.Context(), store, Options{}, func(x Broken) error {
			broken++
			pages += x.Pages
			if broken%1000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
			return nil
		})
		if err != nil || broken != urls/100 {
			b.Fatalf("%d broken URLs, %v", broken, err)
		}
		b.ReportMetric(float64(pages)/float64(broken), "pages/broken")
		b.ReportMetric(float64(most>>20), "heap-MiB")
	}
}

// fillGraph stores pages, of which each links to 30 others.
func fillGraph(b *testing.B, store *badgerstore.Store, urls int) {
	links := make([]scheduler.Link, urls)
	for i := range links {
		links[i] = scheduler.Link{URL: urlOf(fmt.Sprintf("http://host%d.test/page%d.html", i%100, i)), Fifo: scheduler.Index}
	}
	places, _, err := store.Add(b.Context(), links, false)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, p := range places {
		waiting, err := store.Queue(b.Context(), p, 0, urls)
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan error, len(waiting))
		for _, w := range waiting {
			n++
			c := scheduler.Completion{Key: w.Key, Taken: p, Seq: w.Seq, Next: w.Record, Old: &w.Record, AsOf: w.AsOf, Outlinks: scheduler.ReplaceOutlinks}
			c.Next.State, c.Next.Class, c.Next.Linked = scheduler.AtRest, scheduler.OK, true
			if n%100 == 0 {
				c.Next.Class, c.Next.Status = scheduler.Permanent, 404
			}
			for i := range 30 {
				c.Links = append(c.Links, links[(n*7919+i*104729)%urls])
			}
			go func() {
				_, err := scheduler.CompleteAndWait(b.Context(), store, c)
				done <- err
			}()
		}
		for range waiting {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
	}
}
