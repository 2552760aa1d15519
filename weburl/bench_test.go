package weburl

import "testing"

// 88 bytes in canonical form, with path and query as they are in links.
const stored = "https://www.example.com/some/path/to/a/page.html?with=a&query=string&of=ninety&chars=xyz"

func BenchmarkParse(b *testing.B) {
	for name, raw := range map[string]string{
		"canonical":  stored,
		"fragment":   stored + "#part",
		"normalised": "HTTPS://WWW.Example.com:443/some/path/./to/../to/a/%70age.html?with=a&query=string&of=ninety&chars=xyz#part",
		"accents":    "https://www.example.com/caf\u00e9/cr\u00e8me br\u00fbl\u00e9e.html",
		"address":    "http://127.0.0.1:8080/page/12345.html",
		"slow":       "https://xn--mnchen-3ya.example/some/path/to/a/page.html?with=a&query=string&of=ninety&chars=xy",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResolve(b *testing.B) {
	base := mustBase(stored)
	for name, ref := range map[string]string{
		"absolute": stored,
		"host":     "//www.example.org/some/page.html",
		"path":     "/some/other/page.html?x=y",
		"relative": "../other/page.html?x=y#part",
		"fragment": "#part",
		"slow":     "https:page.html",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := base.Resolve(ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("mailto", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := base.Resolve("mailto:somebody@example.com"); err == nil {
				b.Fatal("taken for a page")
			}
		}
	})
}

func BenchmarkKey(b *testing.B) {
	u := mustParse(b, stored)
	b.ReportAllocs()
	for b.Loop() {
		u.Key()
	}
}
