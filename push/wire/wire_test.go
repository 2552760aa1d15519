package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testpermit"
	"github.com/sextant-crawler/sextant/push"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, s Settings, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	s.URL = srv.URL + s.URL
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRequestOnTheWire(t *testing.T) {
	var got *http.Request
	var body []byte
	c := open(t, Settings{
		URL: "/below/", User: "ann", Password: secret.New("pass"), Gzip: true,
		Headers: []Header{{"X-Key", secret.New("k")}},
	}, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		z, err := gzip.NewReader(r.Body)
		if err == nil {
			body, err = io.ReadAll(z)
		}
		if err != nil {
			t.Error(err)
		}
	})
	_, err := c.Do(t.Context(), Request{Name: "put", Method: http.MethodPut, Path: "/a%2Fb", Query: map[string][]string{"q": {"ü&"}},
		ContentType: "text/x", Body: []byte(strings.Repeat("body ", 1000)), Header: http.Header{"X-Own": {"1", "2"}}})
	if err != nil {
		t.Fatal(err)
	}
	user, password, _ := got.BasicAuth()
	words := fmt.Sprint(got.Method, " ", got.RequestURI, " ", got.Header["X-Key"], got.Header["X-Own"], got.Header["Content-Type"], user, password, len(body))
	if want := "PUT /below/a%2Fb?q=%C3%BC%26 [k] [1 2] [text/x]annpass5000"; words != want {
		t.Errorf("%s\nwant %s", words, want)
	}
}

func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		header string
		body   string
		want   string // in the error
		unfit  bool
	}{
		"fine":         {200, "", "yes", "", false},
		"no content":   {204, "", "", "", false},
		"redirect":     {307, "Location: http://elsewhere.test/", "", "a redirect: write the address that it leads to as url", false},
		"unauthorized": {401, "", "no", "check the user and password", false},
		"forbidden":    {403, "", "no", "lacks permission", false},
		"not found":    {404, "", "no", "check url", false},
		"bad":          {400, "", "<e>bad date</e>", `"bad date"`, true},
		"too large":    {413, "", "", "413", true},
		"unprocesssed": {422, "", "", "422", true},
		"long":         {200, "", strings.Repeat("x", MaxAnswer+1), "longer than 65536 bytes", false},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			c := open(t, Settings{User: "ann", Password: secret.New("pass")}, func(w http.ResponseWriter, r *http.Request) {
				calls++
				if key, value, ok := strings.Cut(tt.header, ": "); ok {
					w.Header().Set(key, value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			body, err := c.Do(t.Context(), Request{Name: "do", Method: http.MethodPost, Body: []byte("x")})
			if tt.want == "" {
				if err != nil || string(body) != tt.body {
					t.Errorf("%q, %v", body, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pass ") || calls != 1 {
				t.Errorf("after %d calls: %v", calls, err)
			}
			if status, ok := errors.AsType[*StatusError](err); ok {
				if _, unfit := errors.AsType[*Unfit](status.Unfit("")); unfit != tt.unfit {
					t.Errorf("unfit is %t", unfit)
				}
			}
		})
	}
}

// A server that is silent, before its answer or in it, is given up and tried again;
// one that is merely slow is not.
func TestSilence(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script []slow // of one request after the other
		want   string // the answer, or in the error
		calls  int
	}{
		{"before the answer", []slow{{before: time.Hour}, {words: 4, between: 8 * time.Second}}, "word word word word ", 2},
		{"slow", []slow{{before: 9 * time.Second, words: 100, between: 9 * time.Second}}, strings.Repeat("word ", 100), 1},
		{"in the answer", []slow{{words: 2, between: time.Hour}}, "sent nothing for 10s", 1},
		{"always", []slow{{before: time.Hour}, {before: time.Hour}}, "sent nothing for 10s", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				c, err := New(Settings{URL: "http://h", Timeout: 10 * time.Second, Retries: 1, Transport: answering(func(r *http.Request) (*http.Response, error) {
					s := tt.script[calls]
					calls++
					s.ctx = r.Context()
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&s)}, s.sleep(s.before)
				})})
				if err != nil {
					t.Fatal(err)
				}
				body, err := c.Do(t.Context(), Request{Name: "do", Method: http.MethodGet})
				got := string(body)
				if err != nil {
					got = err.Error()
				}
				if !strings.Contains(got, tt.want) || calls != tt.calls {
					t.Errorf("%q after %d calls", got, calls)
				}
			})
		})
	}
}

