package store

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
)

// TestOpenAtOnce opens and closes one store concurrently. Each caller gets it, or the error that it is locked; none
// finds it half open or half closed.
func TestOpenAtOnce(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, openStore(t, dir, attackOptions()))
	var sides sync.WaitGroup
	var locked atomic.Int64
	for side := range 4 {
		sides.Go(func() {
			for n := 0; n < 8; {
				o := attackOptions()
				o.ReadOnly = side == 0 && n%2 == 0
				s, err := Open(dir, o)
				if errors.Is(err, scheduler.ErrLocked) {
					locked.Add(1)
					runtime.Gosched()
					continue
				}
				n++
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sides.Wait()
	t.Logf("found locked %d times", locked.Load())
	mustVerify(t, openStore(t, dir, attackOptions()))
}
