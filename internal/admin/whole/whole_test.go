package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/internal/admin/whole"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row is an item of a list.
type row struct {
	N    int    `json:"n"`
	Node string `json:"node"`
}

// store is what one node has.
type store struct {
	name  string
	rows  []row
	says  string // in place of figures
	by    whole.Asker
	lacks string
}

func byNumber(a, b string) int {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return x - y
}

// rules are of the paths below.
var rules = map[string]*whole.Rule{
	"/api/v1/list":    {Order: func(url.Values) (whole.Order, error) { return byNumber, nil }},
	"/api/v1/sorted":  {Order: func(url.Values) (whole.Order, error) { return byNumber, nil }, After: func(url.Values) bool { return true }},
	"/api/v1/figures": {Sums: whole.Sums{"max": whole.Most, "since": whole.Least, "version": whole.First}},
	"/api/v1/command": {Command: true, Spares: true},
	"/api/v1/url":     {Of: "url"},
}

// ServeHTTP answers as a node does for itself.
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	switch r.URL.Path {
	case "/api/v1/list", "/api/v1/sorted":
		if _, err := strconv.Atoi(r.URL.Query().Get("limit")); r.URL.Query().Has("limit") && err != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"detail":"limit is no number"}`))
			return
		}
		if r.URL.Path == "/api/v1/sorted" {
			from++
		}
		_ = whole.Lines(w, func(put func(any, string) error) error {
			for i, one := range s.rows {
				if one.N < from {
					continue
				}
				if i%7 == 3 {
					if err := put(nil, strconv.Itoa(one.N)); err != nil {
						return err
					}
				}
				if err := put(one, strconv.Itoa(one.N)); err != nil {
					return err
				}
			}
			return nil
		})
	case "/api/v1/command":
		if s.says == "" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"detail":"it is not stored"}`))
			return
		}
		fallthrough
	case "/api/v1/figures":
		_, _ = io.WriteString(w, s.says)
	case "/api/v1/url":
		_, _ = fmt.Fprintf(w, `{"of":%q}`, s.name)
	default:
		http.NotFound(w, r)
	}
}

// cluster is some nodes, the first of which is asked.
type cluster struct {
	stores []*store
	others []whole.Node // beside the stores
	unseen error
	silent string // Server.Stalled
	owner  string
}

func (c *cluster) server(s *store) *whole.Server {
	return &whole.Server{Name: s.name, Cluster: c, Lacks: func(context.Context) string { return s.lacks }, Stalled: func() string { return c.silent }, Own: func(w http.ResponseWriter, r *http.Request, by whole.Asker) {
		s.by = by
		s.ServeHTTP(w, r)
	}}
}

func (c *cluster) Others(context.Context) (all []whole.Node, err error) {
	for _, s := range c.stores[1:] {
		all = append(all, whole.Node{Name: s.name, Ask: func(ctx context.Context, q *whole.Question) (io.ReadCloser, error) {
			b, err := json.Marshal(q) // as over the network
			if err != nil {
				return nil, err
			}
			var asked whole.Question
			if err := json.Unmarshal(b, &asked); err != nil {
				return nil, err
			}
			var out strings.Builder
			err = c.server(s).Answer(ctx, &out, &asked)
			return io.NopCloser(strings.NewReader(out.String())), err
		}})
	}
	return append(all, c.others...), c.unseen
}

func (c *cluster) Owner(context.Context, string) (string, error) { return c.owner, nil }

// ask asks the first node.
func (c *cluster) ask(t testing.TB, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.server(c.stores[0]).Serve(w, r, whole.Asker{Role: "reader", Name: "ann"}, rules[r.URL.Path])
	return w
}

type listed struct {
	Items []row  `json:"items"`
	Next  string `json:"next"`
}

// pages walks over a list by its cursors.
func (c *cluster) pages(t *testing.T, path string, limit int) (all []row) {
	t.Helper()
	for cursor := ""; ; {
		w := c.ask(t, "GET", fmt.Sprintf("%s?limit=%d&cursor=%s", path, limit, cursor), "")
		var p listed
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK || w.Header().Get(whole.Missing) != "" {
			t.Fatalf("%d %s %v %s", w.Code, w.Body, err, w.Header().Get(whole.Missing))
		}
		if all = append(all, p.Items...); p.Next == "" {
			return all
		}
		if cursor == p.Next {
			t.Fatalf("the cursor stays at %s", cursor)
		}
		cursor = p.Next
	}
}

