// Package tally counts events of the last while in constant memory, over restarts and jumps of
// the clock: the deletions of a host, and those of the whole index. It has no lock and starts no
// goroutine.
package tally

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// A Tally is stored in the form of varints: the time of the last event, the number of
// slots, and for each slot how long before that it began, and its count.

// slotsMost is into how many parts the time of a tally is cut at most: what it counts
// leaves it up to one part late, never early.
const slotsMost = 60

// Tally counts events of the last while, in constant memory however many there are. Its zero
// value has counted none. A
// clock that is set back moves what was counted with it, so that it gets neither younger
// nor older by that.
type Tally struct {
	slots []slot // oldest first
	last  time.Time
}

type slot struct {
	from time.Time
	n    int
}

// Add counts n events. span is the longest time that is ever asked for.
func (t *Tally) Add(now time.Time, span time.Duration, n int) {
	t.Advance(now, span)
	part := span / (slotsMost - 1)
	if i := len(t.slots); i == 0 || now.Sub(t.slots[i-1].from) >= part {
		t.slots = append(t.slots, slot{from: now})
	}
	t.slots[len(t.slots)-1].n += n
}

// Advance drops what is older than span.
func (t *Tally) Advance(now time.Time, span time.Duration) {
	if back := t.last.Sub(now); back > 0 {
		for i := range t.slots {
			t.slots[i].from = t.slots[i].from.Add(-back)
		}
	}
	t.last = now
	gone := 0
	for gone < len(t.slots) && (now.Sub(t.slots[gone].from) >= span+span/(slotsMost-1) || len(t.slots)-gone > slotsMost) {
		gone++
	}
	t.slots = slices.Delete(t.slots, 0, gone)
}

// Within counts the events of the last while, which is no longer than span.
func (t *Tally) Within(now time.Time, while, span time.Duration) int {
	t.Advance(now, span)
	n := 0
	for _, s := range t.slots {
		if now.Sub(s.from) < while+span/(slotsMost-1) {
			n += s.n
		}
	}
	return n
}

// TakeBack is told that some of the latest events were none.
func (t *Tally) TakeBack(n int) {
	for i := len(t.slots) - 1; i >= 0 && n > 0; i-- {
		back := min(n, t.slots[i].n)
		t.slots[i].n -= back
		n -= back
	}
}

// Append writes the tally behind b.
func (t *Tally) Append(b []byte) []byte {
	b = binary.AppendVarint(b, t.last.UnixNano())
	b = binary.AppendUvarint(b, uint64(len(t.slots)))
	for _, s := range t.slots {
		b = binary.AppendVarint(b, int64(t.last.Sub(s.from)))
		b = binary.AppendUvarint(b, uint64(s.n)) //nolint:gosec // a count
	}
	return b
}

// Empty reports whether nothing is counted.
func (t *Tally) Empty() bool { return len(t.slots) == 0 }

// ErrUnreadable is for stored counts that are damaged.
var ErrUnreadable = errors.New("a count of deletions cannot be read")

// Read reads what Append wrote; r.Bad says that it cannot be read. What it holds has aged since, but not by a clock
// that was set back.
func Read(r *Reader, now time.Time) (t Tally) {
	last := time.Unix(0, r.Signed())
	passed := max(now.Sub(last), 0)
	n := r.Count()
	if n > slotsMost+1 {
		r.Bad = true
	}
	for ; n > 0 && !r.Bad; n-- {
		age := time.Duration(r.Signed())
		if age < 0 { // it would count for ever
			r.Bad = true
			break
		}
		t.slots = append(t.slots, slot{from: now.Add(-passed - age), n: r.Count()})
	}
	t.last = now
	return t
}

// Reader reads numbers of encoding/binary from Rest; Bad says that one could not be read.
type Reader struct {
	Rest []byte
	Bad  bool
}

// Signed reads a signed number.
func (r *Reader) Signed() int64 {
	n, size := binary.Varint(r.Rest)
	r.skip(size)
	return n
}

func (r *Reader) unsigned() uint64 {
	n, size := binary.Uvarint(r.Rest)
	r.skip(size)
	return n
}

// Count reads a number that is no larger than a count can be.
func (r *Reader) Count() int {
	n := r.unsigned()
	if n > 1<<31 {
		r.Bad = true
		return 0
	}
	return int(n)
}

func (r *Reader) skip(size int) {
	if size <= 0 {
		r.Bad, r.Rest = true, nil
		return
	}
	r.Rest = r.Rest[size:]
}
