package crawl

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher/robots"
)

// inForce holds the rules in force and the pages in flight. Workers and background jobs
// share it. The rules are read without a lock; mu guards the pages, and is held while
// other rules come into force, so that no page begins under both.
type inForce struct {
	now atomic.Pointer[visit.Rules]

	mu    sync.Mutex
	pages map[*flight]struct{}
}

// flight is a page in flight.
type flight struct {
	rules *visit.Rules // that it began under
	ended chan struct{}
}

func newInForce(r *visit.Rules) *inForce {
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
	f.closeUnused(page.rules.FetchState)
}

// swap puts other rules in force.
func (f *inForce) swap(r *visit.Rules) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closeUnused(f.now.Swap(r).FetchState)
}

// closeUnused closes resources that no fetch uses any more. The mutex is held.
func (f *inForce) closeUnused(g *visit.FetchState) {
	if f.now.Load().FetchState == g {
		return
	}
	for page := range f.pages {
		if page.rules.FetchState == g {
			return
		}
	}
	g.Accesses.Close()
}

// Superseded reports whether a page is in flight that began under other rules or ages.
func (f *inForce) Superseded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now.Load()
	for page := range f.pages {
		if !page.rules.Policy.Same(now.Policy) {
			return true
		}
	}
	return false
}

// AwaitPages waits until all pages now in flight have ended.
func (f *inForce) AwaitPages(ctx context.Context) error {
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

// Policy returns the policy in force.
func (f *inForce) Policy() *policy.Policy { return f.now.Load().Policy }

// Robots returns the cache of robots.txt in use.
func (f *inForce) Robots() *robots.Cache { return f.now.Load().FetchState.Robots }
