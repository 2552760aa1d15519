package solr

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pushTo(t *testing.T, answer string, change func(*Settings), es ...push.Entry) (uri, body string, refused []push.Refusal, err error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		uri, body = r.RequestURI, string(b)
		if strings.HasPrefix(answer, `{"error"`) {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	set := Settings{Collection: "web", MetaPrefix: "meta_", MetaSuffix: "_ss", Server: wire.Settings{URL: srv.URL + "/solr/"}}
	if change != nil {
		change(&set)
	}
	target, err := New(set)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	refused, err = target.Push(t.Context(), pushtest.Numbered(1, es...))
	return uri, body, refused, err
}

const fine = `{"responseHeader":{"status":0}}`

func TestOnTheWire(t *testing.T) {
	page := pushtest.DocumentEntry(push.Document{
		URL: "http://h/a", Title: "T", Text: "words", Content: []byte("x"), LastModified: "2026-01-02T03:04:05Z",
		FetchedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600)), Depth: 1,
		Metas: map[string][]string{"dc.title": {"D"}, "é": {"lost"}, "k": {"1", "2"}},
	})
	uri, body, refused, err := pushTo(t, fine, func(s *Settings) {
		s.CommitWithin, s.IDField, s.Fields = 1500*time.Millisecond, "key", wire.Names{"title": "head", "meta:k": "kk_ss"}
	}, page, pushtest.Del("http://h/b"))
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	if want := "/solr/web/update?commitWithin=1500&wt=json"; uri != want {
		t.Errorf("%s, want %s", uri, want)
	}
	var got any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"add": map[string]any{"doc": map[string]any{
			"key": "http://h/a", "url_s": "http://h/a", "head": "T", "text_t": "words", "last_modified_dt": "2026-01-02T03:04:05Z",
			"fetched_at_dt": "2026-01-02T02:04:05.000006Z", "depth_i": 1.0, "meta_dc_title_ss": []any{"D"}, "kk_ss": []any{"1", "2"},
		}},
		"delete": map[string]any{"id": "http://h/b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct{ answer, refused, err string }{
		"fine":         {fine, "", ""},
		"refused":      {`{"error":{"msg":"ERROR: [doc=x]\nbad","code":400}}`, "ERROR: [doc=x] bad", ""},
		"bad status":   {`{"responseHeader":{"status":3}}`, "", "status 3"},
		"other server": {`{"ok":true}`, "", "ending in /solr"},
		"page":         {`<html>`, "", "ending in /solr"},
	} {
		_, _, refused, err := pushTo(t, tt.answer, nil, pushtest.Doc("http://h/", "x"))
		words := ""
		for _, r := range refused {
			words += r.Words
		}
		if words != tt.refused || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: refused %q, error %v", name, words, err)
		}
	}
}

// TestOneOrderStopsNothing: a document for which something else than Solr answers is refused, and the
// others are taken.
func TestOneOrderStopsNothing(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), "big") {
			_, _ = io.WriteString(w, "<html>too much</html>")
			return
		}
		_, _ = io.WriteString(w, fine)
	}))
	defer srv.Close()
	target, err := New(Settings{Collection: "web", Server: wire.Settings{URL: srv.URL + "/solr", RetryWait: time.Millisecond, RetryWaitMax: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	refused, err := target.Push(t.Context(), pushtest.Numbered(4, pushtest.Doc("http://h/", "big"), pushtest.Doc("http://h/a", "x")))
	if err != nil || len(refused) != 1 || refused[0].Seq != 4 || !strings.Contains(refused[0].Words, "too much") {
		t.Errorf("refused %v, %v", refused, err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, s := range []Settings{{}, {Collection: "c"}, {Collection: "..", Server: wire.Settings{URL: "http://h"}}} {
		if _, err := New(s); err == nil || !strings.Contains(err.Error(), "the solr target") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
