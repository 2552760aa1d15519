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
	"strconv"
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

// TestTotals: a page has the length of its list, wherever it begins; of a long list not all is counted.
func TestTotals(t *testing.T) {
	for _, c := range []struct{ items, before, total, visited int }{
		{3, 0, 3, 3}, {3, 2, 3, 3}, {0, 0, 0, 0},
		{MostCounted + 500, 0, MostCounted, MostCounted},
		{MostCounted + 500, MostCounted + 100, MostCounted + 104, MostCounted + 104},
		{MostCounted + 500, MostCounted + 499, MostCounted + 500, MostCounted + 500},
	} {
		w, visited := httptest.NewRecorder(), 0
		asked := &call{w: w, r: httptest.NewRequest(http.MethodGet, "/", nil), query: url.Values{"limit": {"2"}}}
		page, err := list(nil, asked, "", func(fn func(any, string) error) error {
			for visited < c.items {
				var item any
				if visited >= c.before {
					item = visited
				}
				visited++
				if err := fn(item, "next"); err != nil {
					return err
				}
			}
			return nil
		})
		if p, ok := page.(Page); err != nil || !ok || p.Total != c.total || visited != c.visited ||
			w.Header().Get(TotalHeader) != strconv.Itoa(c.total) || len(p.Items) != min(2, c.items-c.before) {
			t.Errorf("%+v: %+v, %d visited, %v, %v", c, page, visited, w.Header(), err)
		}
	}
	d := openDoor(t, nil, nil)
	for path, want := range map[string]string{
		"outbox?limit=1": "2", "outbox?limit=1&cursor=dead.0": "2", "outbox?state=dead": "1", "hosts/ill": "3", "hosts": "7",
		"urls?sort=url&limit=1": "3", "config/versions": "0",
	} {
		answer, body := d.do(t, d.request(t, "GET", "/api/v1/"+path, d.operator, ""))
		if got := answer.Header.Get(TotalHeader); got != want {
			t.Errorf("%s: %d, total %q, want %q: %s", path, answer.StatusCode, got, want, body)
		}
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
