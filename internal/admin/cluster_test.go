package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/internal/admin/whole"
	"github.com/sextant-crawler/sextant/push/compare"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// nodes are servers of one cluster, each with a part of the URLs of a store.
type nodes struct {
	servers []*Server
	missing []whole.Node

	mu    sync.Mutex // guards asked: all are asked at once
	asked []*whole.Question
}

func (n *nodes) of(i int) whole.Cluster { return ofNodes{n, i} }

type ofNodes struct {
	*nodes
	self int
}

func (n ofNodes) Others(context.Context) (all []whole.Node, err error) {
	for i, s := range n.servers {
		if i != n.self {
			all = append(all, whole.Node{Name: fmt.Sprint("n", i), Ask: func(ctx context.Context, q *whole.Question) (io.ReadCloser, error) {
				n.mu.Lock()
				n.asked = append(n.asked, q)
				n.mu.Unlock()
				var out bytes.Buffer
				err := s.whole.Answer(ctx, &out, q)
				return io.NopCloser(&out), err
			}})
		}
	}
	return append(all, n.missing...), nil
}

func (n ofNodes) Owner(_ context.Context, of string) (string, error) {
	for _, name := range []string{"n1", "n3"} {
		if strings.Contains(of, name) {
			return name, nil
		}
	}
	return "n0", nil
}

func newNodes(t *testing.T) *nodes {
	n := &nodes{}
	for i := range 3 {
		var urls []string
		for p := range 7 {
			urls = append(urls, fmt.Sprintf("http://n%d/%d", i, p))
		}
		m := storeWith(t, urls...)
		s := NewServer([]Crawler{fakeCrawler{name: "a", store: m}}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
		n.servers = append(n.servers, s)
	}
	for i, s := range n.servers {
		s.InCluster(fmt.Sprint("n", i), n.of(i))
	}
	return n
}

func (n *nodes) get(t *testing.T, role Role, path, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), ownerKey{}, Caller{Role: role, Name: "ann"}), http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	n.servers[0].answer(w, r)
	return w
}

// TestAnyNodeAnswersForAll: URLs, status and hosts are those of all nodes, whichever is asked; who is missing is named.
func TestAnyNodeAnswersForAll(t *testing.T) {
	n := newNodes(t)
	for _, sort := range []string{"", "url", "-url"} {
		var got []string
		for cursor := ""; ; {
			w := n.get(t, Reader, "/api/v1/urls?limit=4&sort="+sort+"&cursor="+cursor, "")
			var p URLPage
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%d %s %v", w.Code, w.Body, err)
			}
			for _, u := range p.Items {
				got = append(got, u.URL)
			}
			if cursor = p.Next; cursor == "" {
				break
			}
		}
		if sort != "" && !slices.IsSortedFunc(got, func(a, b string) int {
			if sort == "-url" {
				a, b = b, a
			}
			return strings.Compare(a, b)
		}) {
			t.Errorf("sorted by %s: %v", sort, got)
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != 21 {
			t.Errorf("sorted by %q: %d URLs: %v", sort, len(got), got)
		}
	}
	if lines := n.get(t, Reader, "/api/v1/urls", jsonLines).Body.String(); strings.Count(lines, "\n") != 21 {
		t.Errorf("%s", lines)
	}
	var status []Status
	w := n.get(t, Reader, "/api/v1/status", "")
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || len(status) != 1 || status[0].Known != 21 || status[0].Crawler != "a" {
		t.Errorf("%s %v", w.Body, err)
	}
	if got := n.get(t, Reader, "/api/v1/url?url=http://n1/3", ""); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "http://n1/3") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	n.missing = []whole.Node{{Name: "n3", Ask: func(context.Context, *whole.Question) (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }}}
	for _, path := range []string{"/api/v1/urls", "/api/v1/urls?sort=url", "/api/v1/status", "/api/v1/hosts", "/api/v1/hosts/ill", "/api/v1/outbox", "/api/v1/deletions", "/api/v1/deletions/counts"} {
		if got := n.get(t, Reader, path, ""); got.Code != http.StatusOK || got.Header().Get(whole.Missing) != "n3: unexpected EOF" {
			t.Errorf("%s: %d %s, missing %q", path, got.Code, got.Body, got.Header().Get(whole.Missing))
		}
	}
}

