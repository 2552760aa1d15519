package crawl

import (
	"context"
	"fmt"
)

// aliveName is the value that a proof of life stores.
const aliveName = "alive"

// Alive proves that the crawl goes on: it blocks until the frontier has gone round and
// the store has answered a write, or ctx ends, which is an error. That the store
// answers with an error is none of its own: it is told where a page meets it. It is
// for a crawl that runs.
func (c *Crawl) Alive(ctx context.Context) error {
	if err := c.frontier.Alive(ctx); err != nil {
		return fmt.Errorf("the frontier does not go round: %w", err)
	}
	if err := c.store.SetValue(ctx, aliveName, nil); err != nil && ctx.Err() != nil {
		return fmt.Errorf("the store does not answer: %w", err)
	}
	return nil
}
