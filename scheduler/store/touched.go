package store

import (
	"encoding/binary"

	"github.com/sextant-crawler/sextant/weburl"
)

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
