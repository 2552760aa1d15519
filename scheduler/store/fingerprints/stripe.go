package fingerprints

import (
	"encoding/binary"
	"sync"
	"unsafe"
)

// Each stripe has a lock. The one goroutine that may change the set locks it for writing; Has, Save and the figures
// lock it for reading.

const (
	// splitAt is the number of fingerprints at which a stripe is split into shards: moving half of them for a new one
	// costs a microsecond, and the table of shards a quarter of a byte for each.
	splitAt = 8192

	wholeWidth = 6 // bytes of a fingerprint in a stripe of one shard
	shardWidth = 5 // and in one of 256: the first byte is the shard's number

	// padding allows the last slot to be read as a whole word.
	padding = 8

	stripeBytes = int(unsafe.Sizeof(stripe{}))
	shardBytes  = int(unsafe.Sizeof(shard{}))
)

// stripe holds the fingerprints with the same first byte.
type stripe struct {
	mu sync.RWMutex
	n  uint32
	// table has one shard or 256, and one more that begins where the slots end.
	table []shard
	slots []byte
	mem   *region // of slots
}

// shard is a run of slots: from start on, n ascending fingerprints, and then free slots up to the start of the next
// shard.
type shard struct{ start, n uint32 }

func (st *stripe) whole() bool { return len(st.table) == 2 }

func (st *stripe) width() uint32 {
	if st.whole() {
		return wholeWidth
	}
	return shardWidth
}

func (st *stripe) bytes() int64 {
	if st.mem == nil {
		return 0
	}
	return int64(len(st.mem.b) + shardBytes*cap(st.table))
}

func (st *stripe) at(slot, width uint32) uint64 {
	return binary.BigEndian.Uint64(st.slots[slot*width:]) >> (64 - 8*width)
}

func put(slot []byte, width uint32, v uint64) {
	for i := range width {
		slot[i] = byte(v >> (8 * (width - 1 - i)))
	}
}

// place splits a value into its shard and the part that is stored there.
func (st *stripe) place(v uint64) (shard int, kept uint64) {
	if st.whole() {
		return 0, v
	}
	return int(v >> 40), v & (1<<40 - 1)
}

// find returns the slot of a value, or the one where it belongs.
func (st *stripe) find(v uint64) (shard int, slot uint32, found bool) {
	shard, kept := st.place(v)
	sh, width := st.table[shard], st.width()
	first, end := sh.start, sh.start+sh.n
	if sh.n == 0 {
		return shard, first, false
	}
	// Evenly spread values are close to the position that their size implies; the value found there gives the remaining
	// distance.
	bits := 8 * width
	i := first + uint32(kept*uint64(sh.n)>>bits)
	ahead := (int64(kept) - int64(st.at(i, width))) * int64(sh.n) >> bits
	i = uint32(min(max(int64(i)+ahead, int64(first)), int64(end)-1))
	for i < end && st.at(i, width) < kept {
		i++
	}
	for i > first && st.at(i-1, width) >= kept {
		i--
	}
	return shard, i, i < end && st.at(i, width) == kept
}

// insert puts a value into the slot that find returned; false: the shard is full.
func (st *stripe) insert(shard int, slot uint32, v uint64) bool {
	sh, width := &st.table[shard], st.width()
	end := sh.start + sh.n
	if end == st.table[shard+1].start {
		return false
	}
	copy(st.slots[(slot+1)*width:(end+1)*width], st.slots[slot*width:end*width])
	_, kept := st.place(v)
	put(st.slots[slot*width:], width, kept)
	sh.n++
	st.n++
	return true
}

func (st *stripe) remove(shard int, slot uint32) {
	sh, width := &st.table[shard], st.width()
	end := sh.start + sh.n
	copy(st.slots[slot*width:], st.slots[(slot+1)*width:end*width])
	sh.n--
	st.n--
}

// sparse reports whether more than half of the memory is unused.
func (st *stripe) sparse() bool {
	return st.bytes() > 4096+2*int64(st.n)*int64(wholeWidth)+int64(shardBytes*cap(st.table))
}

// room returns the number of slots for a shard with n fingerprints: enough that 256 shards which grow alike do not all
// fill up at once.
func room(n uint32) uint32 { return n + n/8 + 4 }

// reserve makes an empty stripe with space for n values.
func (st *stripe) reserve(n int) {
	if n < splitAt {
		st.layOut([]uint32{room(uint32(n))})
		return
	}
	sizes := make([]uint32, shards)
	for i := range sizes {
		sizes[i] = room(uint32(n / shards))
	}
	st.layOut(sizes)
}

// layOut gives the stripe new, empty memory with shards of these sizes.
func (st *stripe) layOut(sizes []uint32) {
	st.table = make([]shard, len(sizes)+1)
	end := uint32(0)
	for i, n := range sizes {
		st.table[i].start = end
		end += n
	}
	width := st.width()
	st.mem = newRegion(int(end*width) + padding)
	st.slots = st.mem.b
	// The allocator's surplus goes to the last shard.
	st.table[len(sizes)].start = uint32(len(st.slots)-padding) / width
	st.n = 0
}

// build fills the stripe with sorted values of wholeWidth bytes each.
func (st *stripe) build(sorted []byte) {
	n := len(sorted) / wholeWidth
	if n < splitAt {
		st.layOut([]uint32{uint32(n) + uint32(n)/16 + 4})
		copy(st.slots, sorted)
		st.table[0].n = uint32(n)
		st.n = uint32(n)
		return
	}
	var counts [shards]uint32
	for i := range n {
		counts[sorted[i*wholeWidth]]++
	}
	sizes := make([]uint32, shards)
	for i, c := range counts {
		sizes[i] = room(c)
	}
	st.layOut(sizes)
	for i := range n {
		v := sorted[i*wholeWidth : (i+1)*wholeWidth]
		sh := &st.table[v[0]]
		copy(st.slots[(sh.start+sh.n)*shardWidth:], v[1:])
		sh.n++
	}
	st.n = uint32(n)
}

// grow lays the stripe out again, with free slots in each shard.
func (st *stripe) grow() {
	old := st.mem
	if st.whole() || st.n < splitAt/2 {
		st.build(st.sorted(nil))
	} else {
		st.spread()
	}
	old.free()
}

// spread copies the shards of a split stripe to new memory.
func (st *stripe) spread() {
	slots, table := st.slots, st.table
	sizes := make([]uint32, shards)
	for i := range sizes {
		sizes[i] = room(table[i].n)
	}
	n := st.n
	st.layOut(sizes)
	for i := range sizes {
		from, to := table[i], &st.table[i]
		copy(st.slots[to.start*shardWidth:], slots[from.start*shardWidth:(from.start+from.n)*shardWidth])
		to.n = from.n
	}
	st.n = n
}

// sorted appends all values, in order, each of wholeWidth bytes.
func (st *stripe) sorted(to []byte) []byte {
	if st.whole() {
		return append(to, st.slots[:st.n*wholeWidth]...)
	}
	for i, sh := range st.table[:shards] {
		for j := sh.start; j < sh.start+sh.n; j++ {
			to = append(to, byte(i))
			to = append(to, st.slots[j*shardWidth:(j+1)*shardWidth]...)
		}
	}
	return to
}