// TestSilentEngineForAll: while the cluster's engine does not answer the status is this node's, and says why; lists and reports are refused with that.
func TestSilentEngineForAll(t *testing.T) {
	n := newNodes(t)
	const why = "etcd has not answered since noon"
	n.servers[0].Tell(About{Stalled: func() string { return why }})
	var status []Status
	w := n.get(t, Reader, "/api/v1/status", "")
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || len(status) != 1 || status[0].Known != 7 || w.Header().Get(whole.Missing) != "the other nodes: "+why {
		t.Errorf("%s, missing %q, %v", w.Body, w.Header().Get(whole.Missing), err)
	}
	for _, path := range []string{"/api/v1/urls", "/api/v1/links?to=http://n1/1", "/api/v1/report/errors", "/api/v1/url?url=http://n1/1"} {
		w := n.get(t, Reader, path, "")
		if b := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(b, why) || !strings.Contains(b, codeEngine) {
			t.Errorf("%s: %d %s", path, w.Code, b)
		}
	}
}

// questions are what each route that any node answers for all is asked for.
func questions() map[string]string {
	const v = "/api/v1/"
	all := map[string]string{v + "explain": "?url=http://n0/1", v + "links": "?to=http://n1/1", v + "host": "?host=n0", v + "events": "?limit=3"}
	for _, path := range []string{"url", "document", "robots"} {
		all[v+path] = "?url=http://n0/1"
	}
	return all
}

// TestMissing: what any node answers for all names a node that is away, or is refused because of it; what is of one URL needs its owner alone.
func TestMissing(t *testing.T) {
	n := newNodes(t)
	n.missing = []whole.Node{{Name: "n3", Ask: func(context.Context, *whole.Question) (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }}}
	for _, r := range n.servers[0].routes() {
		if r.whole == nil || r.whole == elsewhere || r.method != http.MethodGet {
			continue
		}
		w := n.get(t, Operator, r.path+questions()[r.path], "")
		switch who := w.Header().Get(whole.Missing); {
		case w.Code != http.StatusOK:
			t.Errorf("%s: %d %s", r.path, w.Code, w.Body)
		case (who == "n3: unexpected EOF") == (r.whole.Of != "" || r.whole.Each != ""):
			t.Errorf("%s: missing %q", r.path, who)
		}
	}
	for path, body := range map[string]string{"add": `{"urls":["http://n3/","http://n0/"]}`, "explain": `{"urls":["http://n3/"]}`, "pause": "", "remove": `{"urls":["http://n0/1"]}`} {
		w := n.post(t, "/api/v1/"+path, body)
		if w.Code != http.StatusServiceUnavailable && w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "n3") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func (n *nodes) post(t *testing.T, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), ownerKey{}, Caller{Role: Operator, Name: "ann"}), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	n.servers[0].answer(w, r)
	return w
}

// TestRemovedOfAll: what is removed is counted over all nodes before the operator is asked.
func TestRemovedOfAll(t *testing.T) {
	n := newNodes(t)
	for i := range n.servers {
		var urls []string
		for p := range RemovedUnasked/2 + 1 {
			urls = append(urls, fmt.Sprintf("http://n%d/%d", i, p))
		}
		n.servers[i].crawlers[0] = fakeCrawler{name: "a", store: storeWith(t, urls...)}
	}
	all := 3 * (RemovedUnasked/2 + 1)
	if w := n.post(t, "/api/v1/remove", `{"all":true}`); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), fmt.Sprintf("removes %d URLs", all)) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := n.post(t, "/api/v1/remove", `{"urls":["http://n1/1"]}`); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := n.post(t, "/api/v1/remove?yes=true", `{"all":true}`); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := n.post(t, "/api/v1/remove", `{"colour":1}`); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestRightsInCluster: other nodes are asked with the rights of who asks, and give no more than these.
