package scheduler

import "time"

// brakeSlots is into how many parts the brake's window is cut: a deletion leaves
// the window up to one part late.
const brakeSlots = 60

// brake counts the deletions of the last window. It takes constant memory,
// however many there are.
type brake struct {
	slots [brakeSlots]slot
}

type slot struct {
	number        int64 // of the time, in parts of a window
	sent, heldOff int
}

// admit counts a deletion and says whether it is held. Held ones count as well,
// so that the brake stays on while deletions keep coming. The percentage is of
// what was indexed when the window began: what is indexed now and what the
// window's deletions removed.
func (b *brake) admit(set Brake, now time.Time, indexed uint64) bool {
	if !set.On || set.Window <= 0 {
		return false
	}
	sent, held := b.count(set, now)
	hold := set.passed(sent+held+1, indexed+uint64(sent))
	s := b.slot(set, now)
	if hold {
		s.heldOff++
	} else {
		s.sent++
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

// count adds up the window that ends now.
func (b *brake) count(set Brake, now time.Time) (sent, held int) {
	oldest := slotNumber(set, now) - brakeSlots
	for i := range b.slots {
		if s := &b.slots[i]; s.number > oldest {
			sent += s.sent
			held += s.heldOff
		}
	}
	return sent, held
}

// slot is the one of the present time, emptied if it was last used a window ago.
func (b *brake) slot(set Brake, now time.Time) *slot {
	n := slotNumber(set, now)
	s := &b.slots[n%brakeSlots]
	if s.number != n {
		*s = slot{number: n}
	}
	return s
}

func slotNumber(set Brake, now time.Time) int64 {
	return now.UnixNano() / max(int64(set.Window)/(brakeSlots-1), 1)
}
