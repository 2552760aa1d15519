package extract

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// benchPages returns what the benchmarks read: pages of 15 KiB that are made here, and
// the pages of Python's documentation where it is installed. SEXTANT_BENCH_PAGES
// names further ones, as a pattern of files.
func benchPages(tb testing.TB) map[string][][]byte {
	all := map[string][][]byte{"synthetic": {syntheticPage(1), syntheticPage(2), syntheticPage(3)}, "sample": {samplePage()}}
	// The same with words of Cyrillic letters, and of Han characters.
	for name, letters := range map[string]string{"cyrillic": "абвгдежзийклмнопрстуфхцчшщ", "han": "一丁七万丈三上下不与丑专且世丘丙业丛东丝丞丟両丢两严"} {
		all[name] = [][]byte{otherLetters(syntheticPage(1), []rune(letters))}
	}
	for name, pattern := range map[string]string{"python": "/usr/share/doc/python3-doc/html/library/*.html", "files": os.Getenv("SEXTANT_BENCH_PAGES")} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			tb.Fatal(err)
		}
		if len(names) == 0 {
			tb.Logf("skip %s: no pages like %q", name, pattern)
			continue
		}
		for i := 0; i < len(names); i += 1 + len(names)/40 {
			page, err := os.ReadFile(names[i])
			if err != nil {
				tb.Fatal(err)
			}
			all[name] = append(all[name], page)
		}
	}
	return all
}

// BenchmarkHTML reads pages, beside a loop over the tokens of x/net/html that takes
// the same out of them. On a machine that has other things to do, best-ns/page, of
// the fastest time of each page, is what to compare.
func BenchmarkHTML(b *testing.B) {
	all := benchPages(b)
	m := removal(b, "nav", ".ads", "#footer")
	for _, name := range []string{"synthetic", "sample", "cyrillic", "han", "python", "files"} {
		pages := all[name]
		size := 0
		for _, p := range pages {
			size += len(p)
		}
		if size == 0 {
			continue
		}
		run := func(reader string, read func([]byte)) {
			b.Run(name+"/"+reader, func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				best := make([]time.Duration, len(pages))
				for b.Loop() {
					for i, p := range pages {
						begin := time.Now()
						read(p)
						if d := time.Since(begin); best[i] == 0 || d < best[i] {
							best[i] = d
						}
					}
				}
				var sum time.Duration
				for _, d := range best {
					sum += d
				}
				b.ReportMetric(float64(sum)/float64(len(pages)), "best-ns/page")
			})
		}
		run("ours", func(page []byte) {
			if _, err := HTML(page, "text/html; charset=utf-8", Options{Agent: "Sextant"}); err != nil {
				b.Fatal(err)
			}
		})
		run("removing", func(page []byte) {
			if _, err := HTML(page, "text/html; charset=utf-8", Options{Agent: "Sextant", Removal: m, KeepContent: true}); err != nil {
				b.Fatal(err)
			}
		})
		run("xnet", func(page []byte) { tokenLoop(page) })
	}
}

// TestSameWork shows that both loops of the benchmark take the same out of a page.
func TestSameWork(t *testing.T) {
	for name, pages := range benchPages(t) {
		for i, page := range pages {
			got := read(t, string(page), "text/html; charset=utf-8")
			want := tokenLoop(page)
			if d := cmp.Diff(want.Text, got.Text); d != "" {
				t.Errorf("%s %d: text (-x/net/html +ours):\n%.2000s", name, i, d)
			}
			got.Text, want.Text, want.Charset = "", "", "utf-8"
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s %d (-x/net/html +ours):\n%.2000s", name, i, d)
			}
		}
	}
}

// tokenLoop reads a page as one would with x/net/html's tokenizer and some care: no
// copies but of what is kept.
func tokenLoop(page []byte) (p Page) {
	z := html.NewTokenizer(bytes.NewReader(page))
	w := loopText{b: make([]byte, 0, len(page)/2)}
	inTitle, skipped := false, 0
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			p.Text = string(w.b)
			return p
		case html.TextToken:
			if inTitle {
				title := loopText{}
				title.write(z.Text())
				p.Title = string(title.b)
			} else if skipped == 0 {
				w.write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			w.gap = w.gap || separators[string(name)]
			switch string(name) {
			case "title":
				inTitle = true
			case "script", "style", "noscript", "template", "svg":
				skipped++
			}
			if kind == html.SelfClosingTagToken && string(name) == "svg" {
				skipped--
			}
			if more {
				loopTag(z, string(name), &p)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			w.gap = w.gap || separators[string(name)]
			switch string(name) {
			case "title":
				inTitle = false
			case "script", "style", "noscript", "template", "svg":
				skipped = max(skipped-1, 0)
			}
		}
	}
}

