package extract

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// hostilePages are pages of about n bytes that are meant to cost more than others.
func hostilePages(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)) }
	attributes := func() string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, " a%d=%d", i, i)
		}
		return b.String()
	}
	return map[string]string{
		"brackets":               fill("<"),
		"tags without end":       fill("<a "),
		"unclosed value":         fill("<a href='"),
		"closed values":          fill("<a href='x'>"),
		"comments without end":   fill("<!--"),
		"comment without end":    "<!--" + fill("->"),
		"comment ends":           "<!--" + fill("--!"),
		"declarations":           fill("<!"),
		"sections without end":   "<svg>" + fill("<![CDATA["),
		"sections":               "<svg>" + fill("<![CDATA[]]"),
		"ampersands":             fill("&"),
		"unknown references":     fill("&abcdefgh;"),
		"one reference":          "&" + fill("a"),
		"references as values":   "<a href='" + fill("&notit;") + "'>",
		"numbers":                "&#" + fill("9"),
		"longer than written":    fill("&nGt;"),
		"no UTF-8":               fill("\xff"),
		"spaces":                 fill(" "),
		"words":                  fill("a "),
		"attributes":             "<a" + attributes() + ">",
		"one attribute":          "<a " + fill("href=x "),
		"classes":                "<a class='" + fill("r x ") + "'>",
		"rel":                    "<a href=x rel='" + fill("x ") + "'>",
		"srcset":                 "<img srcset='" + fill("a,b 1x,") + "'>",
		"srcset in parentheses":  "<img srcset='" + fill("a (,") + "'>",
		"scripts without end":    fill("<script>"),
		"script in script":       "<script><!--" + fill("<script"),
		"almost ends of scripts": "<script>" + fill("</scrip"),
		"titles":                 fill("<title>a</title>"),
		"removed, deep":          fill("<div class=r>"),
		"removed, deep, closed":  strings.Repeat("<div class=r>", n/20) + strings.Repeat("</div>", n/20),
		"removed, wrong ends":    strings.Repeat("<b class=r>", n/20) + strings.Repeat("</i>", n/8),
		"removed, ends too far":  "<table><tr><td class=r>" + strings.Repeat("<p><b>", n/12) + strings.Repeat("</tr></p>", n/18),
		"open paragraphs":        fill("<p class=r><b>"),
		"open entries":           fill("<ul><li class=r>"),
		"open cells":             fill("<table><tr><td class=r>"),
		"templates":              fill("<template>"),
		"templates, ends":        strings.Repeat("<template><td>", n/28) + strings.Repeat("</td></table>", n/28),
		"options":                "<select>" + fill("<option class=r>"),
		"hidden, custom":         fill("<x-y hidden></x-z>"),
		"void":                   fill("<br class=r>"),
		"svg":                    fill("<svg>"),
		"svg, ends":              strings.Repeat("<svg>", n/10) + strings.Repeat("</desc>", n/14),
		"svg, breaks":            fill("<svg><p>"),
		"marks":                  fill("<!--noindex--><!--endnoindex-->"),
		"metas":                  fill("<meta name=a content=b>"),
		"one meta":               "<meta name=robots content='" + fill("unavailable_after: a, ") + "'>",
		"directives":             "<meta name=robots content='" + fill("a:b ") + "'>",
		"dates":                  fill("<meta name=robots content='unavailable_after: " + strings.Repeat("1 ", 40) + "'>"),
		"refreshes":              fill("<meta http-equiv=refresh content=1>"),
		"bases":                  fill("<base href=>"),
		"noscript":               fill("<noscript><p hidden></noscript>"),
	}
}

// TestHostile reads large pages of each kind: work that grew with the square of their
// size would not come to an end. Memory must stay in proportion, and every byte must
// belong to one token.
func TestHostile(t *testing.T) {
	size := 2 << 20
	if underRace {
		size = 128 << 10
	}
	m := removal(t, ".r", "#x")
	for name, page := range hostilePages(size) {
		t.Run(name, func(t *testing.T) {
			body := []byte(page)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := HTML(body, "text/html; charset=utf-8", Options{Agent: "Sextant", Removal: m, Embedded: true, KeepContent: true})
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 20*uint64(size)+8<<20 {
				t.Errorf("%d KiB of memory for %d KiB", grown>>10, size>>10)
			}
			if len(p.Links) > maxLinks || len(p.Metas) > maxMetas || len(p.Title) > maxTitle {
				t.Errorf("%d links, %d metas, title of %d bytes", len(p.Links), len(p.Metas), len(p.Title))
			}
			tokens, at := 0, 0
			for s := markup.NewScanner(body); s.Next() != markup.End; tokens++ {
				from, to := s.Token()
				if from != at || to <= from {
					t.Fatalf("a token from %d to %d behind %d", from, to, at)
				}
				at = to
			}
			if tokens > len(body) {
				t.Errorf("%d tokens", tokens)
			}
		})
	}
}

// TestManyAtOnce has pages of all kinds read at once, by readers that others left.
func TestManyAtOnce(t *testing.T) {
	m := removal(t, ".r")
	pages := hostilePages(10_000)
	want := map[string]Page{}
	for name, page := range pages {
		p, err := HTML([]byte(page), "", Options{Removal: m, KeepContent: true})
		if err != nil {
			t.Fatal(err)
		}
		want[name] = p
	}
	t.Run("group", func(t *testing.T) {
		for name, page := range pages {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for range 5 {
					p, err := HTML([]byte(page), "", Options{Removal: m, KeepContent: true})
					if err != nil || p.Text != want[name].Text || string(p.Content) != string(want[name].Content) || len(p.Links) != len(want[name].Links) {
						t.Errorf("another page than before: %v", err)
					}
				}
			})
		}
	})
}

// TestAllocations holds a page to what its result is made of: text, title, the rest
// of its strings, links and metas.
func TestAllocations(t *testing.T) {
	if underRace {
		t.Skip("skip: the race detector allocates, too")
	}
	page, small := samplePage(), []byte("<p>a b</p>")
	for name, tt := range map[string]struct {
		page []byte
		most float64
	}{"page": {page, 5}, "text": {small, 1}} {
		if got := testing.AllocsPerRun(100, func() {
			if _, err := HTML(tt.page, "text/html; charset=utf-8", Options{Agent: "Sextant"}); err != nil {
				t.Fatal(err)
			}
		}); got > tt.most {
			t.Errorf("%s: %v allocations, more than %v", name, got, tt.most)
		}
	}
}