// TestLists: pages of any length, and the stream, are all that all nodes have, in order and once.
func TestLists(t *testing.T) {
	random := seeded.Rand(t)
	for range 50 {
		c := &cluster{}
		var want []row
		for n := range 1 + random.IntN(4) {
			s := &store{name: fmt.Sprint("n", n)}
			for i := range random.IntN(30) {
				if random.IntN(2) == 0 {
					s.rows = append(s.rows, row{i + 1, s.name})
				}
			}
			want, c.stores = append(want, s.rows...), append(c.stores, s)
		}
		slices.SortStableFunc(want, func(a, b row) int { return a.N - b.N })
		same := func(what string, got []row) {
			slices.SortStableFunc(got, func(a, b row) int { return strings.Compare(a.Node, b.Node) })
			slices.SortStableFunc(got, func(a, b row) int { return a.N - b.N }) // equal cursors come in any order
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		limit := 1 + random.IntN(40)
		same("pages", c.pages(t, "/api/v1/list", limit))
		same("sorted pages", c.pages(t, "/api/v1/sorted", limit))
		var stream []row
		for line := range strings.Lines(c.ask(t, "GET", "/api/v1/list", "", "Accept", "application/jsonl").Body.String()) {
			var one row
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatal(err)
			}
			if n := len(stream); n > 0 && stream[n-1].N > one.N {
				t.Fatalf("%d stands behind %d", one.N, stream[n-1].N)
			}
			stream = append(stream, one)
		}
		same("stream", stream)
	}
}

