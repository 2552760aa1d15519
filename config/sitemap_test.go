package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestURLSources(t *testing.T) {
	c := goodCase(t, "sitemaps").Crawlers[0]
	if d := cmp.Diff(Sitemaps{MaxBytes: 1 << 20, MaxLinks: 100}, c.Sitemaps); d != "" || c.SitemapHints {
		t.Errorf("hints %v, sitemaps (-want +got):\n%s", c.SitemapHints, d)
	}
	type source struct {
		url         string
		feed, items bool
	}
	var got []source
	for _, s := range c.URLSources {
		got = append(got, source{s.URL.String(), s.Feed, s.IndexItems})
	}
	want := []source{
		{"http://www.example.com/sitemap.xml", false, false},
		{"http://www.example.com/hidden/sitemap.xml", false, false},
		{"http://files.example.net/sitemap.xml.gz", false, false},
		{"http://www.example.com/news.rss", true, false},
		{"http://www.example.com/old/news.rss", true, true},
		{"http://www.example.com/staff.xml", false, false},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(source{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	x := c.URLSources[5].XML
	if x == nil || len(x.Metas) != 1 || x.Date == nil {
		t.Fatalf("%+v", x)
	}
	paths := []string{x.Path.String(), x.Link.String(), x.Title.String(), x.Text.String(), x.Date.String(), x.Metas[0].Name, x.Metas[0].Path.String()}
	if d := cmp.Diff([]string{"/staff/person", "@href", "name", ".", "since", "room", "office/@room"}, paths); d != "" || !x.HTML {
		t.Errorf("HTML %v (-want +got):\n%s", x.HTML, d)
	}
}
