package match

import (
	"fmt"
	"testing"
)

// BenchmarkIndex matches a URL against 100,000 literals of one kind.
func BenchmarkIndex(b *testing.B) {
	const text = "http://www.host31415.example.com/section/92653/article-5897.html?id=932"
	for kind, form := range map[Kind]string{
		Exact:  "http://www.host%d.example.com/",
		Prefix: "http://www.host%d.example.com/section/",
		Suffix: "%d.html",
		Inside: "/section/%d/",
	} {
		var builder Builder
		for i := range 100_000 {
			builder.Add(kind, fmt.Sprintf(form, i))
		}
		x := builder.Build()
		b.Run([]string{"exact", "prefix", "suffix", "inside"}[kind], func(b *testing.B) {
			b.ReportAllocs()
			var numbers []uint32
			for b.Loop() {
				numbers = x.Append(numbers[:0], text)
			}
		})
	}
}
