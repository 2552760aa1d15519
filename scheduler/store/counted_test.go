package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// endingContext ends after a number of calls of Err, which walks make at each key.
type endingContext struct {
	context.Context
	cancel context.CancelFunc
	left   int
}

func (c *endingContext) Err() error {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// A count of what the committer is still at is none.
func TestCountsAfterTheContextEnds(t *testing.T) {
	b := newBench(t, "x")
	for i := range 20 {
		b.crawl(fmt.Sprintf("http://a.test/%d", i), deletion())
	}
	entries, err := b.o.Entries(t.Context(), 0, 20, 1<<20)
	b.must(err)
	for _, e := range entries[:10] {
		b.must(b.o.AddDead(t.Context(), "x", e, "bad", time.Unix(5, 0)))
	}
	for name, change := range map[string]func(context.Context) (int, error){
		"RetryDead": func(ctx context.Context) (int, error) { return b.s.RetryDead(ctx, push.Selection{}) },
		"DropDead":  func(ctx context.Context) (int, error) { return b.s.DropDead(ctx, push.Selection{}) },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if n, err := change(&endingContext{ctx, cancel, 6}); n != 0 || err == nil {
			t.Errorf("%s with a context that ends amid it: %d, %v", name, n, err)
		}
	}
}
