package segments

import (
	"sync"

	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

// The mutex of recent guards all of it. The store's writer adds bodies; readers of orders look them up.

// RecentBytes bounds the bodies that all stores of a process keep in memory after writing: the relay is a few commits
// behind the crawl, unless a target is slow.
const RecentBytes = 4 << 20

// recent keeps the bodies written last, so that the relay need not read them from a file. The zero value keeps none.
type recent struct {
	mu     sync.Mutex
	most   int // bytes
	bodies map[record.BodyPlace][]byte
	order  []record.BodyPlace // the oldest first
	bytes  int
}

// Remember keeps durable bodies for Recent. They must not change afterwards.
func (f *Files) Remember(bodies []Body) {
	r := &f.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bodies == nil {
		r.bodies = map[record.BodyPlace][]byte{}
	}
	for i := range bodies {
		b := &bodies[i]
		if _, ok := r.bodies[b.Place]; ok {
			continue
		}
		r.bodies[b.Place] = b.Bytes
		r.order = append(r.order, b.Place)
		r.bytes += cap(b.Bytes)
	}
	gone := 0
	for ; r.bytes > r.most; gone++ {
		r.bytes -= cap(r.bodies[r.order[gone]])
		delete(r.bodies, r.order[gone])
	}
	r.order = append(r.order[:0], r.order[gone:]...)
}

// Recent returns the body at a place if it is remembered, else nil. The body must not be changed. Recent may be called
// concurrently.
func (f *Files) Recent(p record.BodyPlace) []byte {
	r := &f.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies[p]
}
