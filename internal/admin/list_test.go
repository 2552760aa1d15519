package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/compare"
	"github.com/sextant-crawler/sextant/internal/report"
)

// TestPages: a list taken in pages of any size is the list, in its order.
func TestPages(t *testing.T) {
	d := openDoor(t, nil, nil)
	whole := func(path string) []string {
		r := d.request(t, "GET", path, d.reader, "")
		r.Header.Set("Accept", jsonLines)
		answer, body := d.do(t, r)
		if answer.Header.Get("Content-Type") != jsonLines {
			t.Errorf("%s: %s", path, answer.Header.Get("Content-Type"))
		}
		var lines []string
		for line := range strings.Lines(body) {
			lines = append(lines, strings.TrimSpace(line))
		}
		return lines
	}
	for path, want := range map[string]int{"/api/v1/urls?crawler=a": 3, "/api/v1/outbox?crawler=a": 2, "/api/v1/deletions?crawler=a": 3, "/api/v1/deletions?host=b.test": 2, "/api/v1/urls?host=a.test": 2} {
		all := whole(path)
		if len(all) != want {
			t.Errorf("%s: %d entries, want %d", path, len(all), want)
		}
		if strings.Contains(path, "/deletions") {
			slices.Reverse(all) // a page has the newest first
		}
		for limit := 1; limit <= 4; limit++ {
			var got []string
			for cursor, pages := "", 0; ; pages++ {
				answer, body := d.do(t, d.request(t, "GET", fmt.Sprintf("%s&limit=%d&cursor=%s", path, limit, url.QueryEscape(cursor)), d.reader, ""))
				var page struct {
					Items []json.RawMessage
					Next  string
				}
				if err := json.Unmarshal([]byte(body), &page); err != nil || answer.StatusCode != http.StatusOK || len(page.Items) > limit || pages > len(all) {
					t.Fatalf("%s, page %d: %d %s", path, pages, answer.StatusCode, body)
				}
				for _, item := range page.Items {
					got = append(got, string(item))
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if !slices.Equal(got, all) {
				t.Errorf("%s in pages of %d:\n%q\nwant\n%q", path, limit, got, all)
			}
		}
	}
	if got := whole("/api/v1/urls?limit=2"); len(got) != 2 {
		t.Errorf("two lines: %q", got)
	}
}

// TestBusy: while as many long requests run as may, another is sent away, and short
// ones are answered.
func TestBusy(t *testing.T) {
	var s *Server
	d := openDoor(t, nil, func(made *Server) { s = made })
	for s.heavy.take(maxHeavyReaders) {
	}
	answer, body := d.do(t, d.request(t, "GET", "/api/v1/verify", d.reader, ""))
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(body, `"code":"busy"`) {
		t.Errorf("verify: %d %s", answer.StatusCode, body)
	}
	if answer, _ := d.do(t, d.request(t, "GET", "/api/v1/status", d.reader, "")); answer.StatusCode != http.StatusOK {
		t.Errorf("status: %d", answer.StatusCode)
	}
	s.heavy.free()
	if answer, body := d.do(t, d.request(t, "GET", "/api/v1/verify", d.reader, "")); answer.StatusCode != http.StatusOK {
		t.Errorf("verify with room: %d %s", answer.StatusCode, body)
	}
}

// FuzzRequests: whatever a body, a filter or a cursor holds, it is read or refused.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"urls":["http://a.test/"],"match":"<Path val=\"/a\"/>","all":true}`, `{} {}`, `status=404&class=ok&fifo=3&host=h&cursor=00ff`,
		"cursor=dead.7", "cursor=waiting.18446744073709551616", "http://a/ crawl fifo=index # c\n\"", "limit=-1", "since=2w&top=-1&pages=9e9",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, into := range []any{new(Selection), new(urlList), new(DeadLetters), new(DeletionQuery), new(ExplainRequest), new(compare.Options), new(PreviewRequest)} {
			if err := decodeBody([]byte(text), into); err == nil {
				written, err := json.Marshal(into)
				if err != nil {
					t.Fatal(err)
				}
				if err := decodeBody(written, into); err != nil {
					t.Errorf("%s is not read again: %v", written, err)
				}
			}
		}
		q, _ := url.ParseQuery(text)
		_, _ = report.ParseFilter(q)
		if k, err := parseKey(q.Get("cursor")); err == nil && k.String() != strings.ToLower(q.Get("cursor")) {
			t.Errorf("the key %q became %s", q.Get("cursor"), k)
		}
		if o, err := parseOrderCursor(q.Get("cursor")); err == nil && q.Get("cursor") != "" {
			if again, err := parseOrderCursor(o.String()); err != nil || again != o {
				t.Errorf("the cursor %v became %v, %v", o, again, err)
			}
		}
		_, _ = parseSeq(q.Get("cursor"))
		cases, errs := ParseCases("cases", text)
		if len(errs) == 0 && len(cases) > 1+strings.Count(text, "\n") {
			t.Errorf("%d cases in %q", len(cases), text)
		}
	})
}

// TestGoneReader: a list whose reader goes away, as head does, is nothing to warn of; one
// that fails by itself is.
func TestGoneReader(t *testing.T) {
	for _, gone := range []bool{true, false} {
		var log strings.Builder
		s := &Server{log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		if gone {
			cancel()
		}
		func() {
			defer func() { _ = recover() }() // the connection is broken
			_, _ = s.stream(&call{w: httptest.NewRecorder(), r: httptest.NewRequestWithContext(ctx, "GET", "/", nil)}, "a list", func(w io.Writer) error {
				_, _ = io.WriteString(w, "line\n")
				return errors.New("the end")
			})
		}()
		cancel()
		if got := strings.Contains(log.String(), "a list broke off"); got == gone {
			t.Errorf("gone %t: the log has %q", gone, log.String())
		}
	}
}
