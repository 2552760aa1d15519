package badgerstore

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// atRest lets all URLs of links rest.
func atRest(b *testing.B, s *Store, links []scheduler.Link) []weburl.Key {
	var workers sync.WaitGroup
	const parts = 16
	for part := range parts {
		workers.Go(func() {
			for i := part; i < len(links); i += parts {
				rec, err := s.Lookup(b.Context(), links[i].URL.Key())
				if err != nil {
					b.Error(err)
					return
				}
				c := scheduler.Completion{Key: links[i].URL.Key(), Taken: placeOf(&rec), Seq: rec.Seq, Next: rec}
				c.Next.State, c.Next.Class, c.Next.Indexed = scheduler.AtRest, scheduler.OK, true
				if _, err := scheduler.CompleteAndWait(b.Context(), s, c); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	return keysOf(links)
}

// BenchmarkRevise revises every second of 1,000 URLs at rest in two concurrent calls.
func BenchmarkRevise(b *testing.B) {
	s := openStore(b, b.TempDir(), Options{Durability: OS})
	urls := 50_000
	if testing.Short() {
		urls = 2000
	}
	keys := atRest(b, s, addKnown(b, s, urls, 1000))
	const batch = 1000
	b.ResetTimer()
	begin := cpuTime()
	var workers sync.WaitGroup
	for part := range 2 {
		workers.Go(func() {
			for i := part * batch; i < b.N; i += 2 * batch {
				at := i % len(keys)
				_, _, err := s.Revise(b.Context(), keys[at:min(at+batch, len(keys))], func(k weburl.Key, r scheduler.Record) *scheduler.Revision {
					if k[0]&1 == 0 {
						return nil
					}
					r.RulesVersion++
					return &scheduler.Revision{Next: r}
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "urls/s")
	b.ReportMetric(float64((cpuTime()-begin).Nanoseconds())/float64(b.N)/1000, "cpu-µs/url")
}

// BenchmarkOpen opens a store with SEXTANT_BENCH_KNOWN waiting URLs (100,000) on a tenth as many hosts, closed cleanly
// or as after kill -9, and takes the first URL of all places.
func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "s")
	s := openStore(b, dir, Options{})
	n := knownInBench(b)
	addKnown(b, s, n, n/10)
	killed := copied(b, dir) // while tables are being written
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for name, dir := range map[string]string{"closed": dir, "killed": killed} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if name == "killed" {
					b.StopTimer()
					dir = copyOf(b, killed)
					b.StartTimer()
				}
				s := openStore(b, dir, Options{})
				places := 0
				var first scheduler.Place
				if err := s.Places(b.Context(), func(p scheduler.Place, _ uint64) error {
					places++
					first = p
					return nil
				}); err != nil {
					b.Fatal(err)
				}
				urls, err := s.Queue(b.Context(), first, 0, 1)
				if err != nil || len(urls) != 1 || places != n/10 {
					b.Fatalf("%d places, %d URLs, %v", places, len(urls), err)
				}
				b.StopTimer()
				closeStore(b, s)
				b.StartTimer()
			}
		})
	}
}
