package segments

import (
	"sync"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// The mutex of recent guards all of it. The store's writer adds, whoever reads orders looks.

// RecentBytes bounds the bodies that all stores of a process keep in memory after they were written: the relay is a few
// commits behind the crawl, unless an indexer is slow.
const RecentBytes = 4 << 20

// recent keeps the bodies that were written last, so that what is sent soon is not read from its file. The zero value keeps
// none.
type recent struct {
	mu     sync.Mutex
	most   int // bytes
	bodies map[record.BodyPlace][]byte
	order  []record.BodyPlace // the oldest first
	bytes  int
}

// Remember keeps bodies that are durable for those who ask soon. They must not change any more.
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

// Recent is the body at a place if it is remembered, else nil. It must not be changed. Anybody may ask.
func (f *Files) Recent(p record.BodyPlace) []byte {
	r := &f.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bodies[p]
}
