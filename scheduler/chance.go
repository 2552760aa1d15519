package scheduler

import (
	"math/rand/v2"
	"sync"
)

// The mutex of Fix guards its source of chance, which any goroutine of the Frontier may draw
// from.

// Shuffle is chance as the Frontier has it: that of math/rand, or that of Fix.
func (f *Frontier) Shuffle(n int, swap func(i, j int)) { f.shuffle(n, swap) }

// Fix makes what is left to chance the same each time. Simulations and tests
// call it before Run.
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
