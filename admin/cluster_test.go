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

	"github.com/sextant-crawler/sextant/admin/whole"
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
	if strings.Contains(of, "n1") {
		return "n1", nil
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
	if got := n.get(t, Reader, "/api/v1/history", ""); got.Header().Get(whole.Missing) == "" {
		t.Error("the history is of one node, and does not say so")
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

// TestEveryRouteIsWhole: a path about a Crawler is merged, or its answer names who is not in it.
func TestEveryRouteIsWhole(t *testing.T) {
	s := newNodes(t).servers[0]
	for _, r := range s.routes() {
		w := httptest.NewRecorder()
		if r.whole != nil || !r.crawler {
			continue
		}
		req := httptest.NewRequestWithContext(t.Context(), r.method, r.path, nil)
		if s.forAll(&r, w, req, Caller{Role: Operator}) || !strings.Contains(w.Header().Get(whole.Missing), "n2: not asked") {
			t.Errorf("%s: %v", r.path, w.Header())
		}
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
