package admin

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
)

// Orders gives one waiting document and one dead letter.
func (f fakeReports) Orders(_ context.Context, sel push.Selection, fn func(push.Listed) error) error {
	at := time.Unix(1, 0).UTC()
	waits := push.Listed{State: push.Waiting, Bytes: 5, Entry: push.Entry{Seq: 1, URL: "http://a/1", Source: "s", At: at}}
	dead := push.Listed{
		State: push.DeadLetter, Bytes: 6, Entry: push.Entry{Seq: 2, Op: push.Delete, URL: "http://a/2"},
		Target: "papi", Words: "no", RefusedAt: at,
	}
	for _, l := range []push.Listed{waits, dead} {
		if sel.State != "" && sel.State != l.State || sel.Target != "" && sel.Target != l.Target || len(sel.URLs) > 0 && sel.URLs[0] != l.URL ||
			sel.Source != nil && *sel.Source != l.Source {
			continue
		}
		if err := fn(l); err != nil {
			return err
		}
	}
	return f.broken
}

func (f fakeCrawler) RetryDead(_ context.Context, sel push.Selection) (int, error) {
	return 20 + len(sel.URLs), f.broken
}

func (f fakeCrawler) DropDead(_ context.Context, sel push.Selection) (int, error) {
	return 30 + len(sel.URLs), f.broken
}

func TestOutboxOfService(t *testing.T) {
	data, _ := serve(t, fakeCrawler{name: "a", store: storeWith(t)})
	a := dial(t, data, "a")
	at := time.Unix(1, 0).UTC()
	one := push.Listed{State: push.Waiting, Bytes: 5, Entry: push.Entry{Seq: 1, URL: "http://a/1", Source: "s", At: at}}
	two := push.Listed{
		State: push.DeadLetter, Bytes: 6, Entry: push.Entry{Seq: 2, Op: push.Delete, URL: "http://a/2"},
		Target: "papi", Words: "no", RefusedAt: at,
	}
	for _, c := range []struct {
		query url.Values
		want  []push.Listed
	}{
		{nil, []push.Listed{one, two}},
		{url.Values{"state": {"waiting"}}, []push.Listed{one}},
		{url.Values{"target": {"papi"}}, []push.Listed{two}},
		{url.Values{"source": {""}}, []push.Listed{two}},
		{url.Values{"url": {"http://a/1"}}, []push.Listed{one}},
	} {
		var got []push.Listed
		err := Each(t.Context(), a, "/outbox", c.query, func(o push.Listed) error { got = append(got, o); return nil })
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("%v: %v (-want +got):\n%s", c.query, err, d)
		}
	}
	var many DeadLetters
	for range 2500 {
		many.URLs = append(many.URLs, "http://a/1")
	}
	if n, err := a.DecideLetters(t.Context(), "retry", many); err != nil || n < 2500 {
		t.Errorf("RetryDead of many URLs: %d, %v", n, err)
	}
	if n, err := a.DecideLetters(t.Context(), "drop", DeadLetters{All: true}); err != nil || n != 30 {
		t.Errorf("DropDead: %d, %v", n, err)
	}
	s := NewServer([]Crawler{fakeCrawler{name: "a", store: storeWith(t)}}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	r := ownerRequest(t, "outbox?state=gone", "")
	r.Method = http.MethodGet
	s.answer(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "waiting, pending or dead") {
		t.Errorf("a state that is none: %d %s", w.Code, w.Body)
	}
}
