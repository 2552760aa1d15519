package crawl

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
)

// judge holds the policy in force. Any number of goroutines may ask at once.
type judge struct {
	current atomic.Pointer[policy]

	mu    sync.Mutex
	pages map[*policy]int // in flight, by the policy they began with
}

func newJudge(p *policy) *judge {
	j := &judge{pages: map[*policy]int{}}
	j.current.Store(p)
	return j
}

// begin gives the policy in force to a page, which ends with end.
func (j *judge) begin() *policy {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.current.Load()
	j.pages[p]++
	return p
}

func (j *judge) end(p *policy) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pages[p]--; j.pages[p] > 0 {
		return
	}
	delete(j.pages, p)
	if now := j.current.Load(); now.accesses[0] != p.accesses[0] {
		p.accesses.close()
	}
}

// swap puts a policy in force.
func (j *judge) swap(p *policy) {
	j.mu.Lock()
	defer j.mu.Unlock()
	old := j.current.Swap(p)
	if old.accesses[0] != p.accesses[0] {
		old.accesses.close()
	}
}

// superseded says that a page is in flight that began under other rules or ages.
func (j *judge) superseded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.current.Load()
	for p := range j.pages {
		if !p.same(now) {
			return true
		}
	}
	return false
}

// storedPolicy compiles the settings with the moved sites that the store remembers.
func storedPolicy(ctx context.Context, s Settings, store scheduler.Reader) (*policy, error) {
	moved, err := storedMoves(ctx, store)
	if err != nil {
		return nil, err
	}
	return newPolicy(s, moved)
}