// loopTag takes links, metas and the language out of a start tag.
func loopTag(z *html.Tokenizer, name string, p *Page) {
	switch name {
	case "a", "area", "link", "iframe", "frame", "meta", "html", "base":
	default:
		return
	}
	var href, rel, content, metaName, property, hreflang string
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href", "src":
			href = string(bytes.TrimSpace(value))
		case "rel":
			rel = strings.ToLower(string(value))
		case "content":
			w := loopText{}
			w.write(value)
			content = string(w.b)
		case "name":
			metaName = strings.ToLower(string(value))
		case "property":
			property = strings.ToLower(string(value))
		case "hreflang":
			hreflang = string(value)
		case "lang":
			if name == "html" {
				p.Language = string(value)
			}
		}
	}
	switch name {
	case "meta":
		for _, n := range []string{metaName, property} {
			if n != "" {
				p.Metas = append(p.Metas, Meta{n, content})
			}
		}
		return
	case "link":
		words := strings.Fields(rel)
		switch {
		case slices.Contains(words, "canonical"):
			p.Canonical = href
		case slices.Contains(words, "next"), slices.Contains(words, "alternate") && hreflang != "":
		default:
			return
		}
	case "base":
		p.Base = href
		return
	case "html":
		return
	}
	if href != "" {
		p.Links = append(p.Links, Link{Href: href, NoFollow: rel != "" && slices.Contains(strings.Fields(rel), "nofollow")})
	}
}

// loopText collapses white space.
type loopText struct {
	b   []byte
	gap bool
}

func (w *loopText) write(text []byte) {
	for i := 0; i < len(text); {
		c, n := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRune(text[i:])
		}
		switch {
		case c <= ' ' || c > 0x7e && (unicode.IsSpace(c) || unicode.IsControl(c) || c == '\u200b'):
			w.gap = true
		case c == '\u00ad' || c == '\ufeff':
		default:
			if w.gap && len(w.b) > 0 {
				w.b = append(w.b, ' ')
			}
			w.gap = false
			w.b = append(w.b, text[i:i+n]...)
		}
		i += n
	}
}

// separators are the elements between words.
var separators = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`address article aside audio blockquote body br button canvas caption center colgroup dd details dialog dir div dl dt
		embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input legend li listing main
		math menu meter nav object ol optgroup option p plaintext pre progress search section select summary svg table tbody td textarea tfoot th thead
		title tr ul video xmp`) {
		m[name] = true
	}
	return m
}()

// syntheticPage returns a page of about 15 KiB: navigation, and running text with short
// lines, inline elements, references and links of all kinds.
func syntheticPage(seed uint64) []byte {
	words := strings.Fields(`the of and to in is that for it as was with be by on not he this are or his from at which but have an had they you were
		one all we can her has there been if more when will would who so no network crawler archive harvest library museum index frontier caf&eacute;
		na&iuml;ve R&amp;D document history station river mountain language science collection record witness letter journal summer winter`)
	next := func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed>>33) % n
	}
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>A page</title>\n" +
		"<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"description\" content=\"Made up &amp; nothing else\">\n" +
		"<script>var a = 1 < 2 && \"</p>\";</script>\n<style>body{margin:0}.nav>li{display:inline}</style>\n</head>\n<body class=\"page\">\n<ul class=\"nav\">\n")
	for i := range 5 {
		b.WriteString("<li><a class=\"nav-link\" href=\"/s" + strings.Repeat("1", i+1) + "/p247.html\">Entry</a></li>\n")
	}
	b.WriteString("</ul>\n<main id=\"content\">\n<h1>A page</h1>\n")
	for b.Len() < 15<<10 {
		b.WriteString("<p class=\"body-text\">")
		for range 40 + next(80) {
			word := words[next(len(words))]
			switch n := next(100); {
			case n < 3:
				b.WriteString("<em>" + word + "</em> ")
			case n < 5:
				b.WriteString("<strong>" + word + "</strong>, ")
			case n < 10:
				b.WriteString(word + ".\n")
			default:
				b.WriteString(word + " ")
			}
		}
		b.WriteString("</p>\n<p>See <a href=\"../s54/p5415.html#sec3\" title=\"more &amp; more\">link</a>.</p>\n")
	}
	b.WriteString("</main>\n<footer>&copy; 2026 nobody</footer>\n</body>\n</html>\n")
	return []byte(b.String())
}

// otherLetters has other letters in place of those of the text.
func otherLetters(page []byte, letters []rune) (out []byte) {
	text := false
	for i := 0; i < len(page); i++ {
		c := page[i]
		text = (text || c == '>') && c != '<' && c != '&' || c == ';'
		if text && 'a' <= c && c <= 'z' {
			out = utf8.AppendRune(out, letters[c-'a'])
		} else {
			out = append(out, c)
		}
	}
	return out
}
