package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// fakeDocuments reads what stands behind %PDF- as the title, and does what it says.
type fakeDocuments struct {
	hanging chan struct{} // closed when one hangs
	release chan struct{} // ends those that hang
	once    sync.Once
	read    atomic.Int64
	fourth  chan struct{} // closed when four are read
	bytes   atomic.Int64
}

func newFakeDocuments() *fakeDocuments {
	return &fakeDocuments{hanging: make(chan struct{}), release: make(chan struct{}), fourth: make(chan struct{})}
}

func (f *fakeDocuments) Read(ctx context.Context, _ string, body []byte) (extract.Page, error) {
	f.bytes.Add(int64(len(body)))
	word, _, _ := strings.Cut(strings.TrimPrefix(string(body), "%PDF-"), "\n")
	switch word {
	case "hangs":
		f.once.Do(func() { close(f.hanging) })
		select {
		case <-f.release:
			return extract.Page{}, &documents.Error{Reason: documents.TooSlow, Words: "on purpose"}
		case <-ctx.Done():
			return extract.Page{}, ctx.Err()
		}
	case "crashes":
		return extract.Page{}, &documents.Error{Reason: documents.Crashed, Words: "on purpose"}
	case "damaged":
		return extract.Page{}, &documents.Error{Reason: documents.Damaged, Words: "on purpose"}
	case "odd":
		return extract.Page{}, errors.New("no *documents.Error")
	}
	if f.read.Add(1) == 4 {
		close(f.fourth)
	}
	return extract.Page{Title: word, Text: "text of " + word, Links: []extract.Link{{Href: "/behind-" + word}}}, nil
}

// documentServer has a root that links to files of PDF; of what stands behind them it
// has a page.
func documentServer(t *testing.T, words ...string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		word, isPDF := strings.CutSuffix(name, ".pdf")
		switch {
		case isPDF:
			w.Header().Set("Content-Type", "Application/PDF; x=y")
			fmt.Fprintf(w, "%%PDF-%s\n%s", word, strings.Repeat("x", 5000))
		case name == "long.html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, strings.Repeat("word ", 1000))
		case name == "robots.txt":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>"+name+"</title><a href='/long.html'>x</a>")
			for _, word := range words {
				fmt.Fprintf(w, "<a href='/%s.pdf'>x</a>", word)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// TestDocuments: links of documents go by the rules; one that hangs or crashes its
// worker is indexed by its metas, and all others are read meanwhile.
func TestDocuments(t *testing.T) {
	fake := newFakeDocuments()
	words := []string{"hangs", "crashes", "odd", "a", "b", "c", "d"}
	server := documentServer(t, words...)
	b := newBench(t, server.URL+"/")
	b.settings.Documents, b.settings.MaxPDFBytes, b.settings.Fetcher.MaxBodyBytes = fake, 10_000, 1000
	b.settings.Frontier.MaxTemporaryErrors = 1
	var status Status
	b.with(func(c *Crawl, _ *store.Store) {
		ended := make(chan error)
		go func() { ended <- c.Run(t.Context(), Once{Drain: true}) }()
		<-fake.hanging
		<-fake.fourth
		close(fake.release)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		var err error
		if status, err = c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	b.verify()
	for _, word := range []string{"a", "b", "c", "d"} {
		if d := b.target.documents[server.URL+"/"+word+".pdf"]; d.Title != word || d.Text != "text of "+word || d.ContentType != "application/pdf" || d.Metas["extraction_error"] != nil {
			t.Errorf("%s.pdf: %+v", word, d)
		}
		if d := b.target.documents[server.URL+"/behind-"+word]; d.Title != "behind-"+word || d.Referrer != server.URL+"/"+word+".pdf" {
			t.Errorf("behind %s.pdf: %+v", word, d)
		}
	}
	for word, reason := range map[string]string{"hangs": "too-slow", "crashes": "crashed", "odd": "crashed"} {
		d := b.target.documents[server.URL+"/"+word+".pdf"]
		if diff := cmp.Diff(map[string][]string{"extraction_error": {reason}}, d.Metas); diff != "" || d.Text != "" || d.Title == "" {
			t.Errorf("%s.pdf: %+v\n%s", word, d, diff)
		}
	}
	want := &meter.DocumentsStatus{Read: map[string]int64{"pdf": 4}, Failed: map[string]map[string]int64{"pdf": {"too-slow": 1, "crashed": 2}}}
	if diff := cmp.Diff(want, status.Documents); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got, want := fake.bytes.Load(), int64(7*5000+len("%PDF-hangs\n%PDF-crashes\n%PDF-odd\n%PDF-a\n%PDF-b\n%PDF-c\n%PDF-d\n")); got != want {
		t.Errorf("%d bytes were given to be read, want %d: a PDF has its own limit", got, want)
	}
	if d := b.target.documents[server.URL+"/long.html"]; d.Metas["truncated"] == nil {
		t.Errorf("long.html is not cut: %+v", d)
	}
}

// TestDocumentContextEnds: a document that is being read when the crawl is ended at
// once is as if it had not been fetched.
func TestDocumentContextEnds(t *testing.T) {
	fake := newFakeDocuments()
	server := documentServer(t, "hangs")
	b := newBench(t, server.URL+"/")
	b.settings.Documents, b.settings.Frontier.MaxTemporaryErrors = fake, 1
	b.with(func(c *Crawl, _ *store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx, Once{Drain: true}) }()
		<-fake.hanging
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	b.verify()
	if r, ok := b.record(server.URL + "/hangs.pdf"); !ok || r.Status != 0 || r.Indexed {
		t.Errorf("it is %+v, want it as it was before", r)
	}
	close(fake.release)
	b.once()
	if d, ok := b.target.documents[server.URL+"/hangs.pdf"]; !ok || d.Metas["extraction_error"] == nil {
		t.Errorf("after the next start: %+v", d)
	}
}

// TestUnreadDocumentChanges: the bytes of a document that cannot be read decide
// whether it is another one.
func TestUnreadDocumentChanges(t *testing.T) {
	var body atomic.Value
	body.Store("%PDF-damaged\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		fmt.Fprint(w, body.Load())
	}))
	defer server.Close()
	b := newBench(t, server.URL+"/")
	b.settings.Documents = newFakeDocuments()
	b.once()
	if got := b.newOrders(); len(got) != 1 {
		t.Fatalf("orders %v", got)
	}
	b.once(server.URL + "/")
	if got := b.newOrders(); len(got) != 0 {
		t.Errorf("unchanged, and yet: %v", got)
	}
	body.Store("%PDF-damaged\nother bytes")
	b.once(server.URL + "/")
	if got := b.newOrders(); len(got) != 1 {
		t.Errorf("changed, and yet: %v", got)
	}
}
