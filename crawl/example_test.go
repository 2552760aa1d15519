package crawl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// A program asks the rules of a configuration about a URL, without a store and without a
// request.
func Example_decide() {
	file, report := config.Parse("CrawlConfig.xml", []byte(`<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21">
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

// printer is a target that prints what it gets.
type printer struct{}

// Name implements push.Target, as do the others.
func (printer) Name() string { return "printer" }

// Push prints an entry a line.
func (printer) Push(_ context.Context, entries []push.Entry) ([]push.Refusal, error) {
	for _, e := range entries {
		var document push.Document
		if e.Op == push.Add {
			if err := json.Unmarshal(e.Body, &document); err != nil {
				return nil, err
			}
		}
		fmt.Println(e.Op, document.Title)
	}
	return nil, nil
}

// Checkpoint has nothing to wait for.
func (printer) Checkpoint(context.Context, uint64) error { return nil }

// Close has nothing to close.
func (printer) Close() error { return nil }

// A program crawls a site until nothing is left, gets the documents, and looks at the figures.
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
	dir, err := os.MkdirTemp("", "crawl-")
	if err == nil {
		err = errors.Join(crawlOnce(context.Background(), site.URL, dir), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// add Page /
	// add Page /a
	// 2 pages, 2 documents
}

func crawlOnce(ctx context.Context, siteURL, dir string) (err error) {
	file, report := config.Parse("CrawlConfig.xml", []byte(`<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21">
	  <Crawler name="docs" throttleTimeMS="0"><Root url="`+siteURL+`/"/></Crawler>
	</CrawlConfig>`), config.Lookups{})
	if err := report.Err(); err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	urls, err := store.Open(filepath.Join(dir, "store"), store.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, urls.Close()) }()
	relay, err := push.NewRelay(urls.Outbox(), []push.TargetSettings{{Target: printer{}}}, log)
	if err != nil {
		return err
	}
	settings := file.Crawlers[0].Settings
	settings.Fetcher.UserAgent = "ExampleBot/1.0 (+https://example.com/bot)"
	docs, err := crawl.New(ctx, settings, urls, relay, log)
	if err != nil {
		return err
	}
	if err := docs.Run(ctx, crawl.Once{Drain: true}); err != nil {
		return err
	}
	status, err := docs.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d pages, %d documents\n", status.Totals.Pages, status.Indexed)
	return nil
}
