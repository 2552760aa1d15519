package robots

import (
	"fmt"
	"strings"
	"testing"
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

// Reading once and asking often costs nothing of the kind that is collected.
func TestAllowedAllocatesNothing(t *testing.T) {
	u, rules := mustURL(t, "http://h.test/section7/x.html"), Parse([]byte(benchFile()))
	if n := testing.AllocsPerRun(100, func() { rules.Allowed("Sextant", u) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