// slow is a body of words with pauses between them, which end with the request.
type slow struct {
	ctx             context.Context
	before, between time.Duration
	words           int
}

func (s *slow) sleep(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *slow) Read(b []byte) (int, error) {
	if s.words == 0 {
		return 0, io.EOF
	}
	s.words--
	if err := s.sleep(s.between); err != nil {
		return 0, err
	}
	return copy(b, "word "), nil
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Settings{URL: "http://h", MaxRequestsPerS: 10, Transport: answering(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for range 21 {
			if _, err := c.Do(t.Context(), Request{Name: "do", Method: http.MethodGet}); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(begun); d != 2*time.Second {
			t.Errorf("21 requests took %s, want 2s", d)
		}
	})
}

type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func TestNewRefuses(t *testing.T) {
	for _, address := range []string{"", "http://", "h:1", "ftp://h", "http://h/?a", "http://ann:s3kr1t@h/", "http://ann:s3kr1t@h\x00/", "http://h/#a"} {
		if _, err := New(Settings{URL: address}); err == nil || strings.Contains(err.Error(), "s3kr1t") {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a\x00"} {
		if _, err := Segment("index", name); err == nil {
			t.Errorf("segment %q was accepted", name)
		}
	}
}

// TestSpread: whatever the limits and whatever is unfit, each entry is sent, those of
// one URL in order and never at once, and what is refused is what is unfit.
func TestSpread(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		var entries []push.Entry
		bad := map[uint64]bool{}
		for i := range rapid.IntRange(0, 40).Draw(t, "entries") {
			e := push.Entry{Seq: uint64(i + 1), URL: rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "url")}
			bad[e.Seq] = rapid.IntRange(0, 5).Draw(t, "bad") == 0
			entries = append(entries, e)
		}
		limits := Limits{rapid.IntRange(0, 5).Draw(t, "count"), rapid.IntRange(0, 9).Draw(t, "bytes"), rapid.IntRange(0, 4).Draw(t, "requests")}
		var mu sync.Mutex
		busy, last, sent := map[string]bool{}, map[string]uint64{}, map[uint64]bool{}
		send := func(_ context.Context, items []Item) ([]push.Refusal, error) {
			mu.Lock()
			unfit := false
			for _, item := range items {
				if busy[item.URL] || last[item.URL] > item.Seq {
					t.Errorf("%s: %d after %d, busy %t", item.URL, item.Seq, last[item.URL], busy[item.URL])
				}
				busy[item.URL], last[item.URL] = true, item.Seq
				unfit = unfit || bad[item.Seq]
			}
			mu.Unlock()
			mu.Lock()
			defer mu.Unlock()
			for _, item := range items {
				busy[item.URL] = false
				sent[item.Seq] = sent[item.Seq] || !unfit
			}
			if unfit {
				return nil, &Unfit{Words: "bad", Err: errors.New("bad")}
			}
			return nil, nil
		}
		refused, err := new(Endpoint).Spread(context.Background(), entries, limits, func(push.Entry) ([]byte, error) { return []byte("xxx"), nil }, send)
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint64]bool{}
		for _, r := range refused {
			got[r.Seq] = true
		}
		for _, e := range entries {
			if sent[e.Seq] == bad[e.Seq] || got[e.Seq] != bad[e.Seq] {
				t.Errorf("%d: sent %t, refused %t, bad %t", e.Seq, sent[e.Seq], got[e.Seq], bad[e.Seq])
			}
		}
		if !slices.IsSortedFunc(refused, func(a, b push.Refusal) int { return int(a.Seq) - int(b.Seq) }) {
			t.Errorf("refusals %v", refused)
		}
	})
}

