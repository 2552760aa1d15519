package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/weburl"
)

// A program asks the rules of a configuration about a URL, without a store and without a
// request.
func Example_decide() {
	file, report := config.Parse("CrawlConfig.xml", []byte(`<CrawlConfig>
	  <Crawler name="docs" smartRefresh="true">
	    <Root url="http://docs.example.com/"/>
	    <Rules><Rule><Path val="/archive/"/><Ignore/></Rule></Rules>
	  </Crawler>
	</CrawlConfig>`), config.Lookups{})
	if err := report.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for _, raw := range []string{"http://docs.example.com/guide", "http://docs.example.com/archive/2019"} {
		u, err := weburl.Parse(raw)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(u.Path(), "is crawled:", file.Crawlers[0].Engine.Decide(u).Crawl())
	}
	// Output:
	// /guide is crawled: true
	// /archive/2019 is crawled: false
}

// A program crawls a site until nothing is left, and looks at the figures.
func Example_crawl() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.URL.Path != "/a" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<title>Page %s</title><p>Text.</p><a href="/a">A</a>`, r.URL.Path)
	}))
	defer site.Close()
	if err := crawlOnce(site.URL); err != nil {
		fmt.Println(err)
	}
	// Output: 2 pages, 2 documents
}

func crawlOnce(siteURL string) (err error) {
	dir, err := os.MkdirTemp("", "crawl-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, config.FileName)
	text := `<CrawlConfig><Crawler name="docs" throttleTimeMS="0"><Root url="` + siteURL + `/"/></Crawler></CrawlConfig>`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	file, report, err := config.Load(path)
	if err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := service.Open(ctx, service.Options{
		Path: path, File: file, Crawlers: file.Crawlers, Data: filepath.Join(dir, "data"),
		Listen: "off", Log: slog.New(slog.DiscardHandler), Agent: "ExampleBot/1.0 (+https://example.com/bot)",
	})
	if err != nil {
		return err
	}
	if err := s.Run(ctx, crawl.Once{Drain: true}); err != nil {
		return err
	}
	status, err := s.Crawlers()[0].Status(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d pages, %d documents\n", status.Totals.Pages, status.Indexed)
	return s.Close()
}
