package elastic

import (
	"encoding/json"
	"fmt"
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

// scripted answers _bulk requests one after the other, the last for ever, and keeps
// what came.
type scripted struct {
	answers []string // "STATUS BODY"
	bodies  []string
	other   []string // "METHOD PATH", with the body
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !strings.HasSuffix(r.URL.Path, "/_bulk") {
		s.other = append(s.other, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
		}
		return
	}
	s.bodies = append(s.bodies, r.URL.RequestURI()+"\n"+string(body))
	answer := s.answers[min(len(s.bodies), len(s.answers))-1]
	var status int
	_, _ = fmt.Sscan(answer, &status)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer[4:])
}

func open(t *testing.T, s *scripted, change func(*Settings)) *Target {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	set := Settings{Index: "web", Server: wire.Settings{URL: srv.URL, RetryWait: time.Millisecond, RetryWaitMax: time.Millisecond, Retries: 2}}
	if change != nil {
		change(&set)
	}
	target, err := New(set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return target
}

// items is an answer with a status for each item; one over 299 has an error.
func items(statuses ...int) string {
	var all []string
	for _, status := range statuses {
		words := ""
		if status > 299 {
			words = fmt.Sprintf(`,"error":{"type":"type_%d","reason":"reason\n%d","caused_by":{"type":"cause","reason":"deep"}}`, status, status)
		}
		all = append(all, fmt.Sprintf(`{"index":{"status":%d%s}}`, status, words))
	}
	return fmt.Sprintf(`200 {"errors":true,"items":[%s]}`, strings.Join(all, ","))
}

func three() []push.Entry {
	return pushtest.Numbered(7, pushtest.Doc("http://h/a", "a"), pushtest.Doc("http://h/b", "b"), pushtest.Del("http://h/c"))
}

func TestOnTheWire(t *testing.T) {
	s := &scripted{answers: []string{items(201, 200, 404)}}
	target := open(t, s, func(set *Settings) { set.Pipeline = "clean up" })
	if refused, err := target.Push(t.Context(), three()); err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	lines := strings.Split(strings.TrimSuffix(s.bodies[0], "\n"), "\n")
	want := []string{
		"/web/_bulk?filter_path=errors%2Citems.%2A.status%2Citems.%2A.error&pipeline=clean+up",
		`{"index":{"_id":"` + ID("http://h/a") + `","version":7,"version_type":"external_gte"}}`,
		`{"url":"http://h/a","text":"a","fetched_at":"0001-01-01T00:00:00Z","depth":0}`,
		`{"index":{"_id":"` + ID("http://h/b") + `","version":8,"version_type":"external_gte"}}`,
		`{"url":"http://h/b","text":"b","fetched_at":"0001-01-01T00:00:00Z","depth":0}`,
		`{"delete":{"_id":"` + ID("http://h/c") + `","version":9,"version_type":"external_gte"}}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVerdicts(t *testing.T) {
	config := `200 {"errors":true,"items":[{"index":{"status":400,"error":{"type":"illegal_argument_exception","reason":"pipeline with id [x] does not exist"}}},{"index":{"status":201}},{"delete":{"status":200}}]}`
	none := `200 {"took":0,"errors":false,"error":"token too long","items":[]}`
	omitted := "the indexer reports no result for it (77 bytes, sent alone 3 times), but accepts other orders: "
	for name, tt := range map[string]struct {
		answers  []string
		refused  string // number: words
		err      string
		requests int
	}{
		"newer there":           {[]string{items(409, 409, 409)}, "", "", 1},
		"refused":               {[]string{items(201, 400, 404)}, "8: type_400: reason 400: cause: deep", "", 1},
		"for now, then taken":   {[]string{items(201, 429, 503), items(201, 200)}, "", "", 2},
		"for now, then refused": {[]string{items(400, 429, 200), items(400)}, "7: type_400: reason 400: cause: deep 8: type_400: reason 400: cause: deep", "", 2},
		"always for now":        {[]string{items(429, 201, 201), items(429)}, "", "temporarily rejected 1 of 1 entries, 3 times: type_429", 3},
		"no right":              {[]string{items(403, 403, 403)}, "", `a problem of the index "web"`, 1},
		"no index":              {[]string{items(404, 404, 404)}, "", "type_404", 1},
		"no pipeline":           {[]string{config}, "", "pipeline with id", 1},
		"too few items":         {[]string{items(201, 201)}, "7: " + omitted + "_bulk: the response has 2 entries, but 1 were sent: is url the address of an indexer?", "", 5},
		"one is never named":    {[]string{none, none, items(201, 200), none}, "7: " + omitted + "_bulk: the response has 0 entries, but 1 were sent: token too long", "", 5},
		"one is named late":     {[]string{none, none, items(201, 200), none, items(201)}, "", "", 5},
		"no items":              {[]string{`200 {"acknowledged":true}`}, "", "order 7 (add http://h/a, 77 bytes) was sent alone: _bulk: the response has 0 entries", 5},
		"garbage":               {[]string{"200 <html>"}, "", "is url its address", 5},
		"two operations":        {[]string{`200 {"errors":false,"items":[{"index":{"status":201},"b":{}}]}`}, "", "not have exactly one operation", 5},
		"whole request":         {[]string{`400 {"error":{"type":"parse","reason":"bad line"},"status":400}`}, "7: parse: bad line 8: parse: bad line 9: parse: bad line", "", 5},
		"words only":            {[]string{`400 {"error":"no handler found"}`}, "7: no handler found 8: no handler found 9: no handler found", "", 5},
		"whole request 403":     {[]string{`403 {"error":{"type":"security_exception","reason":"no"}}`}, "", "lacks permission", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{answers: tt.answers}
			refused, err := open(t, s, nil).Push(t.Context(), three())
			var got []string
			for _, r := range refused {
				got = append(got, fmt.Sprintf("%d: %s", r.Seq, r.Words))
			}
			if words := strings.Join(got, " "); words != tt.refused {
				t.Errorf("refused %q, want %q", words, tt.refused)
			}
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if len(s.bodies) != tt.requests {
				t.Errorf("%d requests, want %d", len(s.bodies), tt.requests)
			}
		})
	}
}

func TestTemplate(t *testing.T) {
	for kind, metas := range map[bool]string{false: "flattened", true: "flat_object"} {
		s := &scripted{answers: []string{items(201)}}
		target := open(t, s, func(set *Settings) {
			set.CreateTemplate, set.OpenSearch, set.Fields = true, kind, wire.Names{"title": "dc_title", "text": ""}
		})
		for i := range 2 {
			if _, err := target.Push(t.Context(), pushtest.Numbered(uint64(i+1), pushtest.Doc("http://h/", "x"))); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.other) != 2 || s.other[0] != "HEAD /_index_template/sextant-web" {
			t.Fatalf("requests %q", s.other)
		}
		body, ok := strings.CutPrefix(s.other[1], "PUT /_index_template/sextant-web ")
		var template struct {
			Patterns []string `json:"index_patterns"`
			Template struct {
				Mappings struct {
					Properties map[string]struct {
						Type string `json:"type"`
					} `json:"properties"`
				} `json:"mappings"`
			} `json:"template"`
		}
		if err := json.Unmarshal([]byte(body), &template); !ok || err != nil {
			t.Fatal(s.other[1], err)
		}
		p := template.Template.Mappings.Properties
		if p["url"].Type != "keyword" || p["dc_title"].Type != "text" || p["metas"].Type != metas || p["title"].Type+p["text"].Type != "" || fmt.Sprint(template.Patterns) != "[web]" {
			t.Errorf("template %s", body)
		}
	}
}

func TestBodiesThatAreNoDocuments(t *testing.T) {
	for _, fields := range []wire.Names{nil, {"title": "t"}} {
		s := &scripted{answers: []string{items(201)}}
		es := pushtest.Numbered(1, push.Entry{URL: "http://h/", Body: []byte("{\n")}, push.Entry{URL: "http://h/b", Body: []byte("{\n\"url\":\n\"http://h/b\"}")})
		refused, err := open(t, s, func(set *Settings) { set.Fields = fields }).Push(t.Context(), es)
		if err != nil || len(refused) != 1 || refused[0].Seq != 1 || strings.Count(s.bodies[0], "\n") != 3 {
			t.Errorf("%v, refused %v, sent %q", err, refused, s.bodies)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(items(201, 400)[4:]), 2)
	f.Add([]byte(`{"errors":true,"items":[{"index":{"status":400,"error":"words"}}]}`), 1)
	f.Add([]byte(`{"errors":1}`), 0)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		answers, err := parseAnswer(body, n)
		if err == nil && len(answers) != n {
			t.Errorf("%d answers for %d", len(answers), n)
		}
		for _, a := range answers {
			if words := a.Error.words(); len(words) > wire.MaxWords || strings.ContainsAny(words, "\n\x00") {
				t.Errorf("words %q", words)
			}
		}
	})
}
