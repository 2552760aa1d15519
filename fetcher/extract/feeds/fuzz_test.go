package feeds

import (
	"errors"
	"strings"
	"testing"
)

// FuzzSitemap: whatever comes, every entry has a URL, every error a place, and the
// same file gives the same entries again.
func FuzzSitemap(f *testing.F) {
	for _, seed := range []string{
		"<urlset><url><loc>http://a.test/</loc><lastmod>2026-01-02T03:04Z</lastmod><xhtml:link rel='alternate' href='/b'/></url></urlset>",
		"<?xml version='1.0' encoding='iso-8859-1'?><sitemapindex><sitemap>http://a.test/</sitemap></sitemapindex>x",
		"\ufeffhttp://a.test/\nhttp://b.test/", "<!DOCTYPE urlset [<!ENTITY a 'b'>]>", "<urlset><![CDATA[a]]&#x41;&amp;<!-- --></urlset",
		"<rss><item><link>a</link><guid>http://a.test/</guid></item></rss>", "\x1f\x8b\x08\x00", "\xff\xfe<\x00u\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		read := func() (n int, err error) {
			_, err = Sitemap(strings.NewReader(file), Options{MaxBytes: 1 << 16, MaxEntries: 100}, func(e Entry) error {
				if n++; e.Loc == "" || n > 100 {
					t.Fatalf("entry %d: %+v", n, e)
				}
				return nil
			})
			return n, err
		}
		n, err := read()
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Line < 1 || syntax.Column < 1) {
			t.Fatalf("%v has no place", err)
		}
		if again, _ := read(); again != n {
			t.Fatalf("%d entries, then %d", n, again)
		}
	})
}

// FuzzFeed: whatever comes, every item has something to tell, and every error a place.
func FuzzFeed(f *testing.F) {
	for _, seed := range []string{
		"<rss xml:base='http://a.test/'><channel><title>T</title><item><title>a</title><link>b</link><description>&lt;p></description><pubDate>Sat, 03 Jan 2026 10:00:00 +0100</pubDate></item></channel></rss>",
		"<feed xml:base='/x/'><entry xml:base='y'><link rel='alternate' href='z'/><content type='xhtml'><div>a<b>c</b></div></content></entry></feed>",
		"<rdf:RDF><item rdf:about='http://a.test/'/></rdf:RDF>", "<feed><entry><title>a", "<rss><item><link></item></rss>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		_, err := Feed(strings.NewReader(file), Options{MaxBytes: 1 << 16, MaxEntries: 100}, func(i Item) error {
			if i.Link == "" && i.Title == "" && i.Content == "" {
				t.Fatalf("%+v", i)
			}
			_ = i.Reference()
			return nil
		})
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Line < 1 || syntax.Column < 1) {
			t.Fatalf("%v has no place", err)
		}
	})
}
