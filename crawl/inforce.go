package crawl

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
)

// rules are what is in force at a moment: what decides about URLs, and what fetches them.
// They are immutable; a page keeps those that it began under.
type rules struct {
	policy *policy
	gear   *gear
}

// inForce holds the rules in force and the pages in flight. Workers and background jobs
// share it. The rules are read without a lock; mu guards the pages, and is held while
// other rules come into force, so that no page begins under both.
type inForce struct {
	now atomic.Pointer[rules]

	mu    sync.Mutex
	pages map[*flight]struct{}
}

// flight is a page on its way.
type flight struct {
	rules *rules // that it began under
	ended chan struct{}
}

func newInForce(r *rules) *inForce {
	f := &inForce{pages: map[*flight]struct{}{}}
	f.now.Store(r)
	return f
}

// begin counts a page, under the rules in force, until end.
func (f *inForce) begin() *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	page := &flight{rules: f.now.Load(), ended: make(chan struct{})}
	f.pages[page] = struct{}{}
	return page
}

func (f *inForce) end(page *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pages, page)
	close(page.ended)
	f.closeUnused(page.rules.gear)
}

// swap puts other rules in force.
func (f *inForce) swap(r *rules) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closeUnused(f.now.Swap(r).gear)
}

// closeUnused closes what nothing fetches with any more. The mutex is held.
func (f *inForce) closeUnused(g *gear) {
	if f.now.Load().gear == g {
		return
	}
	for page := range f.pages {
		if page.rules.gear == g {
			return
		}
	}
	g.accesses.close()
}

// superseded reports whether a page is in flight that began under other rules or ages.
func (f *inForce) superseded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now.Load()
	for page := range f.pages {
		if !page.rules.policy.same(now.policy) {
			return true
		}
	}
	return false
}

// wait waits until the pages that are in flight now have ended.
func (f *inForce) wait(ctx context.Context) error {
	f.mu.Lock()
	pages := slices.Collect(maps.Keys(f.pages))
	f.mu.Unlock()
	for _, page := range pages {
		select {
		case <-page.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// storedPolicy compiles the settings with the moved sites that the store remembers.
func storedPolicy(ctx context.Context, s Settings, store scheduler.Store) (*policy, error) {
	moved, err := storedMoves(ctx, store)
	if err != nil {
		return nil, err
	}
	return newPolicy(s, moved)
}
