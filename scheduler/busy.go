package scheduler

import "sync"

// Busy keeps Drained waiting until the returned function is called: for who may
// add URLs after the lease that gives rise to them has ended. The function may be
// called more than once.
func (f *Frontier) Busy() (done func()) {
	f.mu.Lock()
	f.busy++
	f.mu.Unlock()
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.busy--; f.busy == 0 {
			f.signal()
		}
	})
}