func TestRightsInCluster(t *testing.T) {
	n := newNodes(t)
	if w := n.get(t, Local, "/api/v1/urls", ""); w.Code != http.StatusUnauthorized || len(n.asked) > 0 {
		t.Errorf("%d, and %d questions", w.Code, len(n.asked))
	}
	n.get(t, Reader, "/api/v1/urls", "")
	for _, q := range n.asked {
		if q.Role != "reader" || q.Name != "ann" {
			t.Errorf("asked with the rights of a %s %s", q.Role, q.Name)
		}
	}
	for role, want := range map[string]string{"reader": `{"status":403}`, "operator": `{"status":200}`, "": `{"status":401}`, "root": `{"status":401}`} {
		var out bytes.Buffer
		q := &whole.Question{Method: "POST", Path: "/api/v1/pause?crawler=a", Role: role}
		if err := n.servers[1].whole.Answer(t.Context(), &out, q); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%q: %s, %v", role, out.String(), err)
		}
	}
}

// TestEveryRouteIsWhole: there is a rule for each path about a Crawler but for what each node answers alike, and what no node can do says so.
func TestEveryRouteIsWhole(t *testing.T) {
	n := newNodes(t)
	alike := map[string]bool{"/api/v1/test": true} // by the rules alone, of which there is one
	for _, r := range n.servers[0].routes() {
		switch {
		case r.whole == elsewhere:
			w := httptest.NewRecorder()
			req := httptest.NewRequestWithContext(t.Context(), r.method, r.path, nil)
			if !n.servers[0].forAll(&r, w, req, Caller{Role: Operator}) || w.Code != http.StatusNotImplemented || r.instead == "" || !strings.Contains(w.Body.String(), codeSeveral) {
				t.Errorf("%s: %d %s", r.path, w.Code, w.Body)
			}
		case r.crawler && (r.whole == nil) != alike[r.path]:
			t.Errorf("%s has a rule: %t", r.path, r.whole != nil)
		}
	}
	if w := n.get(t, Operator, whole.StorePath, ""); w.Code != http.StatusNotFound {
		t.Errorf("a part of a store is given to anybody: %d %s", w.Code, w.Body)
	}
}

// TestClientHearsWhoIsMissing: a command learns which nodes are not in what it prints.
func TestClientHearsWhoIsMissing(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(whole.Missing, "n3: it gave no answer in time")
		_, _ = io.WriteString(w, "[]")
	}))
	defer s.Close()
	var who string
	c := &Client{Missing: func(w string) { who = w }}
	c.http.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}}
	if _, err := c.Hosts(t.Context(), 5); err != nil || who != "n3: it gave no answer in time" {
		t.Errorf("%q, %v", who, err)
	}
}

// TestJoinedHistory: figures of nodes that look at other moments are added step by step; what only one of them knows yet is left out.
func TestJoinedHistory(t *testing.T) {
	of := func(times []int64, known, lag []float64) (p pastOf) {
		p.Crawler, p.StepS, p.Times = "a", 5, times
		for name, values := range map[string][]float64{"known": known, "outbox_lag_s": lag} {
			var list []*float64
			for _, v := range values {
				list = append(list, &v)
			}
			p.Series = append(p.Series, struct {
				Name   string     `json:"name"`
				Values []*float64 `json:"values"`
			}{name, list})
		}
		return p
	}
	a := of([]int64{1001, 1006, 1011, 1016}, []float64{1, 2, 3, 4}, []float64{9, 0, 0, 0})
	b := of([]int64{1004, 1009, 1019, 1024}, []float64{10, 20, 30, 40}, []float64{1, 2, 3, 4}) // nothing between 1010 and 1015
	c := of([]int64{1012, 1018}, []float64{100, 200}, []float64{0, 0})                         // began later
	h := joined([]pastOf{a, b, c}, 0)
	want := map[string][]Figure{"known": {11, 122, 123, 234}, "outbox_lag_s": {9, 2, 2, 3}}
	if !slices.Equal(h.Times, []int64{1000, 1005, 1010, 1015}) {
		t.Errorf("%v", h.Times)
	}
	for _, s := range h.Series {
		if w := want[s.Name]; w != nil && !slices.Equal(s.Values, w) {
			t.Errorf("%s: %v, want %v", s.Name, s.Values, w)
		}
	}
	if h := joined([]pastOf{a, b, c}, 1005); !slices.Equal(h.Times, []int64{1010, 1015}) {
		t.Errorf("since: %v", h.Times)
	}
	if h := joined([]pastOf{a, of(nil, nil, nil)}, 1000); len(h.Times) != 0 {
		t.Errorf("a node that has nothing new yet: %v", h.Times)
	}
	if h := joined(nil, 0); len(h.Times) != 0 || len(h.Series) == 0 {
		t.Errorf("nobody: %+v", h)
	}
}

