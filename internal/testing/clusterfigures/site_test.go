package clusterfigures

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

// site is hundreds of hosts of equally many pages, each of which is an address of this machine. Page k of a host links to its pages 2k+1 and 2k+2,
// and to two pages of other hosts.
type site struct {
	hosts, pages int
	port, text   string
	late         atomic.Int64 // answers take so many times least to most
	requests     atomic.Int64 // for pages
	waited       atomic.Int64 // how long they took, in all
	cut          atomic.Int64 // for pages, that were not waited for
}

// Answers take least to most, each address always the same.
const (
	least = 50 * time.Millisecond
	most  = 100 * time.Millisecond
)

func newSite(t *testing.T, hosts, pages int) *site {
	t.Helper()
	s := &site{hosts: hosts, pages: pages, text: strings.Repeat("Some words that all of the pages have. ", 50)}
	s.port = testport.Everywhere(t, s)
	return s
}

// hostsOfNet is how many of the addresses of a network are hosts.
const hostsOfNet = 250

func (s *site) url(host, k int) string {
	host %= s.hosts
	if k == 0 {
		return fmt.Sprintf("http://127.5.%d.%d:%s/", host/hostsOfNet, 1+host%hostsOfNet, s.port)
	}
	return fmt.Sprintf("http://127.5.%d.%d:%s/%d", host/hostsOfNet, 1+host%hostsOfNet, s.port, k)
}

// roots are elements of a configuration.
func (s *site) roots() string {
	var b strings.Builder
	for h := range s.hosts {
		fmt.Fprintf(&b, "<Root url=\"%s\"/>", s.url(h, 0))
	}
	return b.String()
}

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	var of, low, k int
	_, badHost := fmt.Sscanf(r.Host, "127.5.%d.%d:", &of, &low)
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &k); badHost != nil || err != nil && r.URL.Path != "/" || k >= s.pages {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if late := time.Duration(s.late.Load()); late > 0 {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(r.Host + r.URL.Path)) // never fails
		select {
		case <-time.After(late * (least + time.Duration(sum.Sum32()%1000)*(most-least)/1000)):
		case <-r.Context().Done():
			s.cut.Add(1)
			return
		}
	}
	h := of*hostsOfNet + low - 1
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><html><head><title>Page %d of host %d</title></head><body><p>%s", k, h, s.text)
	for _, link := range [][2]int{{h, 2*k + 1}, {h, 2*k + 2}, {h + k + 1, (2*k + 1) % s.pages}, {7*h + 13*k + 5, (2*k + 2) % s.pages}} {
		if link[1] < s.pages {
			fmt.Fprintf(&b, ` <a href="%s">a link</a>`, s.url(link[0], link[1]))
		}
	}
	b.WriteString("</body></html>")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // a crawl that is killed reads no more
	s.requests.Add(1)
	s.waited.Add(int64(time.Since(began)))
}

// receiver is a webhook that keeps of each document what tells it from another one. The mutex guards these.
type receiver struct {
	url string

	mu        sync.Mutex
	documents map[string]uint64
	moved     time.Time // when it got its last line
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{documents: map[string]uint64{}, moved: time.Now()}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/"
	return r
}

// line is one of a webhook.
type line struct {
	Document, Deletion *struct {
		URL   string `json:"url"`
		Title string `json:"title"`
		Text  string `json:"text"`
	}
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	lines := bufio.NewScanner(q.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.take(l)
	}
	if lines.Err() != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (r *receiver) take(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved = time.Now()
	switch {
	case l.Deletion != nil:
		delete(r.documents, l.Deletion.URL)
	case l.Document != nil:
		sum := fnv.New64a()
		_, _ = fmt.Fprintf(sum, "%s\n%s", l.Document.Title, l.Document.Text) // never fails
		r.documents[l.Document.URL] = sum.Sum64()
	}
}

// awaits waits for all documents of the site, and returns them. It fails when nothing has come for two minutes.
func (r *receiver) awaits(t *testing.T, s *site) map[string]uint64 {
	t.Helper()
	for want := s.hosts * s.pages; ; time.Sleep(200 * time.Millisecond) {
		r.mu.Lock()
		n, moved := len(r.documents), r.moved
		r.mu.Unlock()
		if n == want {
			break
		}
		if n > want || time.Since(moved) > 2*time.Minute {
			t.Fatalf("%d documents, of %d", n, want)
		}
	}
	for h := range s.hosts {
		for k := range s.pages {
			if _, there := r.documents[s.url(h, k)]; !there {
				t.Fatalf("%s is missing", s.url(h, k))
			}
		}
	}
	return r.documents
}
