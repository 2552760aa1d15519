package scheduler

import (
	"math/rand/v2"
	"sync"
)

// Fix makes what is left to chance the same each time. It is to be called before Run.
func (f *Frontier) Fix(seed uint64) {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // no secret
	f.jitter = func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Float64()
	}
	f.shuffle = func(n int, swap func(i, j int)) {
		mu.Lock()
		defer mu.Unlock()
		r.Shuffle(n, swap)
	}
}

// Entries is how many hosts take memory.
func (f *Frontier) Entries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.hosts)
}

// Buffered is how many URLs that are not in flight are in memory.
func (f *Frontier) Buffered() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, h := range f.hosts {
		for q := h.queues; q != nil; q = q.sibling {
			if q.reading != nil {
				n += len(q.reading.buffer)
			}
		}
	}
	if n != f.buffered {
		panic("the number of buffered URLs is wrong")
	}
	return n
}

// Addresses is how many addresses take memory.
func (f *Frontier) Addresses() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.addresses)
}
