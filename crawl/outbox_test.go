package crawl

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// deadTarget takes nothing.
type deadTarget struct{ *memoryTarget }

func (deadTarget) Push(context.Context, []push.Entry) ([]push.Refusal, error) {
	return nil, errors.New("connection refused")
}

// TestFullOutbox: the crawl waits for the indexer when the outbox is full, gives up
// after its time, and loses nothing; with an indexer that works it goes on.
func TestFullOutbox(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 40})
	b := newBench(t, site.URL())
	b.settings.OutboxMaxBytes = 3000
	b.wrap = func(m *memoryTarget) push.Target { return deadTarget{m} }
	b.with(func(c *Crawl, _ *store.Store) {
		err := c.Run(t.Context(), Once{Drain: true, DrainTimeout: 300 * time.Millisecond})
		if !errors.Is(err, ErrIndexerDown) {
			t.Errorf("Run = %v, want ErrIndexerDown", err)
		}
	})
	if n := len(site.Visits()); n >= 40 {
		t.Errorf("%d requests were made while the outbox was full", n)
	}
	b.wrap = nil
	b.once()
	if diff := cmp.Diff(site.Documents(), b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}
