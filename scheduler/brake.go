package scheduler

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

const (
	// brakeSlots is into how many parts the brake's window is cut: a deletion leaves
	// the window up to one part late.
	brakeSlots = 60
	// brakeName is the store's value that keeps the window over a restart.
	brakeName = "scheduler.brake"
)

// brake counts the deletions of the last window. It takes constant memory,
// however many there are.
type brake struct {
	slots []slot // oldest first
	last  time.Time
	since time.Time // of the first deletion held while any in the window is
}

type slot struct {
	from       time.Time
	sent, held int
}

// admit counts a deletion and says whether it is held: because there are too
// many, or because it is to be in any case. Held ones count as well, so that the
// brake stays on while deletions keep coming. The percentage is of what was
// indexed when the window began: what is indexed now and what the window's
// deletions removed.
func (b *brake) admit(set Brake, now time.Time, indexed uint64, hold bool) bool {
	b.advance(set, now)
	sent, held := b.count()
	if set.On && set.Window > 0 && set.passed(sent+held+1, indexed+uint64(sent)) {
		hold = true
	}
	part := set.Window / (brakeSlots - 1)
	if n := len(b.slots); n == 0 || now.Sub(b.slots[n-1].from) >= part {
		b.slots = append(b.slots, slot{from: now})
	}
	s := &b.slots[len(b.slots)-1]
	if hold {
		s.held++
	} else {
		s.sent++
	}
	if hold && b.since.IsZero() {
		b.since = now
	}
	return hold
}

// passed says whether n deletions of that many documents are too many.
func (set Brake) passed(n int, documents uint64) bool {
	if set.Min <= 0 && set.Percent <= 0 {
		return false
	}
	return (set.Min <= 0 || n > set.Min) &&
		(set.Percent <= 0 || uint64(n)*100 > uint64(set.Percent)*documents)
}

// Holds is how many of n deletions would be held that come within one window in
// which there was none before, of so many documents.
func (set Brake) Holds(n, documents uint64) uint64 {
	if !set.On || set.Window <= 0 || set.Min <= 0 && set.Percent <= 0 {
		return 0
	}
	sent := max(uint64(max(set.Min, 0)), uint64(max(set.Percent, 0))*documents/100)
	return n - min(n, sent)
}

// advance drops what has left the window. A clock that was set back moves the
// window with it: what it holds gets neither younger nor older by that.
func (b *brake) advance(set Brake, now time.Time) {
	if back := b.last.Sub(now); back > 0 {
		for i := range b.slots {
			b.slots[i].from = b.slots[i].from.Add(-back)
		}
	}
	b.last = now
	oldest := now.Add(-set.Window - set.Window/(brakeSlots-1))
	gone := 0
	for gone < len(b.slots) && (!b.slots[gone].from.After(oldest) || len(b.slots)-gone > brakeSlots) {
		gone++
	}
	b.slots = slices.Delete(b.slots, 0, gone)
	if _, held := b.count(); held == 0 {
		b.since = time.Time{}
	}
}

// count adds up the window.
func (b *brake) count() (sent, held int) {
	for _, s := range b.slots {
		sent += s.sent
		held += s.held
	}
	return sent, held
}

// note is the window as stored with a deletion. Of deletions that are stored at
// once the last to be stored wins: after a crash the window may lack as many as
// there are workers.
func (b *brake) note() Note {
	v := binary.AppendVarint(nil, b.last.UnixNano())
	v = binary.AppendVarint(v, b.since.UnixNano())
	for _, s := range b.slots {
		v = binary.AppendVarint(v, int64(b.last.Sub(s.from)))
		v = binary.AppendUvarint(v, uint64(s.sent))
		v = binary.AppendUvarint(v, uint64(s.held))
	}
	return Note{Name: brakeName, Value: v}
}

// load takes over a stored window. What it holds has aged since, but not by a
// clock that was set back.
func (b *brake) load(v []byte, now time.Time) error {
	*b = brake{}
	if len(v) == 0 {
		return nil
	}
	r := varints{rest: v}
	last, since := time.Unix(0, r.signed()), time.Unix(0, r.signed())
	passed := max(now.Sub(last), 0)
	for len(r.rest) > 0 && !r.bad {
		age := time.Duration(r.signed())
		s := slot{from: now.Add(-passed - age), sent: r.count(), held: r.count()}
		b.slots = append(b.slots, s)
	}
	if r.bad || len(b.slots) > brakeSlots+1 {
		*b = brake{}
		return fmt.Errorf("the stored %s cannot be read: %w", brakeName, ErrDamaged)
	}
	b.last = now
	if _, held := b.count(); held > 0 {
		b.since = since
	}
	return nil
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

func (r *varints) count() int {
	n, size := binary.Uvarint(r.rest)
	r.skip(size)
	if n > 1<<31 {
		r.bad = true
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
