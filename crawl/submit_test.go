package crawl

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
)

// TestSubmitInBatches: many URLs are stored in a few steps, and each is told what
// became of it all the same.
func TestSubmitInBatches(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	b := newBench(t, site.URL())
	store, steps := teststore.New(t), 0
	p, err := policy.Stored(t.Context(), b.settings, store)
	if err != nil {
		t.Fatal(err)
	}
	add := func(ctx context.Context, links []scheduler.Link) error {
		steps++
		_, _, err := store.Add(ctx, links, true)
		return err
	}
	var urls []string
	for i := range submitBatch + 1 {
		urls = append(urls, fmt.Sprintf("%s?n=%d", site.URL(), i))
	}
	urls = append(urls, urls[0], urls[submitBatch], "nonsense", "http://elsewhere.example/")
	for round, want := range []map[string]int{
		{SubmitQueued: submitBatch + 1, SubmitWaiting: 2, SubmitInvalid: 1, SubmitIgnored: 1},
		{SubmitWaiting: submitBatch + 3, SubmitInvalid: 1, SubmitIgnored: 1},
	} {
		steps = 0
		submitted, err := submit(t.Context(), p, store, add, urls)
		if err != nil || steps != 2 {
			t.Errorf("round %d: %d steps, error %v", round, steps, err)
		}
		got := map[string]int{}
		for i, s := range submitted {
			got[s.Result]++
			if s.URL != urls[i] {
				t.Errorf("answer %d is of %s, want %s", i, s.URL, urls[i])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
}
