package badgerstore

import (
	"encoding/binary"

	"github.com/sextant-crawler/sextant/weburl"
)

// touchSlots is how many numbers the touched of all stores of a process have: 2 MiB of them. Where 16,384 URLs are in memory, which is the most that the frontier
// reads ahead, about one in 16 of them is read again for nothing.
const touchSlots = 1 << 18

// touched tells in which batch a URL's stored record was last changed or removed, at
// the latest: URLs whose keys fall into the same slot share a number, so that it is
// sometimes too high, which costs a read, and never too low. New records do not count.
type touched struct {
	first uint64 // the number that the store was opened with: what is older is not known
	slots []uint64
}

// newTouched is the touched of one of so many stores of a process.
func newTouched(first uint64, stores int) touched {
	return touched{first: first, slots: make([]uint64, touchSlots/stores)}
}

func (t touched) slot(k weburl.Key) *uint64 {
	c := k.Chance()
	return &t.slots[binary.LittleEndian.Uint32(c[8:])%uint32(len(t.slots))]
}

// touch notes that the batch in the making changes the record of k.
func (g *group) touch(k weburl.Key) { *g.s.touched.slot(k) = g.batch.no }

// unchanged reports whether the record of k is as it was in a snapshot that was opened when
// the batch asOf was durable.
func (g *group) unchanged(k weburl.Key, asOf uint64) bool {
	return asOf >= g.s.touched.first && *g.s.touched.slot(k) <= asOf
}
