package partitioned_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// BenchmarkMemory measures the memory of a process that has 24 partitions on the disk, with SEXTANT_BENCH_KNOWN known URLs
// each, once they are filled and each has completed up to 5,000 pages. Without the variable they are few, and only the default is tried: it
// takes minutes with 100,000.
func BenchmarkMemory(b *testing.B) {
	known, _ := strconv.Atoi(os.Getenv("SEXTANT_BENCH_KNOWN"))
	memtables := []int64{badgerstore.DefaultMemtableBytes, 4 << 20, 2 << 20}
	if known == 0 {
		known, memtables = 100, memtables[:1]
	}
	for _, memtable := range memtables {
		b.Run(fmt.Sprintf("memtable=%dM", memtable>>20), func(b *testing.B) {
			badgerstore.LimitMemory(700<<20, 0)
			s, err := partitioned.New(partitioned.Options{Values: storetest.NewMemory()})
			if err != nil {
				b.Fatal(err)
			}
			dir := b.TempDir()
			for n := range partitioned.DefaultPartitions {
				p, err := badgerstore.Open(filepath.Join(dir, fmt.Sprint(n)), badgerstore.Options{Durability: badgerstore.OS, MemtableBytes: memtable, MinFree: -1})
				if err == nil {
					err = s.Adopt(n, p)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				fillPartitions(b, s, known)
			}
			runtime.GC()
			anonymous, peak := memory(b, "RssAnon:"), memory(b, "VmHWM:")
			b.ReportMetric(float64(anonymous)/1024, "RssAnon-MiB")
			b.ReportMetric(float64(memory(b, "VmRSS:"))/1024, "RSS-MiB")
			b.ReportMetric(float64(peak)/1024, "peak-MiB")
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func fillPartitions(b *testing.B, s *partitioned.Store, known int) {
	atOnce := min(24_000, known*partitioned.DefaultPartitions)
	for i := 0; i < known*partitioned.DefaultPartitions; i += atOnce {
		links := make([]scheduler.Link, atOnce)
		for j := range links {
			links[j] = storetest.Link(fmt.Sprintf("http://host%d.test/known/page%d.html", j%2400, i+j), scheduler.Index)
		}
		if _, _, err := s.Add(b.Context(), links, false); err != nil {
			b.Fatal(err)
		}
	}
	var places []scheduler.Place
	if err := s.Places(b.Context(), func(p scheduler.Place, _ uint64) error { places = append(places, p); return nil }); err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1<<10)
	for _, p := range places {
		q, err := s.Queue(b.Context(), p, 0, 50)
		if err != nil {
			b.Fatal(err)
		}
		for _, w := range q {
			c := scheduler.Completion{Key: w.Key, Seq: w.Seq, Taken: p, Old: &w.Record, AsOf: w.AsOf, Next: w.Record}
			c.Next.State, c.Next.NextAt, c.Next.Class, c.Next.ETag = scheduler.Timed, time.Unix(2e9, 0), scheduler.OK, "W/abcdef"
			if err := s.Complete(b.Context(), c, func(is scheduler.Completed) { done <- is.Err }); err != nil {
				b.Fatal(err)
			}
		}
		for range q {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
	}
}

// memory is a line of /proc/self/status, in KiB.
func memory(b *testing.B, name string) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(status), name)
	n, _ := strconv.Atoi(strings.Fields(rest)[0])
	return n
}
