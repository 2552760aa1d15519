package fingerprints

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// BenchmarkSet measures sets of 1 and of 50 million keys: reads of known and of unknown
// keys, additions that grow the set, bytes a key, and what saving costs.
func BenchmarkSet(b *testing.B) {
	for _, size := range []int{1_000_000, 50_000_000} {
		if size > 1_000_000 && testing.Short() {
			continue
		}
		s := New(0)
		for i := range size {
			s.Add(keyOf(uint64(i)))
		}
		name := func(what string) string { return fmt.Sprintf("%s/keys=%d", what, size) }
		b.Run(name("hit"), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				if !s.Has(keyOf(r.Uint64N(uint64(size)))) {
					b.Fatal("a key is lost")
				}
			}
			b.ReportMetric(float64(s.Bytes())/float64(s.Len()), "B/key")
		})
		b.Run(name("miss"), func(b *testing.B) {
			r := rand.New(rand.NewPCG(2, 2))
			wrong := 0
			for b.Loop() {
				if s.Has(randomKey(r)) {
					wrong++
				}
			}
			b.ReportMetric(float64(wrong)/float64(b.N), "wrong/op")
		})
		b.Run(name("save"), func(b *testing.B) {
			for b.Loop() {
				if err := s.Save(io.Discard, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name("add"), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, 3))
			for b.Loop() {
				s.Add(randomKey(r))
			}
			b.ReportMetric(float64(s.Bytes())/float64(s.Len()), "B/key")
		})
	}
}
