package extract

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// pages are what the benchmarks read. SEXTANT_BENCH_PAGE names a file to read too.
func pages(b *testing.B) map[string][]byte {
	all := map[string][]byte{"synthetic": samplePage()}
	for name, file := range map[string]string{"python": "/usr/share/doc/python3-doc/html/library/json.html", "file": os.Getenv("SEXTANT_BENCH_PAGE")} {
		if page, err := os.ReadFile(file); err == nil {
			all[name] = page
		}
	}
	return all
}

// BenchmarkHTML reads pages, beside a loop over the tokens of x/net/html that takes
// links and text with white space collapsed, and nothing else.
func BenchmarkHTML(b *testing.B) {
	for name, page := range pages(b) {
		b.Run(name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := HTML(page, "text/html; charset=utf-8", Options{Agent: "Sextant"}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/xnet", func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				tokenLoop(page)
			}
		})
	}
}

func tokenLoop(page []byte) (links []string, text string) {
	z := html.NewTokenizer(bytes.NewReader(page))
	var out strings.Builder
	skip := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				panic(z.Err())
			}
			return links, out.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			skip = string(name) == "script" || string(name) == "style"
			for more && string(name) == "a" {
				var key, value []byte
				if key, value, more = z.TagAttr(); string(key) == "href" {
					links = append(links, string(value))
				}
			}
		case html.EndTagToken:
			skip = false
		case html.TextToken:
			if skip {
				continue
			}
			for word := range bytes.FieldsSeq(z.Text()) {
				out.Write(word)
				out.WriteByte(' ')
			}
		}
	}
}
