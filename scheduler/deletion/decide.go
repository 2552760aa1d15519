package deletion

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/tally"
	"github.com/sextant-crawler/sextant/weburl"
)

// counted is how many documents shares are computed from: those of the host, and those
// that left within a day.
func (b *bench) counted() int {
	return int(min(b.documents.Count, 1<<40)) + b.leftWithin(oneDay) //nolint:gosec // bounded
}

func (b *bench) leftWithin(d time.Duration) int { return b.ledger.left.Within(b.wall, d, oneDay) }

// Shares of a host's documents that may leave within an hour, after a short rest, and within
// a day. Two may always leave.
func hourShare(documents int) int { return max(2, documents/100) }
func dayShare(documents int) int  { return max(2, documents/5) }

// decide says what follows for each deletion.
func (b *bench) decide(ctx context.Context) error {
	if len(b.resting) == 0 || b.ill {
		b.hold, b.holdAs, b.wantControl = b.resting, scheduler.HeldIll, b.ill
		return nil
	}
	documents := b.counted()
	day := dayShare(documents)
	sound, doubted := b.doubts()
	held, known, err := b.held(ctx, day-len(sound))
	if err != nil || !known {
		return err
	}
	if len(sound)+held > day {
		b.hold, b.holdAs = sound, scheduler.HeldForHost
		return nil
	}
	few := hourShare(documents) - b.leftWithin(time.Hour)
	budget := day - b.leftWithin(oneDay)
	if len(b.resting) <= few {
		budget = min(budget, few)
	}
	b.decideEach(len(b.resting) <= few, doubted, budget)
	return nil
}

// decideEach decides about each deletion that may leave alone, or after a longer rest, within
// the budget.
func (b *bench) decideEach(single, doubted bool, budget int) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	for i := range b.resting {
		one := &b.resting[i]
		switch sure, waits := b.sure(one, single); {
		case waits, sure && doubted && b.host.arrival(one.seq).doubtful:
		case sure && len(b.leave) < budget:
			b.leave = append(b.leave, *one)
		case sure:
			b.wakeAt(b.now + int64(budgetPause))
		case b.now-b.host.arrival(one.seq).at >= int64(restLongest):
			b.hold, b.holdAs = append(b.hold, *one), scheduler.HeldUnsure
		default:
			b.ask = append(b.ask, *one)
		}
	}
}

// held is how many deletions of the host were held within a day because there were too many.
// If only they bring the number above some, it counts those that are still held: the more
// there are, the less often. If it is too soon to count, nothing is decided yet.
func (b *bench) held(ctx context.Context, some int) (n int, known bool, err error) {
	n = b.ledger.held.Within(b.wall, oneDay, oneDay)
	if some < 0 || n <= some {
		return n, true, nil
	}
	counts, err := b.d.store.Counts(ctx)
	if err != nil {
		return 0, false, err
	}
	pause := min(time.Duration(min(counts.Outbox.Held, 1<<20))*time.Millisecond, budgetPause)
	if at := b.d.recountAt(b.key, b.now, pause); at > b.now && !b.finishing {
		b.wakeAt(at)
		return n, false, nil
	}
	n = 0
	err = b.d.store.HeldDeletions(ctx, scheduler.DeletionFilter{State: scheduler.DeletionHeld, Host: b.origin}, func(s scheduler.StoredDeletion) error {
		if s.Hold == scheduler.HeldForHost && b.wall.Sub(s.At) < oneDay {
			n++
		}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	b.ledger.held = tally.Tally{}
	if n > 0 {
		b.ledger.held.Add(b.wall, oneDay, n)
	}
	note := b.ledger.note(b.key, b.wall)
	return n, true, b.d.store.SetValue(ctx, note.Name, note.Value)
}

// recountAt is when what a host has held may be counted again, a pause after the last time;
// if that is now, it is taken to be done.
func (d *Owner) recountAt(k weburl.HostKey, now int64, pause time.Duration) int64 {
	if at, ok := d.recounted[k]; ok && now-at < int64(pause) {
		return at + int64(pause)
	}
	if d.recounted == nil || len(d.recounted) >= recountedMost {
		d.recounted = map[weburl.HostKey]int64{}
	}
	d.recounted[k] = now
	return now
}

// recountedMost bounds Owner.recounted.
const recountedMost = 1000

// doubts returns the deletions that count, and whether there are doubtful ones whose URL was
// not asked for again yet.
func (b *bench) doubts() (sound []restingOne, doubted bool) {
	for i := range b.resting {
		one := &b.resting[i]
		a := b.host.arrival(one.seq)
		if a.doubtful && !one.certain() && b.now-a.at < int64(restLongest) && !b.confirmed(one, a, a.at) {
			doubted = true
		} else {
			sound = append(sound, *one)
		}
	}
	return sound, doubted
}

// sure reports whether a deletion may leave, or that it has to rest on.
func (b *bench) sure(one *restingOne, single bool) (sure, waits bool) {
	a := b.host.arrival(one.seq)
	rest := b.set.Brake.Rest
	if !single {
		rest = max(rest, restMany)
	}
	ready := a.at + int64(rest)
	if b.finishing {
		ready = a.at
	}
	if b.now < ready {
		b.wakeAt(ready)
		return false, true
	}
	if one.certain() {
		return true, false
	}
	since := a.at
	if !single && !b.finishing {
		since = ready - int64(controlLasts)
	}
	one.confirmed = b.confirmed(one, a, since)
	switch c := b.host.control; {
	case single && !b.finishing && b.host.good > a.at && (one.confirmed || !a.doubtful):
		return true, false
	case c.passed(since):
		b.host.tries = 0
		return one.confirmed && (!c.alone || one.reason.Asks()), false
	}
	b.wantControl, b.roundSince = true, max(b.roundSince, since)
	return false, false
}

// confirmed reports whether the URL of a deletion was asked for again since a time, or since
// the Owner asked for it, and that its document was to go again.
func (b *bench) confirmed(one *restingOne, a *arrival, since int64) bool {
	asked := b.wall.Add(time.Duration(since - b.now)) // except for pauses, in which it was not asked for
	if !a.asked.IsZero() && a.asked.Before(asked) {
		asked = a.asked
	}
	return !one.again.Before(asked.Truncate(time.Second))
}
