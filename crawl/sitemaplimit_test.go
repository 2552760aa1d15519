package crawl

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// setMaps serves an index that names so many sitemaps, from a number on, each of one page.
func setMaps(site *testsite.Site, path string, from, n int) {
	var locs []string
	for i := from; i < from+n; i++ {
		at := fmt.Sprintf("/map-%d.xml", i)
		locs = append(locs, site.Origins()[0]+at)
		site.Set(at, urlset("", fmt.Sprintf("%s/listed-%d.html", site.Origins()[0], i)))
		site.Set(fmt.Sprintf("/listed-%d.html", i), html(fmt.Sprint("page ", i)))
	}
	site.Set(path, index(locs...))
}

// limited is a bench whose robots.txt names an index.
func limited(t *testing.T) (*testsite.Site, *bench) {
	site, b := sitemapBench(t, 1)
	site.Set("/robots.txt", robotsTxt("Sitemap: /index.xml"))
	return site, b
}

// crawled crawls once, and returns the log, the status, and how many sitemaps and URLs of all
// kinds are known.
func (b *bench) crawled(submit ...string) (log string, status Status, sitemaps, known int) {
	b.t.Helper()
	words := &testlog.Buffer{}
	b.log = slog.NewTextHandler(words, nil)
	b.with(func(c *Crawl, store *store.Store) {
		if len(submit) > 0 {
			if _, err := c.Submit(b.t.Context(), submit); err != nil {
				b.t.Fatal(err)
			}
		}
		err := c.Run(b.t.Context(), Once{Drain: true})
		if err == nil {
			status, err = c.Status(b.t.Context())
		}
		if err == nil {
			err = store.Inspect(b.t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
				if known++; r.Kind.IsSource() {
					sitemaps++
				}
				return nil
			})
		}
		if err != nil {
			b.t.Fatal(err)
		}
		log = words.String()
	})
	b.verify()
	return log, status, sitemaps, known
}

// TestSitemapsInHostBudget: sitemaps that an index names count in the host's budget of
// URLs, and what is beyond is told.
func TestSitemapsInHostBudget(t *testing.T) {
	site, b := limited(t)
	setMaps(site, "/index.xml", 0, 30)
	b.settings.Traps = &crawlspace.TrapSettings{MaxURLsPerHost: 12}
	b.settings.Unconditional = true
	for crawl, submit := range [][]string{nil, {site.Origins()[0] + "/index.xml"}} {
		log, status, _, known := b.crawled(submit...)
		if known != 12 {
			t.Errorf("crawl %d: %d URLs are known, want 12", crawl, known)
		}
		if !strings.Contains(log, "level=WARN") || !strings.Contains(log, "refused=2") || status.Trapped == 0 {
			t.Errorf("crawl %d: %d trapped, the log: %s", crawl, status.Trapped, log)
		}
	}
	if r := b.wantRecord(site.Origins()[0] + "/index.xml"); !strings.Contains(r.LastError, "beyond the limit of") {
		t.Errorf("the index: %+v", r)
	}
}

// TestSitemapsPerHost: without any setting of traps, of one host so many sitemaps are known,
// of whatever depth, over restarts; those that went make room.
func TestSitemapsPerHost(t *testing.T) {
	site, b := limited(t)
	b.settings.SitemapMaxPerHost = 8
	b.settings.Unconditional = true
	origin := site.Origins()[0]
	setMaps(site, "/index-1.xml", 0, 30)
	site.Set("/index.xml", index(origin+"/index-1.xml", origin+"/index-1.xml"))
	log, status, sitemaps, _ := b.crawled()
	if sitemaps != 8 || status.Trapped != 24 || !strings.Contains(log, "refused=24") {
		t.Errorf("%d sitemaps, %d trapped, the log: %s", sitemaps, status.Trapped, log)
	}
	if r := b.wantRecord(origin + "/listed-5.html"); !r.Indexed {
		t.Errorf("what a sitemap lists that is read: %+v", r)
	}
	if _, status, sitemaps, _ = b.crawled(origin + "/index-1.xml"); sitemaps != 8 || status.Trapped != 24 {
		t.Errorf("after a restart: %d sitemaps, %d trapped", sitemaps, status.Trapped)
	}
	for i := range 4 {
		site.Set(fmt.Sprintf("/map-%d.xml", i), testsite.Page{Status: 404})
	}
	var gone []string
	for i := range 4 {
		gone = append(gone, fmt.Sprintf("%s/map-%d.xml", origin, i))
	}
	b.crawled(gone...)
	setMaps(site, "/index-1.xml", 100, 30)
	if _, status, _, _ = b.crawled(origin + "/index-1.xml"); status.Trapped != 26 || site.Hits("/map-103.xml") == 0 || site.Hits("/map-104.xml") != 0 {
		t.Errorf("after four went: %d trapped, %d requests for the fourth, %d for the fifth", status.Trapped, site.Hits("/map-103.xml"), site.Hits("/map-104.xml"))
	}
}

// TestSitemapsOfRobots: those that robots.txt names are bounded, too, and so is what they
// redirect to; those of the configuration are not.
func TestSitemapsOfRobots(t *testing.T) {
	site, b := sitemapBench(t, 1)
	origin := site.Origins()[0]
	site.Set("/robots.txt", robotsTxt("Sitemap: /a.xml", "Sitemap: /b.xml", "Sitemap: /c.xml", "Sitemap: /d.xml"))
	for _, path := range []string{"/a.xml", "/b.xml", "/c.xml", "/d.xml"} {
		site.Set(path, testsite.Page{Status: 301, Header: map[string]string{"Location": "/to" + path}})
		site.Set("/to"+path, urlset("", origin+"/listed.html"))
	}
	site.Set("/own.xml", urlset("", origin+"/own.html"))
	site.Set("/own.html", html("own"))
	b.settings.Sources = []policy.Source{{URL: parse(t, origin+"/own.xml"), Kind: scheduler.KindSitemap}}
	b.settings.SitemapMaxPerHost = 3
	b.settings.Traps = &crawlspace.TrapSettings{MaxURLsPerHost: 1000, MaxURLsPerPattern: 1}
	log, status, sitemaps, _ := b.crawled()
	if sitemaps != 3 || !strings.Contains(log, "not reading sitemaps that robots.txt names") || status.Trapped == 0 {
		t.Errorf("%d sitemaps, %d trapped, the log: %s", sitemaps, status.Trapped, log)
	}
	if r := b.wantRecord(origin + "/own.html"); !r.Indexed {
		t.Errorf("what the configuration names: %+v", r)
	}
}

// TestRefusedSitemapsAreToldOnce: a host is warned of once, however many of its indexes
// name too many.
func TestRefusedSitemapsAreToldOnce(t *testing.T) {
	site, b := limited(t)
	origin := site.Origins()[0]
	setMaps(site, "/index-1.xml", 0, 10)
	setMaps(site, "/index-2.xml", 10, 10)
	site.Set("/index.xml", index(origin+"/index-1.xml", origin+"/index-2.xml"))
	b.settings.SitemapMaxPerHost = 4
	log, status, _, _ := b.crawled()
	if n := strings.Count(log, "level=WARN"); n != 1 || status.Trapped != 19 {
		t.Errorf("%d warnings, %d trapped, the log: %s", n, status.Trapped, log)
	}
}
