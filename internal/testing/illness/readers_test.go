package illness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	reading "github.com/sextant-crawler/sextant/fetcher/extract/documents"
)

// reader reads the PDF files of sick sites, unless it fails for a reason of this machine.
type reader struct {
	fails atomic.Pointer[reading.Reason]
}

// Read implements policy.DocumentReader.
func (r *reader) Read(_ context.Context, _ string, body []byte) (extract.Page, error) {
	if reason := r.fails.Load(); reason != nil {
		return extract.Page{}, &reading.Error{Reason: *reason, Words: "the machine has no time for it"}
	}
	file, ok := bytes.CutPrefix(body, []byte(PDFHead))
	title, text, whole := bytes.Cut(file, []byte("\n"))
	if !ok || !whole {
		return extract.Page{}, errors.New("not a file of a sick site")
	}
	return extract.Page{Title: string(title), Text: string(text)}, nil
}

// TestKilledReaders: where the machine has no means to read documents for a while, those that
// are in the index stay as they were, and a site that is crawled for the first time has all
// of its texts a day later.
func TestKilledReaders(t *testing.T) {
	reasons := []reading.Reason{reading.Crashed}
	if wantsAll() {
		reasons = append(reasons, reading.TooSlow, reading.OutOfMemory, reading.Unavailable)
	}
	for _, reason := range reasons {
		for _, pages := range sizes(2, 16) {
			t.Run(fmt.Sprintf("stored/%s/%d", reason, pages), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := &reader{}
					w := newReaderWorld(t, r, pages)
					want := w.healthy()
					time.Sleep(beforeIllness)
					from := time.Now()
					r.fails.Store(&reason)
					w.refresh(crawl.Selection{All: true, Full: true})
					time.Sleep(45 * time.Second)
					if n := len(w.index.spoiled(want, from, time.Now())); n > 0 {
						t.Errorf("%d of %d documents were emptied", n, pages)
					}
					r.fails.Store(nil)
					w.wantBack(want)
					w.end()
				})
			})
			t.Run(fmt.Sprintf("new/%s/%d", reason, pages), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := &reader{}
					r.fails.Store(&reason)
					w := newReaderWorld(t, r, pages)
					w.begin()
					time.Sleep(time.Minute)
					r.fails.Store(nil)
					time.Sleep(recovery)
					if n := w.renewed(); n != pages {
						t.Errorf("%d of %d documents have their titles a day later", n, pages)
					}
					w.end()
				})
			})
		}
	}
}

func newReaderWorld(t *testing.T, r *reader, pages int) *world {
	site := Options{Documents: pages, Answer: answerTime, PDF: true}
	return newWorld(t, site, func(s *policy.Settings) { s.Documents = r })
}
