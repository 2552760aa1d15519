package funnelback

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type seen struct {
	line, kind, body string
	metas            map[string][]string
}

func pushTo(t *testing.T, change func(*Settings), es ...push.Entry) []seen {
	t.Helper()
	var all []seen
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s := seen{line: r.Method + " " + r.RequestURI, kind: r.Header.Get("Content-Type"), body: string(body)}
		for name, values := range r.Header {
			if meta, ok := strings.CutPrefix(name, metaHeader); ok {
				if s.metas == nil {
					s.metas = map[string][]string{}
				}
				s.metas[strings.ToLower(meta)] = values
			}
		}
		all = append(all, s)
	}))
	defer srv.Close()
	set := Settings{Collection: "c", Server: wire.Settings{URL: srv.URL}}
	if change != nil {
		change(&set)
	}
	target, err := New(set)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if refused, err := target.Push(t.Context(), pushtest.Numbered(1, es...)); err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	for range 2 { // the second has nothing to commit
		if err := target.Checkpoint(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestOnTheWire(t *testing.T) {
	page := pushtest.DocumentEntry(push.Document{
		URL: "http://h/é?a=b&c", Source: "news", Title: "A < \"B\"\r\nX: y", Text: "1 & <2>", Language: "de\">", Depth: 3,
		Metas: map[string][]string{"author": {"A", "Ü\nB"}, "é ": {"lost"}, "drop": {"x"}, "long": {strings.Repeat("x", 7000)}, "empty": {""}},
	})
	raw := pushtest.DocumentEntry(push.Document{URL: "http://h/raw", Content: []byte{0, 1}, ContentType: "application/pdf"})
	odd := pushtest.DocumentEntry(push.Document{URL: "http://h/odd", Content: []byte{2}, ContentType: "a\r\nB: c"})
	got := pushTo(t, func(s *Settings) {
		s.Filters, s.Fields = "None", wire.Names{"meta:drop": "", "source": "origin", "fetched_at": ""}
	}, page, raw, odd, pushtest.Del("http://h/é"))
	want := []seen{
		{
			"PUT /push-api/v2/collections/c/documents?filters=None&key=http%3A%2F%2Fh%2F%C3%A9%3Fa%3Db%26c", "text/html; charset=UTF-8",
			"<!DOCTYPE html>\n<html lang=\"de&#34;&gt;\"><head><meta charset=\"UTF-8\"><title>A &lt; &#34;B&#34;\r\nX: y</title></head><body>1 &amp; &lt;2&gt;</body></html>\n",
			map[string][]string{"author": {"A", "Ü B"}, "title": {"A < \"B\" X: y"}, "origin": {"news"}, "language": {"de\">"}, "depth": {"3"}},
		},
		{"PUT /push-api/v2/collections/c/documents?filters=None&key=http%3A%2F%2Fh%2Fraw", "application/pdf", "\x00\x01", map[string][]string{"depth": {"0"}}},
		{"PUT /push-api/v2/collections/c/documents?filters=None&key=http%3A%2F%2Fh%2Fodd", "application/octet-stream", "\x02", map[string][]string{"depth": {"0"}}},
		{"DELETE /push-api/v2/collections/c/documents?key=http%3A%2F%2Fh%2F%C3%A9", "", "", nil},
		{"POST /push-api/v2/collections/c/commit", "", "", nil},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(seen{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoCommit(t *testing.T) {
	got := pushTo(t, func(s *Settings) { s.NoCommit = true }, pushtest.Del("http://h/"))
	if len(got) != 1 {
		t.Errorf("requests %v", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, s := range []Settings{{}, {Collection: "c"}, {Collection: "..", Server: wire.Settings{URL: "http://h"}}} {
		if _, err := New(s); err == nil || !strings.Contains(err.Error(), "the funnelback target") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
