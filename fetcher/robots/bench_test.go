package robots

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jimsmart/grobotstxt"
)

// benchFile has 200 lines, as a site of many parts writes them: prefixes, wildcards,
// ends, some Allow, and a group that is not ours.
func benchFile() string {
	var b strings.Builder
	b.WriteString("User-agent: other\nDisallow: /\nUser-agent: *\nCrawl-delay: 1\n")
	for i := range 195 {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "Disallow: /section%d/*.php$\n", i)
		case 1:
			fmt.Fprintf(&b, "Allow: /section%d/public/\n", i)
		case 2:
			fmt.Fprintf(&b, "Disallow: /*?sort%d=\n", i)
		default:
			fmt.Fprintf(&b, "Disallow: /cgi-bin/tool%d/\n", i)
		}
	}
	b.WriteString("Sitemap: http://h.test/sitemap.xml\n")
	return b.String()
}

// One check of a URL by a file of 200 lines: ours, by rules that are read once a day
// for each origin; ours with the reading each time; and Google's parser as others
// ported it, which reads each time, as it has no other way.
func BenchmarkCheck(b *testing.B) {
	text := benchFile()
	if n := strings.Count(text, "\n"); n != 200 {
		b.Fatalf("%d lines", n)
	}
	const raw = "http://h.test/section7/documents/page-12.html?version=3"
	u, rules := mustURL(b, raw), Parse([]byte(text))
	for name, allowed := range map[string]func() bool{
		"rules":      func() bool { return rules.Allowed("Sextant", u) },
		"text":       func() bool { return Parse([]byte(text)).Allowed("Sextant", u) },
		"grobotstxt": func() bool { return grobotstxt.AgentAllowed(text, "Sextant", raw) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !allowed() {
					b.Fatal("disallowed")
				}
			}
		})
	}
}

// Verdict is what a crawl pays for each page: the origin's entry and a check.
func BenchmarkVerdict(b *testing.B) {
	c := NewCache(&store{}, Settings{})
	u := mustURL(b, "http://h.test/section7/documents/page-12.html?version=3")
	if err := c.Record(b.Context(), u, ok(benchFile()), nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := c.Verdict(b.Context(), "Sextant", u); err != nil || v.State != Allowed {
			b.Fatal(v, err)
		}
	}
}

// Reading once and asking often costs nothing of the kind that is collected.
func TestAllowedAllocatesNothing(t *testing.T) {
	u, rules := mustURL(t, "http://h.test/section7/x.html"), Parse([]byte(benchFile()))
	if n := testing.AllocsPerRun(100, func() { rules.Allowed("Sextant", u) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
