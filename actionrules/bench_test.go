package actionrules

import (
	"fmt"
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

// benchmarkSizes are the numbers of rules that are measured, without the largest if it is short.
func benchmarkSizes() []int {
	if testing.Short() {
		return []int{100, 10_000}
	}
	return []int{100, 10_000, 100_000}
}

func decideAll(b *testing.B, e *Engine, urls []weburl.URL) {
	b.Helper()
	b.ReportAllocs()
	s := new(Scratch)
	for _, u := range urls {
		e.DecideInto(u, s)
	}
	b.ResetTimer()
	for i := range b.N {
		e.DecideInto(urls[i%len(urls)], s)
	}
}

// BenchmarkDecide decides about the mix's URLs.
func BenchmarkDecide(b *testing.B) {
	for _, n := range benchmarkSizes() {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			m := newMix(b, n)
			decideAll(b, compile(b, m.set), m.urls)
		})
	}
}
