package feeds

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkSitemap reads a sitemap of 50,000 entries.
func BenchmarkSitemap(b *testing.B) {
	file := entries(50_000)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if _, err := Sitemap(strings.NewReader(file), Options{MaxBytes: 50 << 20, MaxEntries: 50_000}, func(Entry) error { n++; return nil }); err != nil || n != 50_000 {
			b.Fatal(n, err)
		}
	}
}

func entries(n int) string {
	var s strings.Builder
	s.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for i := range n {
		fmt.Fprintf(&s, "  <url>\n    <loc>http://www.example.com/a/b/page-%d.html?x=1&amp;y=2</loc>\n    <lastmod>2026-01-02T03:04:05+00:00</lastmod>\n    <priority>0.8</priority>\n  </url>\n", i)
	}
	s.WriteString("</urlset>\n")
	return s.String()
}

// TestEntriesAreCheap: an entry of a sitemap takes ten allocations. Times that were held against
// layouts which cannot fit, and names that were made anew each time, had made it 47.
func TestEntriesAreCheap(t *testing.T) {
	const n = 500
	file := entries(n)
	allocations := testing.AllocsPerRun(3, func() {
		if _, err := Sitemap(strings.NewReader(file), Options{}, func(Entry) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
	if each := allocations / n; each > 12 {
		t.Errorf("an entry takes %.1f allocations, want 10", each)
	}
}
