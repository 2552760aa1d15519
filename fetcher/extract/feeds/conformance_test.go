package feeds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

type conformanceCase struct {
	file   string
	format Format
	n      int
	// urls are all of them, or the first ones where there are more.
	urls []string
}

func conformanceCases() []conformanceCase {
	const catalog = "http://www.example.com/catalog?item="
	catalogs := []string{
		"http://www.example.com/", catalog + "12&desc=vacation_hawaii", catalog + "73&desc=vacation_new_zealand",
		catalog + "74&desc=vacation_newfoundland", catalog + "83&desc=vacation_usa",
	}
	pages := []string{"http://www.domain.com/page1.html", "http://www.domain.com/page2.html"}
	return []conformanceCase{
		{"atom.xml", Atom, 1, []string{"http://example.org/2003/12/13/atom03"}},
		{"do-not-visit.txt", URLList, 1, []string{"http://www.example.com/do-not-visit-here"}},
		{"sitemap-with-bom.txt", URLList, 2, pages},
		{"sitemap.txt", URLList, 2, pages},
		{"sitemap.txt.gz", URLList, 5, catalogs},
		{"xmlSitemap.gz", URLSet, 5, catalogs},
		{"sitemap.badns.xml", URLSet, 2, []string{"http://www.example.com/1", "http://www.example.com/2"}},
		{"sitemap.ns.xml", URLSet, 2, []string{"http://www.example.com/1", "http://www.example.com/2"}},
		{"sitemap.index.xml", Index, 15, []string{"https://example.com/sitemap.jss?portalCode=10260&lang=en"}},
		{"extension/hebdenbridgetimes-articles-sitemap.xml", URLSet, 74, []string{
			"http://www.hebdenbridgetimes.co.uk/news/local/video-tour-de-yorkshire-in-calderdale-1-7242580",
		}},
		{"extension/pagemaps-sitemap.xml", URLSet, 2, []string{"http://www.example.com/foo", "http://www.example.com/bar"}},
		{"extension/shinpaideshou-news-sitemap.xml", URLSet, 3, []string{
			"https://shinpaideshou.wordpress.com/2017/04/25/job-opening-reischauer-policy-research-fellow/",
		}},
		{"extension/sitemap-images.xml", URLSet, 1, []string{"http://www.example.com/images/some_image_landing_page.html"}},
		{"extension/sitemap-links.xml", URLSet, 3, []string{
			"http://www.example.com/english/", "http://www.example.com/deutsch/", "http://www.example.com/schweiz-deutsch/",
		}},
		{"extension/sitemap-mobile.xml", URLSet, 3, []string{
			"http://www.example.com/mobile-friendly-1/", "http://www.example.com/mobile-friendly-2/", "http://www.example.com/no-mobile/",
		}},
		{"extension/sitemap-news.xml", URLSet, 2, []string{
			"http://www.example.org/business/article55.html", "http://www.example.org/empty_news_name.html",
		}},
		{"extension/sitemap-videos-tvshow.xml", URLSet, 1, []string{"https://example.org/my-tv-show/23/13/"}},
		{"extension/sitemap-videos.xml", URLSet, 3, []string{
			"http://www.example.com/videos/some_video_landing_page.html", "http://www.example.com/videos/some_video_landing_page-2.html",
			"http://www.example.com/videos/some_video_landing_page-3.html",
		}},
	}
}

// TestConformance: all files of crawler-commons' tests are readable, and give their URLs.
func TestConformance(t *testing.T) {
	dir := testneed.Suite(t, "sitemaps")
	tested := map[string]bool{}
	for _, tt := range conformanceCases() {
		tested[tt.file] = true
		t.Run(tt.file, func(t *testing.T) {
			f, err := os.Open(filepath.Join(dir, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			var urls []string
			s, err := Sitemap(f, Options{}, func(e Entry) error { urls = append(urls, e.Loc); return nil })
			if err != nil || s.Format != tt.format || s.Entries != tt.n || s.Cut != "" {
				t.Errorf("%+v, %v; want %d entries of a %s", s, err, tt.n, tt.format)
			}
			if d := cmp.Diff(tt.urls, urls[:min(len(urls), len(tt.urls))]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for _, u := range urls {
				if !isAbsolute(u) || strings.ContainsAny(u, " \n<") {
					t.Errorf("no URL: %q", u)
				}
			}
		})
	}
	for _, pattern := range []string{"*.*", "extension/*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name, _ := filepath.Rel(dir, f)
			if !tested[filepath.ToSlash(name)] {
				t.Errorf("%s is not tested", name)
			}
		}
	}
}
