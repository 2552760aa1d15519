package scheduler

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// A tally is stored in the form of varints: the time of the last event, the number of
// slots, and for each slot how long before that it began, and its count.

// tallySlots is into how many parts the time of a tally is cut at most: what it counts
// leaves it up to one part late, never early.
const tallySlots = 60

// tally counts events of the last while, in constant memory however many there are. A
// clock that is set back moves what was counted with it, so that it gets neither younger
// nor older by that.
type tally struct {
	slots []slot // oldest first
	last  time.Time
}

type slot struct {
	from time.Time
	n    int
}

// add counts n events. span is the longest time that is ever asked for.
func (t *tally) add(now time.Time, span time.Duration, n int) {
	t.advance(now, span)
	part := span / (tallySlots - 1)
	if i := len(t.slots); i == 0 || now.Sub(t.slots[i-1].from) >= part {
		t.slots = append(t.slots, slot{from: now})
	}
	t.slots[len(t.slots)-1].n += n
}

// advance drops what is older than span.
func (t *tally) advance(now time.Time, span time.Duration) {
	if back := t.last.Sub(now); back > 0 {
		for i := range t.slots {
			t.slots[i].from = t.slots[i].from.Add(-back)
		}
	}
	t.last = now
	gone := 0
	for gone < len(t.slots) && (now.Sub(t.slots[gone].from) >= span+span/(tallySlots-1) || len(t.slots)-gone > tallySlots) {
		gone++
	}
	t.slots = slices.Delete(t.slots, 0, gone)
}

// within counts the events of the last while, which is no longer than span.
func (t *tally) within(now time.Time, while, span time.Duration) int {
	t.advance(now, span)
	n := 0
	for _, s := range t.slots {
		if now.Sub(s.from) < while+span/(tallySlots-1) {
			n += s.n
		}
	}
	return n
}

// takeBack is told that some of the latest events were none.
func (t *tally) takeBack(n int) {
	for i := len(t.slots) - 1; i >= 0 && n > 0; i-- {
		back := min(n, t.slots[i].n)
		t.slots[i].n -= back
		n -= back
	}
}

// append writes the tally behind b.
func (t *tally) append(b []byte) []byte {
	b = binary.AppendVarint(b, t.last.UnixNano())
	b = binary.AppendUvarint(b, uint64(len(t.slots)))
	for _, s := range t.slots {
		b = binary.AppendVarint(b, int64(t.last.Sub(s.from)))
		b = binary.AppendUvarint(b, uint64(s.n)) //nolint:gosec // a count
	}
	return b
}

var errTally = errors.New("a count of deletions cannot be read")

// readTally reads what append wrote. What it holds has aged since, but not by a clock
// that was set back.
func readTally(r *varints, now time.Time) (t tally) {
	last := time.Unix(0, r.signed())
	passed := max(now.Sub(last), 0)
	n := r.count()
	if n > tallySlots+1 {
		r.bad = true
	}
	for ; n > 0 && !r.bad; n-- {
		age := time.Duration(r.signed())
		if age < 0 { // it would count for ever
			r.bad = true
			break
		}
		t.slots = append(t.slots, slot{from: now.Add(-passed - age), n: r.count()})
	}
	t.last = now
	return t
}

// varints reads numbers of encoding/binary.
type varints struct {
	rest []byte
	bad  bool
}

func (r *varints) signed() int64 {
	n, size := binary.Varint(r.rest)
	r.skip(size)
	return n
}

func (r *varints) unsigned() uint64 {
	n, size := binary.Uvarint(r.rest)
	r.skip(size)
	return n
}

func (r *varints) count() int {
	n := r.unsigned()
	if n > 1<<31 {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *varints) skip(size int) {
	if size <= 0 {
		r.bad, r.rest = true, nil
		return
	}
	r.rest = r.rest[size:]
}
