package badgerstore

import "sync"

// The settler is one goroutine. Its mutex guards the list of what is to be told; committer
// and writer only add to that, so that neither ever waits for a caller.

// settler tells the callers of Complete what came of it, one after the other and in order of
// the commits. What it has to tell is as much as its callers have under way.
type settler struct {
	some chan struct{} // there are some; capacity 1

	mu   sync.Mutex
	list []settlement
}

type settlement struct {
	settled func(error)
	err     error
}

func newSettler() settler { return settler{some: make(chan struct{}, 1)} }

// push has those of the writes told that are to be settled.
func (t *settler) push(err error, writes ...*write) {
	t.mu.Lock()
	for _, w := range writes {
		if w.settled != nil {
			t.list = append(t.list, settlement{w.settled, err})
		}
	}
	t.mu.Unlock()
	select {
	case t.some <- struct{}{}:
	default:
	}
}

// run tells until stop is closed, which is when no method is under way any more, and calls
// after each time.
func (t *settler) run(stop <-chan struct{}, after func()) {
	var list []settlement
	for {
		select {
		case <-t.some:
		case <-stop:
			return
		}
		t.mu.Lock()
		list, t.list = t.list, list[:0]
		t.mu.Unlock()
		for _, l := range list {
			l.settled(l.err)
			after()
		}
		clear(list)
	}
}
