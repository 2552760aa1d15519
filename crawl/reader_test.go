package crawl

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// troubledReader reads documents, or fails for a reason as long as it has one.
type troubledReader struct{ reason atomic.Value } // of documents.Reason

func (r *troubledReader) fails(reason documents.Reason) { r.reason.Store(reason) }

func (r *troubledReader) Read(_ context.Context, _ string, body []byte) (extract.Page, error) {
	if reason, _ := r.reason.Load().(documents.Reason); reason != "" {
		return extract.Page{}, &documents.Error{Reason: reason, Words: "on purpose"}
	}
	return extract.Page{Text: strings.TrimPrefix(string(body), "%PDF-")}, nil
}

const filed = hostA + "/file.pdf"

// inOffice is a world with a page that links to a file, and a reader of files.
func inOffice(t *testing.T, fn func(t *testing.T, w *world, r *troubledReader)) {
	t.Helper()
	inWorld(t, func(t *testing.T, w *world) {
		r := &troubledReader{}
		w.settings.Documents = r
		w.page(hostA+"/", "/file.pdf")
		w.file("first")
		fn(t, w, r)
	}, hostA+"/")
}

func (w *world) file(text string) {
	w.set(filed, answered{kind: "application/pdf", body: "%PDF-" + text})
}

// text is what the indexer has of a document.
func (w *world) document(url string) (push.Document, bool) {
	w.target.mu.Lock()
	defer w.target.mu.Unlock()
	d, ok := w.target.documents[url]
	return d, ok
}

func (w *world) wantText(when, want string) {
	w.t.Helper()
	if d, _ := w.document(filed); d.Text != want {
		w.t.Errorf("%s: the text is %q, want %q (%+v)", when, d.Text, want, w.record(filed))
	}
}

// TestMachineFails: a reader that fails because of this machine takes nothing out of the index,
// however long it does, and the page is tried again soon.
func TestMachineFails(t *testing.T) {
	for _, reason := range []documents.Reason{documents.TooSlow, documents.OutOfMemory, documents.Crashed, documents.Unavailable} {
		t.Run(string(reason), func(t *testing.T) {
			inOffice(t, func(t *testing.T, w *world, r *troubledReader) {
				w.begin()
				w.quiet()
				w.wantText("at first", "first")
				w.file("the second version")
				r.fails(reason)
				w.refresh(Selection{All: true})
				if got := w.record(filed); got.Class != scheduler.Temporary || got.Reason != scheduler.ReasonReader || !strings.Contains(got.LastError, "on purpose") {
					t.Errorf("after one failure: %s, %s, %q", got.Class, got.Reason, got.LastError)
				}
				before := w.hits(filed)
				time.Sleep(80 * time.Second)
				if got := w.hits(filed) - before; got != 1 {
					t.Errorf("asked %d times again within 80 s", got)
				}
				if reason == documents.Crashed { // the days after the others go by as these do
					time.Sleep(10 * 24 * time.Hour)
					w.wantText("after ten days", "first")
					if got := w.hits(filed) - before; got < 20 || got > 50 {
						t.Errorf("asked %d times again within ten days", got)
					}
				}
				r.fails("")
				time.Sleep(readerPatience)
				w.wantText("when it reads again", "the second version")
				w.end()
			})
		})
	}
}

// readerPatience is more than a URL waits for this machine.
const readerPatience = scheduler.RetryLongest + time.Hour

// TestMachineFailsAtFirst: a new document is indexed by its URL and metas alone after
// maxTemporaryErrors. Its text comes with the next visit, though the file has not changed.
func TestMachineFailsAtFirst(t *testing.T) {
	inOffice(t, func(t *testing.T, w *world, r *troubledReader) {
		r.fails(documents.Crashed)
		w.begin()
		w.quiet()
		if d, ok := w.document(filed); ok {
			t.Errorf("indexed after one failure: %+v", d)
		}
		time.Sleep(20 * time.Minute)
		if d, ok := w.document(filed); !ok || d.Text != "" || d.Metas["extraction_error"][0] != "crashed" || w.hits(filed) != 5 {
			t.Errorf("after %d visits: %t, %+v", w.hits(filed), ok, d)
		}
		if got := w.record(filed); got.Class != scheduler.OK || got.Reason != scheduler.ReasonReader {
			t.Errorf("after %d visits: %s, %s", w.hits(filed), got.Class, got.Reason)
		}
		r.fails("")
		w.refresh(Selection{All: true})
		w.wantText("when it reads again", "first")
		w.end()
	})
}

// TestFileFails: what is wrong with the file itself is no matter of time.
func TestFileFails(t *testing.T) {
	for _, reason := range []documents.Reason{documents.Damaged, documents.Encrypted, documents.TooLarge} {
		inOffice(t, func(t *testing.T, w *world, r *troubledReader) {
			r.fails(reason)
			w.begin()
			w.quiet()
			if d, ok := w.document(filed); !ok || d.Metas["extraction_error"][0] != string(reason) {
				t.Errorf("%s: %t, %+v", reason, ok, d)
			}
			if got := w.record(filed); got.Class != scheduler.OK || got.Reason != scheduler.ReasonUnreadFile {
				t.Errorf("%s: %s, %s", reason, got.Class, got.Reason)
			}
			w.end()
		})
	}
}

// troubledSearcher finds the main content of every page, or fails as long as it has a reason.
type troubledSearcher struct{ troubledReader }

func (r *troubledSearcher) Search(ctx context.Context, _ *tree.Order, body []byte) (tree.Found, error) {
	if _, err := r.Read(ctx, "", body); err != nil {
		return tree.Found{}, err
	}
	return tree.Found{Main: "main of " + string(body)}, nil
}

// TestMainContentStays: a search for the main content that fails does not at once put the whole text in the place of
// the main content that is indexed.
func TestMainContentStays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := &troubledSearcher{}
		w.settings.Pages = r
		w.settings.Inside = &policy.Inside{Main: []func(weburl.URL) bool{func(weburl.URL) bool { return true }}}
		want := func(when, text string) {
			t.Helper()
			if d, _ := w.document(hostA + "/"); d.Text != text {
				t.Errorf("%s: the text is %q, want %q (%+v)", when, d.Text, text, w.record(hostA+"/"))
			}
		}
		first := strings.TrimSpace(strings.Repeat("The tide comes twice a day. ", 20))
		w.set(hostA+"/", answered{body: first})
		w.begin()
		w.quiet()
		want("at first", "main of "+first)
		w.set(hostA+"/", answered{body: first + " Second."})
		r.fails(documents.TooSlow)
		w.refresh(Selection{All: true})
		if got := w.record(hostA + "/"); got.Class != scheduler.Temporary || got.Reason != scheduler.ReasonReader {
			t.Errorf("after one failure: %s, %s, %q", got.Class, got.Reason, got.LastError)
		}
		want("after one failure", "main of "+first)
		r.fails("")
		time.Sleep(2 * time.Minute)
		want("after the trouble", "main of "+first+" Second.")
		w.set(hostA+"/", answered{body: first + " Third."})
		r.fails(documents.TooSlow)
		w.refresh(Selection{All: true})
		time.Sleep(time.Hour)
		want("after an hour of trouble", first+" Third.")
	}, hostA+"/")
}
