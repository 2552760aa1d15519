package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/copysites"
	"github.com/sextant-crawler/sextant/internal/testport"
)

// profiledConfig is what a crawl does that has one host to itself: all that is on by default,
// some rules, and the file target.
const profiledConfig = `<CrawlConfig>
  <Crawler name="profile" nthreads="32" aggressive="true" maxConnectionsPerHost="32">
    <Root url="%s/"/>
    <Rules key="auto">
      <Rule><Or><Path val="/never/"/><Ext val=".zip"/></Or><Ignore/></Rule>
      <Rule><And><Path val="/1"/><Not><InQuery val="page"/></Not></And><AddMeta name="kind" value="one"/></Rule>
    </Rules>
    <Push kind="file"/>
  </Crawler>
</CrawlConfig>`

// TestProfile writes a profile of a crawl to the file that SEXTANT_PROFILE names: make profile
// does, for what compiles releases.
func TestProfile(t *testing.T) {
	file := os.Getenv("SEXTANT_PROFILE")
	if file == "" {
		t.Skip("make profile runs it")
	}
	site := httptest.NewServer(profiledSite())
	defer site.Close()
	dir, address := t.TempDir(), testport.Reserve(t)
	config := filepath.Join(dir, "CrawlConfig.xml")
	if err := os.WriteFile(config, fmt.Appendf(nil, profiledConfig, site.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	crawl := process(t, "run", "--listen=off", "--pprof="+address, "-c", config, "-d", filepath.Join(dir, "data"))
	crawl.Stderr = os.Stderr
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- crawl.Wait() }()
	defer func() {
		_ = crawl.Process.Kill()
		t.Log("the crawl that was killed:", <-ended)
	}()
	var answer *http.Response
	for answer == nil {
		var err error
		if answer, err = http.Get("http://" + address + "/debug/pprof/profile?seconds=25"); err == nil {
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the crawl ended: %v", err)
		case <-time.After(50 * time.Millisecond): // it has not begun to listen
		}
	}
	defer answer.Body.Close()
	profile, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %.200s (%v)", answer.Status, profile, err)
	}
	if err := os.WriteFile(file, profile, 0o644); err != nil { //nolint:gosec // it is part of the sources
		t.Fatal(err)
	}
}

// profiledSite has pages without end, of about 700 words and with twenty links, most of which
// lead to pages that are known.
func profiledSite() http.Handler {
	texts := copysites.Site(copysites.Layout{Host: "profile.example", Frame: 200, Own: 500, Pages: 1000, Seed: 1})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi("0" + strings.Trim(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		text := &texts[n%len(texts)]
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><head><title>Page %d of %s</title><meta name=description content=\"About %d\"></head><body>", n, text.Title, n)
		for i, word := range strings.Fields(text.Text) {
			switch {
			case i%35 == 0 && i/35 < 2:
				fmt.Fprintf(w, "</p><p class=\"text\"><a href=\"/%d\">", 2*n+i/35+1)
			case i%35 == 0:
				fmt.Fprintf(w, "</p><p class=\"text\"><a href=\"/%d\">", (n*7+i)%(n+1))
			case i%35 == 3:
				_, _ = io.WriteString(w, "</a>")
			}
			_, _ = io.WriteString(w, word+" ")
		}
		_, _ = io.WriteString(w, "</body></html>")
	})
}
