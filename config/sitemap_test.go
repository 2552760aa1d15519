package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
)

func TestURLSources(t *testing.T) {
	c := goodCase(t, "sitemaps").Crawlers[0]
	if c.CrawlSitemaps || c.SitemapMaxBytes != 1<<20 || c.SitemapMaxLinks != 100 || c.SitemapMaxPerHost != 7 || c.Frontier.SitemapHints {
		t.Errorf("settings %+v", c)
	}
	type source struct {
		url   string
		kind  scheduler.Kind
		items bool
	}
	var got []source
	for _, s := range c.Sources {
		got = append(got, source{s.URL.String(), s.Kind, s.IndexItems})
	}
	want := []source{
		{"http://www.example.com/sitemap.xml", scheduler.KindSitemap, false},
		{"http://www.example.com/hidden/sitemap.xml", scheduler.KindSitemap, false},
		{"http://files.example.net/sitemap.xml.gz", scheduler.KindSitemap, false},
		{"http://www.example.com/news.rss", scheduler.KindFeed, false},
		{"http://www.example.com/old/news.rss", scheduler.KindFeed, true},
		{"http://www.example.com/staff.xml", scheduler.KindXML, false},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(source{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	x := c.Sources[5].XML
	if x == nil || len(x.Metas) != 1 || x.Date == nil {
		t.Fatalf("%+v", x)
	}
	paths := []string{x.Path.String(), x.Link.String(), x.Title.String(), x.Text.String(), x.Date.String(), x.Metas[0].Name, x.Metas[0].Path.String()}
	if d := cmp.Diff([]string{"/staff/person", "@href", "name", ".", "since", "room", "office/@room"}, paths); d != "" || !x.HTML {
		t.Errorf("HTML %v (-want +got):\n%s", x.HTML, d)
	}
}

// TestDocumentedSources: check accepts the elements of docs/reading-feeds.md.
func TestDocumentedSources(t *testing.T) {
	page := testdir.Read(t, filepath.Join("..", "docs", "reading-feeds.md"))
	n := 0
	for _, b := range regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if !regexp.MustCompile("^<(Feed|Sitemap|XMLDocuments) url=").MatchString(b[1]) {
			continue // a file of a site
		}
		n++
		text := `<CrawlConfig><Crawler name="a" smartRefresh="true"><Root url="http://www.example.com/"/>` + b[1] + `</Crawler></CrawlConfig>`
		_, report := Parse("reading-feeds.md", []byte(text), Lookups{})
		for _, p := range slices.Concat(report.Errors, report.Warnings) {
			t.Errorf("%s\n%s", p, b[1])
		}
	}
	if n != 2 {
		t.Errorf("%d blocks found", n)
	}
}
