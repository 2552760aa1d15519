package store

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex of queued guards its records: the committer adds them, and callers of Store.Queue take them out.

// touchSlots is the number of slots for all stores of a process, together 2 MiB. With 16,384 URLs in memory, the most
// that the frontier reads ahead, about one in 16 of them is read again unnecessarily.
const touchSlots = 1 << 18

// touched holds the number of the batch in which a URL's stored record was last changed or removed. URLs whose keys
// fall into the same slot share a number, so it may be too high, which costs a read, but never too low. New records do
// not count.
type touched struct {
	first uint64 // the number at Open: changes before it are unknown
	slots []uint64
}

// newTouched returns the touched of one of stores stores in a process.
func newTouched(first uint64, stores int) touched {
	return touched{first: first, slots: make([]uint64, touchSlots/stores)}
}

func (t touched) slot(k weburl.Key) *uint64 {
	c := k.Chance()
	return &t.slots[binary.LittleEndian.Uint32(c[8:])%uint32(len(t.slots))]
}

// touch records that the batch in the making changes the record of k.
func (g *group) touch(k weburl.Key) { *g.s.touched.slot(k) = g.batch.no }

// unchanged reports whether the record of k is the same as in a snapshot that was opened when the batch asOf was
// durable.
func (g *group) unchanged(k weburl.Key, asOf uint64) bool {
	return asOf >= g.s.touched.first && *g.s.touched.slot(k) <= asOf
}

// queuedBytes bounds the records that all stores of a process keep in memory for Queue.
const queuedBytes = 2 << 20

// queued holds stored records of URLs that wait, so that reading a queue soon after costs no read for each URL. If it
// is full, it keeps those that came first, because they are read first.
type queued struct {
	mu      sync.Mutex
	records map[weburl.Key]queuedRecord
	left    int // bytes
}

type queuedRecord struct {
	value []byte
	asOf  uint64 // the batch that stored it
}

func newQueued(most int) queued { return queued{records: map[weburl.Key]queuedRecord{}, left: most} }

// learn follows a durable change of a URL's record.
func (q *queued) learn(k weburl.Key, value []byte, asOf uint64) {
	waits := record.Waits(value)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(k)
	if waits && len(value) <= q.left {
		q.records[k] = queuedRecord{bytes.Clone(value), asOf}
		q.left -= len(value)
	}
}

// take removes and returns a URL's record. The value is nil if it is not in memory.
func (q *queued) take(k weburl.Key) queuedRecord {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.remove(k)
}

func (q *queued) remove(k weburl.Key) queuedRecord {
	r, ok := q.records[k]
	if ok {
		delete(q.records, k)
		q.left += len(r.value)
	}
	return r
}
