package store

import (
	"bytes"
	"hash/maphash"
	"iter"
)

// edit is a new value of a key; nil: the key is removed.
type edit struct {
	key, value []byte
	hash       uint64
	before     int32 // the edit of the same key that this one replaces, -1 if there is none
	replaced   bool
}

// edits are the changes of a batch, indexed by key. Those from mark on belong to the current step, which can be taken
// back. Keys and short values are copied into an arena that is reused for the next batch. They belong to the owner of
// the batch.
//
// A map[string]int32 in place of slots costs 2 to 3 µs more for a page with 20 links (BenchmarkEdits), of some 75 µs
// that the store takes for it (BenchmarkComplete).
type edits struct {
	seed  maphash.Seed
	list  []edit
	slots []int32 // a hash table with open addressing: index in list, plus one; 0: free
	arena arena
	long  int64 // kv.Limits.Long

	size, bytes int64 // as kv.Limits counts it, and of values
	count       int64 // edits that are not replaced
	mark        int   // where the step begins
}

// byReference is the length from which a value is not copied.
const byReference = 1 << 10

func newEdits(long int64) edits {
	return edits{seed: maphash.MakeSeed(), slots: make([]int32, 1<<12), long: long}
}

// slot returns the index of a key in the hash table, or where it belongs.
func (e *edits) slot(hash uint64, key []byte) int {
	mask := len(e.slots) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		n := e.slots[i]
		if n == 0 {
			return i
		}
		if old := &e.list[n-1]; old.hash == hash && bytes.Equal(old.key, key) {
			return i
		}
	}
}

// find returns the newest value of a key; ok is false if the key was not changed.
func (e *edits) find(key []byte) (value []byte, ok bool) {
	if len(e.list) == 0 {
		return nil, false
	}
	n := e.slots[e.slot(maphash.Bytes(e.seed, key), key)]
	if n == 0 {
		return nil, false
	}
	return e.list[n-1].value, true
}

// set changes a key. A long value must not be changed afterwards; key may.
func (e *edits) set(key, value []byte) {
	if value != nil && len(value) < byReference {
		value = e.arena.keep(value)
	}
	hash := maphash.Bytes(e.seed, key)
	i := e.slot(hash, key)
	before := e.slots[i] - 1
	if int(before) >= e.mark {
		e.measure(&e.list[before], -1)
		e.list[before].value = value
		e.measure(&e.list[before], 1)
		return
	}
	n := edit{value: value, hash: hash, before: before}
	if before >= 0 {
		old := &e.list[before]
		old.replaced, n.key = true, old.key
		e.measure(old, -1)
	} else {
		n.key = e.arena.keep(key)
	}
	e.list = append(e.list, n)
	e.measure(&n, 1)
	e.slots[i] = int32(len(e.list))
	if 2*len(e.list) > len(e.slots) {
		e.grow()
	}
}

func (e *edits) measure(n *edit, by int64) {
	size := int64(len(n.key)) + 12
	if int64(len(n.value)) < e.long {
		size += int64(len(n.value))
	} else {
		size += 12
	}
	e.size += by * size
	e.bytes += by * int64(len(n.value))
	e.count += by
}

// grow doubles the hash table. The edits enter it in their original order, as takeBack requires.
func (e *edits) grow() {
	e.slots = make([]int32, 2*len(e.slots))
	for i := range e.list {
		e.slots[e.slot(e.list[i].hash, e.list[i].key)] = int32(i + 1)
	}
}

// keepStep makes the step final.
func (e *edits) keepStep() { e.mark = len(e.list) }

// takeBack undoes the step, last edit first, so that each is the last of its chain in the hash table. It returns the
// undone edits, valid until the arena is reused.
func (e *edits) takeBack() []edit {
	step := e.list[e.mark:]
	for i := len(e.list) - 1; i >= e.mark; i-- {
		n := &e.list[i]
		e.measure(n, -1)
		e.slots[e.slot(n.hash, n.key)] = n.before + 1
		if n.before >= 0 {
			e.list[n.before].replaced = false
			e.measure(&e.list[n.before], 1)
		}
	}
	e.list = e.list[:e.mark]
	return step
}

// all returns the newest values of all keys.
func (e *edits) all() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for i := range e.list {
			if n := &e.list[i]; !n.replaced && !yield(n.key, n.value) {
				return
			}
		}
	}
}

// clear empties the edits and releases unusually large memory.
func (e *edits) clear() {
	const most = 1 << 16
	if cap(e.list) > most {
		e.list = nil
	}
	if len(e.slots) > 2*most {
		e.slots = make([]int32, 1<<12)
	}
	clear(e.list)
	clear(e.slots)
	e.list = e.list[:0]
	e.arena.clear()
	e.size, e.bytes, e.count, e.mark = 0, 0, 0, 0
}

// arena stores short byte slices together.
type arena struct {
	chunks [][]byte // all but the last are full
	spare  [][]byte
}

const (
	arenaChunk  = 256 << 10
	arenaSpares = 8 // chunks that are kept for later
)

// keep copies b; the copy is never nil.
func (a *arena) keep(b []byte) []byte {
	last := len(a.chunks) - 1
	if last < 0 || cap(a.chunks[last])-len(a.chunks[last]) < len(b) {
		a.next()
		last = len(a.chunks) - 1
	}
	c := a.chunks[last]
	n := len(c)
	c = append(c, b...)
	a.chunks[last] = c
	return c[n:len(c):len(c)]
}

func (a *arena) next() {
	if n := len(a.spare); n > 0 {
		a.chunks, a.spare = append(a.chunks, a.spare[n-1]), a.spare[:n-1]
		return
	}
	a.chunks = append(a.chunks, make([]byte, 0, arenaChunk))
}

func (a *arena) clear() {
	for _, c := range a.chunks {
		if len(a.spare) < arenaSpares {
			a.spare = append(a.spare, c[:0])
		}
	}
	clear(a.chunks)
	a.chunks = a.chunks[:0]
}
