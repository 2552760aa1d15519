package actionrules

import (
	"fmt"
	"runtime"
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

// BenchmarkWorstCases are rule sets that a naive index would walk over.
func BenchmarkWorstCases(b *testing.B) {
	distinct := func(i int) Condition { return Path(fmt.Sprintf("/section%d/", i), NormNorm, false, nowhere) }
	wide := Length(FieldURL, "[1:300]", NormNorm, false, nowhere)
	for name, c := range map[string]struct {
		rules int
		cond  func(i int) Condition
		url   string
	}{
		"extensions": {15_000, func(i int) Condition {
			return Ext("."+extensions[i%len(extensions)], NormNorm, false, nowhere)
		}, "http://www.example.com/some/document.pdf"},
		"length": {10_000, func(int) Condition { return wide }, "http://www.example.com/section77/page.html"},
		"length-or": {10_000, func(i int) Condition {
			return Or{[]Condition{wide, distinct(i)}}
		}, "http://www.example.com/section77/page.html"},
		"length-and": {10_000, func(i int) Condition {
			return And{[]Condition{wide, distinct(i)}}
		}, "http://www.example.com/section77/page.html"},
		"host-and-path": {10_000, func(i int) Condition {
			return And{[]Condition{Host("www.example.com", NormNorm, false, nowhere), distinct(i)}}
		}, "http://www.example.com/section77/page.html"},
		"not": {10_000, func(i int) Condition { return Not{distinct(i)} }, "http://www.example.com/section77/page.html"},
	} {
		b.Run(name, func(b *testing.B) {
			var set RuleSet
			for i := range c.rules {
				set.Rules = append(set.Rules, when(c.cond(i), Action{Verb: Verb(i % len(verbNames)), Name: "n", Value: itoa(i % 7)}))
			}
			e, u := compile(b, set), mustURL(b, c.url)
			if got, want := fmt.Sprint(e.Decide(u)), fmt.Sprint(scanRules(e, u)); got != want {
				b.Fatalf("%s, the scan says %s", got, want)
			}
			decideAll(b, e, []weburl.URL{u})
		})
	}
}

// BenchmarkCompile also measures the memory of an engine, rules not counted, in
// bytes for each byte of their patterns.
func BenchmarkCompile(b *testing.B) {
	for _, n := range benchmarkSizes() {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			m := newMix(b, n)
			text := 0
			for _, r := range m.set.Rules {
				atoms(r.If, func(a Atom) { text += len(a.Value) })
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				compile(b, m.set)
			}
			b.StopTimer()
			before := heap()
			e := compile(b, m.set)
			b.ReportMetric(float64(heap()-before)/float64(text), "bytes/byte")
			runtime.KeepAlive(e)
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
