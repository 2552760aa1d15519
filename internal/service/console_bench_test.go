package service

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// BenchmarkConsole measures how long pages of the console take, up to the last
// byte, with many URLs that wait on a tenth as many hosts; the crawl is paused.
// SEXTANT_BENCH_URLS says how many URLs.
func BenchmarkConsole(b *testing.B) {
	urls := 10_000
	if s := os.Getenv("SEXTANT_BENCH_URLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		urls = n
	}
	client := serveMany(b, urls)
	for _, path := range []string{"/", "/hosts", "/hosts?show=resting", "/hosts/" + url.PathEscape("http://h7.test"), "/api/v1/history"} {
		b.Run("page="+path, func(b *testing.B) {
			for b.Loop() {
				answer, err := client.Get("http://localhost" + path)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, answer.Body)
				if err = closing(answer.Body, err); err != nil || answer.StatusCode != http.StatusOK || n < 100 {
					b.Fatalf("%s: %d, %d bytes, %v", path, answer.StatusCode, n, err)
				}
			}
		})
	}
}

func closing(c io.Closer, err error) error {
	if closed := c.Close(); err == nil {
		err = closed
	}
	return err
}

// serveMany runs a paused service whose store has URLs, and gives an operator's
// client.
func serveMany(b *testing.B, urls int) *http.Client {
	b.Helper()
	dir, err := os.MkdirTemp("", "sextant") // short enough for a socket
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, config.FileName)
	const text = `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21"><Crawler name="many"><Root url="http://h1.test/"/><Rules/></Crawler></CrawlConfig>`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	parsed, report, err := config.Load(path)
	if err != nil || parsed == nil {
		b.Fatal(err, report)
	}
	data := filepath.Join(dir, "data")
	s, err := Open(b.Context(), Options{
		Path: path, File: parsed, Crawlers: parsed.Crawlers, Data: data, Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Access: &admin.AccessSettings{},
	})
	if err != nil {
		b.Fatal(err)
	}
	fill(b, s.crawls[0].store, urls)
	ctx := context.Background() // that of b ends before its cleanups
	if err := s.crawls[0].Pause(ctx); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, crawl.Once{}) }()
	b.Cleanup(func() {
		s.Stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	// Over the socket nobody is slowed down.
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", admin.SocketPath(data))
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}
}

// fill adds URLs on a tenth as many hosts.
func fill(b *testing.B, store scheduler.Store, urls int) {
	b.Helper()
	var links []scheduler.Link
	for i := range urls {
		u, err := weburl.Parse(fmt.Sprintf("http://h%d.test/%d", i%(urls/10), i))
		if err != nil {
			b.Fatal(err)
		}
		links = append(links, scheduler.Link{URL: u, Fifo: scheduler.Source(i % int(scheduler.Refresh))})
		if len(links) == 5000 || i == urls-1 {
			if _, _, err := store.Add(b.Context(), links, false); err != nil {
				b.Fatal(err)
			}
			links = links[:0]
		}
	}
}