func TestSpreadEnds(t *testing.T) {
	entries := []push.Entry{{Seq: 1, URL: "a"}, {Seq: 2, URL: "b"}, {Seq: 3, URL: "a"}}
	calls := 0
	_, err := new(Endpoint).Spread(t.Context(), entries, Limits{Count: 1}, func(push.Entry) ([]byte, error) { return nil, nil },
		func(context.Context, []Item) ([]push.Refusal, error) { calls++; return nil, errors.New("down") })
	if err == nil || calls > 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
	refused, err := new(Endpoint).Spread(t.Context(), entries, Limits{}, func(e push.Entry) ([]byte, error) {
		if e.URL == "a" {
			return nil, errors.New("no JSON")
		}
		return []byte("b"), nil
	}, func(_ context.Context, items []Item) ([]push.Refusal, error) {
		if len(items) != 1 || items[0].URL != "b" || string(Join(items)) != "b" {
			t.Errorf("sent %v", items)
		}
		return nil, nil
	})
	if want := []push.Refusal{{Seq: 1, Words: "no JSON"}, {Seq: 3, Words: "no JSON"}}; err != nil || !cmp.Equal(refused, want) {
		t.Errorf("%v, %v", refused, err)
	}
}

func TestNames(t *testing.T) {
	d := &push.Document{
		URL: "http://h/", Title: "T", Text: "words", Content: []byte("<p>"), Depth: 0, Hash: "ab",
		FetchedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)),
		Metas:     map[string][]string{"author": {"A", "B"}, "secret": {"x"}, "k": {"v"}, "none": nil},
	}
	got := Names{"title": "dc_title", "text": "", "meta:author": "creator", "meta:secret": "", "hash": "dc_title"}.Fields(d, nil)
	want := map[string]any{
		"url": "http://h/", "dc_title": []any{"T", "ab"}, "content": []byte("<p>"), "depth": 0, "fetched_at": "2025-01-02T02:04:05Z",
		"creator": []string{"A", "B"}, "metas": map[string][]string{"k": {"v"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = Names{"meta:author": "title"}.Over(Names{"depth": "", "url": "id"}).Fields(d, func(name string) string {
		if name == "k" {
			return ""
		}
		return "m_" + name
	})
	keys := strings.Join(slices.Sorted(maps.Keys(got)), " ")
	if want := "content fetched_at hash id m_secret text title"; keys != want || !cmp.Equal(got["title"], []any{"T", "A", "B"}) {
		t.Errorf("fields %s, want %s; title %v", keys, want, got["title"])
	}
	if got := (Names{"metas": ""}).Fields(d, nil); got["metas"] != nil {
		t.Errorf("metas %v were to be dropped", got["metas"])
	}
	for name, ok := range map[string]bool{"title": true, "metas": true, "meta:x": true, "meta:": false, "Title": false, "": false} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestNothingIsSentWithoutPermit: no request, and no repetition of one, though the timer of its context has not
// fired yet.
func TestNothingIsSentWithoutPermit(t *testing.T) {
	p := testpermit.New()
	var asked atomic.Int32
	c := open(t, Settings{Retries: 3, RetryWait: time.Millisecond, RetryWaitMax: time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		p.Expire()
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	for want := range int32(2) {
		ctx, end, err := permit.Begin(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if want == 0 {
			p.Expire()
		}
		if _, err = c.Do(ctx, Request{Name: "put", Method: http.MethodPut, Body: []byte("b")}); !permit.Ended(t.Context(), ctx, err) {
			t.Errorf("%v, want the end of the permit", err)
		}
		if n := asked.Load(); n != want {
			t.Errorf("the indexer was asked %d times, want %d", n, want)
		}
		end()
		p.Give()
	}
}
