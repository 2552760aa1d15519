package fingerprints

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
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

// TestFalseKnown counts unknown keys that are taken for known ones, if it is asked to:
//
//	SEXTANT_FALSE=1 go test -run TestFalseKnown -v ./scheduler/badgerstore/fingerprints
//
// One in 10^9 cannot be counted in a minute, so one stripe is filled with as many keys as
// it has in a set of 2 billion: there the rate is 40 times that at 50 million.
func TestFalseKnown(t *testing.T) {
	if os.Getenv("SEXTANT_FALSE") == "" {
		t.Skip("takes a minute; set SEXTANT_FALSE=1")
	}
	const size, asked = 8_000_000, 1_000_000_000
	s := New(0)
	r := rand.New(rand.NewPCG(4, 4))
	for range size {
		s.Add(inStripe(randomKey(r), 1))
	}
	wrong := 0
	for range asked / 256 {
		k := inStripe(randomKey(r), 1)
		for last := range 256 { // neighbours are as unknown as others, and quicker to ask for
			k[8] = byte(last)
			if s.Has(k) {
				wrong++
			}
		}
	}
	want := float64(s.Len()) / (1 << 48) * asked
	t.Logf("%d of %d unknown keys were taken for known ones, %.1f were to be expected; with 50 million keys that is %.1g of them",
		wrong, asked, want, float64(wrong)/asked*(50e6/stripes)/float64(s.Len()))
	if f := float64(wrong); f > 2*want || f < want/2 {
		t.Errorf("%d wrong answers, want about %.1f", wrong, want)
	}
}