// TestFigures: they are added, and the asker's rights go with the question.
func TestFigures(t *testing.T) {
	c := &cluster{stores: []*store{
		{name: "n0", says: `[{"crawler":"a","known":1,"pending":{"user":9007199254740993},"max":3,"since":"2026-01-02T00:00:00Z","version":"1","ill":["x"]}]`},
		{name: "n1", says: `[{"crawler":"a","known":2,"pending":{"user":1,"site":2},"max":2,"since":"2026-01-01T00:00:00Z","version":"2","ill":["y","x"],"paused":true},{"crawler":"b","rate":0.5}]`},
	}}
	w := c.ask(t, "GET", "/api/v1/figures", "")
	const want = `[{"crawler":"a","ill":["x","y"],"known":3,"max":3,"paused":true,"pending":{"site":2,"user":9007199254740994},"since":"2026-01-01T00:00:00Z","version":"1"},{"crawler":"b","rate":0.5}]`
	if got := strings.TrimSpace(w.Body.String()); got != want || w.Header().Get(whole.Missing) != "" {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, s := range c.stores {
		if s.by != (whole.Asker{Role: "reader", Name: "ann"}) {
			t.Errorf("%s was asked by %+v", s.name, s.by)
		}
	}
}

// TestCommand: it is done everywhere; a node that has none of what it names does not spoil it, one that is away does.
func TestCommand(t *testing.T) {
	c := &cluster{stores: []*store{{name: "n0"}, {name: "n1", says: `{"urls":2}`}, {name: "n2", says: `{"urls":3}`}}}
	if w := c.ask(t, "POST", "/api/v1/command", "{}"); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != `{"urls":5}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	c.others = []whole.Node{{Name: "n3", Ask: func(context.Context, *whole.Question) (io.ReadCloser, error) { return nil, errors.New("no route") }}}
	if w := c.ask(t, "POST", "/api/v1/command", "{}"); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "all other nodes: n3: no route. Repeat it") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	c = &cluster{stores: []*store{{name: "n0"}, {name: "n1"}}}
	if w := c.ask(t, "POST", "/api/v1/command", "{}"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "it is not stored") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestOwner: what is about one URL is asked of its owner, and of nobody else in its place.
func TestOwner(t *testing.T) {
	c := &cluster{stores: []*store{{name: "n0"}, {name: "n1"}}, owner: "n1"}
	if w := c.ask(t, "GET", "/api/v1/url?url=u", ""); w.Body.String() != `{"of":"n1"}` || w.Header().Get(whole.Missing) != "" {
		t.Errorf("%s", w.Body)
	}
	c.owner = ""
	if w := c.ask(t, "GET", "/api/v1/url?url=u", ""); w.Body.String() != `{"of":"n0"}` || !strings.Contains(w.Header().Get(whole.Missing), "no owner now") {
		t.Errorf("%s %s", w.Body, w.Header())
	}
	c.owner = "n7"
	if w := c.ask(t, "GET", "/api/v1/url?url=u", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	c.owner, c.others = "n3", []whole.Node{{Name: "n3", Ask: func(context.Context, *whole.Question) (io.ReadCloser, error) { return nil, errors.New("no route") }}}
	if w := c.ask(t, "GET", "/api/v1/url?url=u", ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "node n3 has this host, and cannot be asked: no route") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestRefused: what is wrong everywhere is refused, and nobody is called missing for it; a cluster that cannot be seen gives no answer.
func TestRefused(t *testing.T) {
	c := &cluster{stores: []*store{{name: "n0"}, {name: "n1"}}}
	if w := c.ask(t, "GET", "/api/v1/list?limit=x", ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "no number") || w.Header().Get(whole.Missing) != "" {
		t.Errorf("%d %s %s", w.Code, w.Body, w.Header())
	}
	c.unseen = errors.New("the engine cannot be reached")
	if w := c.ask(t, "GET", "/api/v1/list", ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the engine cannot be reached") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w := httptest.NewRecorder()
	c.unseen = nil
	c.server(c.stores[0]).Alone(t.Context(), w.Header())
	if got := w.Header().Get(whole.Missing); got != "n1: not asked: this is of n0 alone" {
		t.Errorf("%q", got)
	}
	if err := c.server(c.stores[0]).Answer(t.Context(), io.Discard, &whole.Question{Method: "GET", Path: "/metrics"}); err == nil {
		t.Error("a path that is not of the API is answered")
	}
}

// TestSilentEngine: while the engine does not answer figures are of the node that is asked, which says why, and all else is refused with the reason;
// nobody waits for the engine.
func TestSilentEngine(t *testing.T) {
	c := &cluster{stores: []*store{{name: "n0", says: `[{"crawler":"a","known":1}]`, lacks: "p03"}, {name: "n1", says: `[{"crawler":"a","known":2}]`}}}
	c.silent, c.unseen = "etcd has not answered since noon", errors.New("the engine was asked")
	w := c.ask(t, "GET", "/api/v1/figures", "")
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != `[{"crawler":"a","known":1}]` {
		t.Errorf("%d %s", w.Code, got)
	}
	if who := w.Header().Get(whole.Missing); who != "the other nodes: etcd has not answered since noon" {
		t.Errorf("missing: %q", who)
	}
	for _, path := range []string{"GET /api/v1/list", "POST /api/v1/command", "GET /api/v1/url?url=http://a/"} {
		method, path, _ := strings.Cut(path, " ")
		w := c.ask(t, method, path, "")
		if b := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(b, `"detail":"etcd has not answered since noon"`) || !strings.Contains(b, "engine_silent") {
			t.Errorf("%s: %d %s", path, w.Code, b)
		}
	}
	alone := httptest.NewRecorder()
	c.server(c.stores[0]).Alone(t.Context(), alone.Header())
	if who := alone.Header().Get(whole.Missing); who != c.silent {
		t.Errorf("missing: %q", who)
	}
}

// saying is a node that says just this.
func saying(text string) whole.Node {
	return whole.Node{Name: "bad", Ask: func(context.Context, *whole.Question) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

const ok = "{\"status\":200}\n"

// TestNodesThatAreNotWell: whatever a node says, what the others have is there, and it is named.
func TestNodesThatAreNotWell(t *testing.T) {
	rows := []row{{1, "n0"}, {5, "n0"}}
	for name, says := range map[string]string{
		"nothing":              "",
		"no head":              "{}\n",
		"garbage":              "GET / HTTP/1.1\r\n\r\n",
		"half a head":          `{"status":2`,
		"an error":             "{\"status\":500}\n{\"detail\":\"the disk is on fire\"}\n",
		"a huge line":          ok + strings.Repeat("x", 5<<20),
		"it breaks off":        ok + `{"at":"2","item":{}}` + "\n",
		"a line that is none":  ok + "<html>\n",
		"no cursor":            ok + `{"item":{}}` + "\n" + `{"end":true}` + "\n",
		"an end that is none":  ok + `{"at":"2","end":true}` + "\n",
		"not in order":         ok + `{"at":"3","item":{}}` + "\n" + `{"at":"2","item":{}}` + "\n" + `{"end":true}` + "\n",
		"it lies about status": "{\"status\":-1}\n",
	} {
		c := &cluster{stores: []*store{{name: "n0", rows: rows, says: `{"known":7}`}}, others: []whole.Node{saying(says)}}
		var p listed
		w := c.ask(t, "GET", "/api/v1/list", "")
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		p.Items = slices.DeleteFunc(p.Items, func(r row) bool { return r.Node == "" }) // what it said before
		if !slices.Equal(p.Items, rows) || !strings.HasPrefix(w.Header().Get(whole.Missing), "bad: ") {
			t.Errorf("%s: %s, missing %q", name, w.Body, w.Header().Get(whole.Missing))
		}
		w = c.ask(t, "GET", "/api/v1/figures", "")
		isObject := name == "it breaks off" || name == "an end that is none" // which is fine for figures
		if !isObject && (w.Body.String() != "{\"known\":7}\n" || !strings.HasPrefix(w.Header().Get(whole.Missing), "bad: ")) {
			t.Errorf("%s: %s, missing %q", name, w.Body, w.Header().Get(whole.Missing))
		}
	}
	for name, says := range map[string]string{
		"figures of another kind": ok + `{"known":"7"}`,
		"two values":              ok + `{"known":7}{}`,
		"a number beyond all":     ok + `{"known":1e999}`,
		"figures without end":     ok + `{"known":` + strings.Repeat("1", 9<<20) + `}`,
	} {
		c := &cluster{stores: []*store{{name: "n0", says: `{"known":7}`}}, others: []whole.Node{saying(says)}}
		if w := c.ask(t, "GET", "/api/v1/figures", ""); w.Body.String() != "{\"known\":7}\n" || !strings.HasPrefix(w.Header().Get(whole.Missing), "bad: ") {
			t.Errorf("%s: %.100s, missing %q", name, w.Body, w.Header().Get(whole.Missing))
		}
	}
}

// drip sends its text a byte each 5 s, or nothing at all, until it is closed or ctx ends.
type drip struct {
	ctx  context.Context
	text string
}

func (d *drip) Read(b []byte) (int, error) {
	wait := 5 * time.Second
	if d.text == "" {
		wait = time.Hour
	}
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(wait):
	}
	n := copy(b[:1], d.text)
	d.text = d.text[n:]
	return n, nil
}

func (d *drip) Close() error { return nil }

// TestSlowNodes: a node that drips, or is frozen, does not hold up an answer.
func TestSlowNodes(t *testing.T) {
	for _, text := range []string{"", ok, strings.Repeat("x", 1000)} {
		synctest.Test(t, func(t *testing.T) {
			slow := whole.Node{Name: "slow", Ask: func(ctx context.Context, _ *whole.Question) (io.ReadCloser, error) { return &drip{ctx, text}, nil }}
			c := &cluster{stores: []*store{{name: "n0", rows: []row{{1, "n0"}}, says: `{"known":7}`}, {name: "n1", rows: []row{{2, "n1"}}, says: `{"known":1}`}}, others: []whole.Node{slow}}
			for _, path := range []string{"/api/v1/list", "/api/v1/figures"} {
				begun := time.Now()
				w := c.ask(t, "GET", path, "")
				if took := time.Since(begun); took > 31*time.Second {
					t.Errorf("%s took %v", path, took)
				}
				if got := w.Header().Get(whole.Missing); !strings.HasPrefix(got, "slow: ") {
					t.Errorf("%s: missing %q, %s", path, got, w.Body)
				}
				if body := w.Body.String(); body != `{"items":[{"n":1,"node":"n0"},{"n":2,"node":"n1"}]}`+"\n" && body != "{\"known\":8}\n" {
					t.Errorf("%s: %s", path, body)
				}
			}
		})
	}
}

// endless says the same line for ever.
type endless struct {
	head string
	line string
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.head != "" {
		n := copy(b, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	n := copy(b, e.line[e.at:])
	e.at = (e.at + n) % len(e.line)
	return n, nil
}

func (e *endless) Close() error { return nil }

// TestEndlessNode: a list without an end, of items with one cursor, of marks or of large items, ends a page all the same.
func TestEndlessNode(t *testing.T) {
	for name, line := range map[string]string{
		"one cursor":  `{"at":"1","item":{}}` + "\n",
		"marks":       `{"at":"1"}` + "\n",
		"large items": `{"at":"1","item":"` + strings.Repeat("x", 1<<20) + `"}` + "\n",
	} {
		bad := whole.Node{Name: "bad", Ask: func(context.Context, *whole.Question) (io.ReadCloser, error) {
			return &endless{head: ok, line: line}, nil
		}}
		c := &cluster{stores: []*store{{name: "n0", rows: []row{{1, "n0"}, {2, "n0"}}}}, others: []whole.Node{bad}}
		w := c.ask(t, "GET", "/api/v1/list?limit=10", "")
		if w.Code != http.StatusOK || w.Body.Len() > 64<<20 {
			t.Errorf("%s: %d, %d bytes", name, w.Code, w.Body.Len())
		}
	}
}

// TestStreamBreaks: who reads a stream learns of a node that gets lost within it.
func TestStreamBreaks(t *testing.T) {
	c := &cluster{stores: []*store{{name: "n0", rows: []row{{1, "n0"}, {5, "n0"}}}}, others: []whole.Node{saying(ok + `{"at":"2","item":{}}` + "\n")}}
	defer func() {
		if broke := recover(); broke != http.ErrAbortHandler { //nolint:errorlint // as net/http has it
			t.Errorf("%v, want that the answer breaks off", broke)
		}
	}()
	c.ask(t, "GET", "/api/v1/list", "", "Accept", "application/jsonl")
}

// FuzzAnswer: whatever a node says, the answer is made, has what this node has, and is JSON.
func FuzzAnswer(f *testing.F) {
	f.Add(ok + `{"at":"2","item":{"n":2}}` + "\n" + `{"end":true}` + "\n")
	f.Add(ok + `{"known":1,"a":[{"name":"x","n":1.5}]}`)
	f.Add("{\"status\":404}\n{\"detail\":\"no\"}")
	f.Fuzz(func(t *testing.T, says string) {
		c := &cluster{stores: []*store{{name: "n0", rows: []row{{1, "n0"}}, says: `{"known":7,"a":[{"name":"x","n":1}]}`}}, others: []whole.Node{saying(says)}}
		var p struct {
			Items []json.RawMessage `json:"items"`
		}
		w := c.ask(t, "GET", "/api/v1/list", "")
		own := func(item json.RawMessage) bool { return string(item) == `{"n":1,"node":"n0"}` }
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || !slices.ContainsFunc(p.Items, own) && !strings.Contains(w.Body.String(), `"next"`) {
			t.Errorf("%q: %s, %v", says, w.Body, err)
		}
		var sum map[string]any
		if err := json.Unmarshal(c.ask(t, "GET", "/api/v1/figures", "").Body.Bytes(), &sum); err != nil || sum["known"] == nil {
			t.Errorf("%q: %v, %v", says, sum, err)
		}
	})
}

// TestLacking: a node that does not have all that it should have answers, and is named.
func TestLacking(t *testing.T) {
	c := &cluster{owner: "n1", stores: []*store{{name: "n0", rows: []row{{1, "n0"}}, says: `{"known":7}`}, {name: "n1", rows: []row{{2, "n1"}}, says: `{"known":1}`, lacks: "p03 on the way to it"}}}
	for path, want := range map[string]string{"/api/v1/list": `"n":2`, "/api/v1/figures": `"known":8`, "/api/v1/url?url=u": `"of":"n1"`} {
		if w := c.ask(t, "GET", path, ""); w.Code != http.StatusOK || w.Header().Get(whole.Missing) != "n1: p03 on the way to it" || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, missing %q", path, w.Code, w.Body, w.Header().Get(whole.Missing))
		}
	}
	if w := c.ask(t, "POST", "/api/v1/command", "{}"); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "p03") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