// TestEventCursors: events of all nodes are listed by time.
func TestEventCursors(t *testing.T) {
	for _, written := range []string{"1.2", "x.1.n", "1.x.n", "x", "-"} {
		if _, err := parseEventCursor(written); err == nil {
			t.Errorf("%q is a cursor", written)
		}
	}
	order := []string{"30.1.n1", "20.5.n1", "20.4.n1", "20.9.n2.b", "10.7.n1"}
	for i := range order[1:] {
		a, errA := parseEventCursor(order[i])
		b, errB := parseEventCursor(order[i+1])
		if errA != nil || errB != nil || !a.before(b) || b.before(a) || b.String() != order[i+1] {
			t.Errorf("%s, %s: %v, %v", order[i], order[i+1], errA, errB)
		}
	}
}

// listing is an index that lists some URLs.
type listing struct {
	fakeIndex
	urls []string
}

func (l listing) Enumerate(_ context.Context, fn func(string) error) error {
	for _, u := range l.urls {
		if err := fn(u); err != nil {
			return err
		}
	}
	return nil
}

type indexing struct {
	fakeService
	listing
}

func (i indexing) IndexOf(Crawler, string) (compare.Index, error) { return i.listing, nil }

// TestPushVerifyOfAll: an index is compared with what all nodes have pushed, by any of them; not at all while one is silent, and mended by none of them for others.
func TestPushVerifyOfAll(t *testing.T) {
	n := newNodes(t)
	index := indexing{listing: listing{urls: []string{"http://foreign/", "http://n0/item", "http://n2/item"}}}
	for i, s := range n.servers {
		u, err := weburl.Parse(fmt.Sprintf("http://n%d/item", i))
		if err != nil {
			t.Fatal(err)
		}
		item := scheduler.Item{Document: scheduler.Document{Body: []byte("{}"), Hash: [16]byte{1}}}
		m := s.crawlers[0].(fakeCrawler).store
		if _, _, err := m.Add(t.Context(), []scheduler.Link{{URL: u, Kind: scheduler.KindItem, Item: &item}}, false); err != nil {
			t.Fatal(err)
		}
		s.service = index
	}
	verify := func(node int, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), ownerKey{}, Caller{Role: Operator, Name: "ann"}), http.MethodPost, "/api/v1/push/verify", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		n.servers[node].answer(w, r)
		return w
	}
	for node := range n.servers {
		var got compare.Report
		w := verify(node, "{}")
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || got.Stored != 3 || got.Indexed != 3 ||
			!slices.Equal(got.Missing.Samples, []string{"http://n1/item"}) || !slices.Equal(got.Foreign.Samples, []string{"http://foreign/"}) {
			t.Errorf("node %d: %d %s, %v", node, w.Code, w.Body, err)
		}
		for _, mend := range []string{`{"repair":true}`, `{"delete_foreign":true}`} {
			if w := verify(node, mend); w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), codeSeveral) {
				t.Errorf("%s: %d %s", mend, w.Code, w.Body)
			}
		}
	}
	n.missing = []whole.Node{{Name: "n3", Ask: func(context.Context, *whole.Question) (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }}}
	if w := verify(0, "{}"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "not compared") || !strings.Contains(w.Body.String(), "n3: unexpected EOF") {
		t.Errorf("without a node: %d %s", w.Code, w.Body)
	}
}
