package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/copysites"
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
	dir := t.TempDir()
	config := filepath.Join(dir, "CrawlConfig.xml")
	if err := os.WriteFile(config, fmt.Appendf(nil, profiledConfig, site.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	crawl := process(t, "run", "--listen=off", "-c", config, "-d", data)
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
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", admin.SocketPath(data))
	}}}
	var answer *http.Response
	for {
		var err error
		if answer, err = client.Get("http://localhost/debug/pprof/profile?seconds=25"); err == nil && answer.StatusCode == http.StatusOK {
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the crawl ended: %v", err)
		case <-time.After(50 * time.Millisecond): // it has not begun to answer
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

// profiledSite has unlimited pages of about 700 words and twenty links, mostly to known pages. It takes little time
// itself.
func profiledSite() http.Handler {
	texts := copysites.Site(copysites.Layout{Host: "profile.example", Frame: 200, Own: 500, Pages: 1000, Seed: 1})
	pages := make([][]string, len(texts)) // each is cut where the number of a link goes
	for i := range texts {
		pages[i] = profiledPage(texts[i].Text)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi("0" + strings.Trim(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		page := fmt.Appendf(make([]byte, 0, 8<<10), "<!DOCTYPE html><html lang=en><head><title>Page %[1]d of %[2]s</title><meta name=description content=\"About %[1]d\"></head><body>", n, texts[n%len(texts)].Title)
		for i, part := range pages[n%len(pages)] {
			switch {
			case i > 0 && i <= 2:
				page = strconv.AppendInt(page, int64(2*n+i), 10)
			case i > 2:
				page = strconv.AppendInt(page, int64((n*7+35*(i-1))%(n+1)), 10)
			}
			page = append(page, part...)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page) // a crawl that is killed reads no more
	})
}

// profiledPage has a link each 35 words.
func profiledPage(text string) (parts []string) {
	var part strings.Builder
	for i, word := range strings.Fields(text) {
		switch i % 35 {
		case 0:
			part.WriteString(`</p><p class="text"><a href="/`)
			parts = append(parts, part.String())
			part.Reset()
			part.WriteString(`">`)
		case 3:
			part.WriteString("</a>")
		}
		part.WriteString(word + " ")
	}
	return append(parts, part.String()+"</body></html>")
}
