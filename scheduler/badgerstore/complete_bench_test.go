package badgerstore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
)

// BenchmarkComplete completes pages with 20 links, 18 of them known, 64 at once,
// synced, with 100,000 known URLs on 1,000 hosts. Each
// page is queued anew, so that they never end.
func BenchmarkComplete(b *testing.B) {
	const known, hosts = 100_000, 1000
	for _, body := range []int{0, 4 << 10} {
		b.Run(fmt.Sprintf("body=%d", body), func(b *testing.B) {
			s := openStore(b, b.TempDir(), Options{})
			links := make([]scheduler.Link, known)
			for i := range links {
				links[i] = linkTo(b, fmt.Sprintf("http://host%d.test/known/page%d.html", i%hosts, i))
			}
			if _, _, err := s.Add(b.Context(), links, false); err != nil {
				b.Fatal(err)
			}
			lease := make(chan scheduler.WaitingURL, known)
			if err := s.Places(b.Context(), func(p scheduler.Place, _ uint64) error {
				urls, err := s.Queue(b.Context(), p, 0, known)
				for _, u := range urls {
					lease <- u
				}
				return err
			}); err != nil {
				b.Fatal(err)
			}
			var fresh atomic.Int64
			b.ResetTimer()
			var workers sync.WaitGroup
			var left atomic.Int64
			left.Store(int64(b.N))
			for range 64 {
				workers.Go(func() {
					for left.Add(-1) >= 0 {
						w := <-lease
						n := fresh.Add(1)
						c := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Next: w.Record}
						for i := range 18 {
							c.Links = append(c.Links, links[(int(n)*7919+i*104729)%known])
						}
						for i := range 2 {
							c.Links = append(c.Links, linkTo(b, fmt.Sprintf("http://host%d.test/new/%d/%d", n%hosts, n, i)))
						}
						if body > 0 {
							c.Order = &scheduler.Order{Body: make([]byte, body)}
						}
						if _, err := s.Complete(b.Context(), c); err != nil {
							b.Error(err)
							return
						}
						rec, err := s.Lookup(b.Context(), w.Key)
						if err != nil {
							b.Error(err)
							return
						}
						lease <- scheduler.WaitingURL{Key: w.Key, Seq: rec.Seq, Record: rec}
					}
				})
			}
			workers.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
		})
	}
}
