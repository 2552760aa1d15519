package scheduler

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// A host's ledger is stored as a value of its own, in the form of two tallies, of what
// left and of what was held, and the passes: how many, and of each the reason and its end.

const (
	// oneDay is the longest time for which deletions of a host are counted.
	oneDay = 24 * time.Hour
	// sentName is the store's value of the deletions of the whole index that left.
	sentName = "scheduler.brake"
	// passesMost bounds how many passes a host has: one a reason.
	passesMost = int(reasonsEnd)
)

// ledger is what is kept of a host's deletions: how many left within a day, and which
// reasons the operator lets pass.
type ledger struct {
	left   tally // deletions that left
	held   tally // that were held because there were too many
	passes []pass
}

// pass lets deletions of a reason leave until a time, because the operator has released
// others of it.
type pass struct {
	reason Reason
	until  time.Time
}

func ledgerName(k weburl.HostKey) string { return "scheduler.deletions." + hex.EncodeToString(k[:]) }

func (l *ledger) passed(r Reason, now time.Time) bool {
	return slices.ContainsFunc(l.passes, func(p pass) bool { return p.reason == r && now.Before(p.until) })
}

func (l *ledger) letPass(r Reason, until, now time.Time) {
	l.passes = slices.DeleteFunc(l.passes, func(p pass) bool { return p.reason == r || !now.Before(p.until) })
	if len(l.passes) < passesMost {
		l.passes = append(l.passes, pass{r, until})
	}
}

// note is the ledger as stored with a change; one without content is removed.
func (l *ledger) note(k weburl.HostKey, now time.Time) Note {
	l.left.advance(now, oneDay)
	l.held.advance(now, oneDay)
	l.passes = slices.DeleteFunc(l.passes, func(p pass) bool { return !now.Before(p.until) })
	n := Note{Name: ledgerName(k)}
	if len(l.left.slots)+len(l.held.slots)+len(l.passes) == 0 {
		return n
	}
	n.Value = l.held.append(l.left.append(n.Value))
	n.Value = binary.AppendUvarint(n.Value, uint64(len(l.passes)))
	for _, p := range l.passes {
		n.Value = binary.AppendVarint(append(n.Value, byte(p.reason)), p.until.Unix())
	}
	return n
}

func readLedger(v []byte, now time.Time) (l ledger, err error) {
	if len(v) == 0 {
		return l, nil
	}
	r := varints{rest: v}
	l.left, l.held = readTally(&r, now), readTally(&r, now)
	for n := r.count(); n > 0 && !r.bad; n-- {
		if len(r.rest) == 0 {
			r.bad = true
			break
		}
		reason := Reason(r.rest[0])
		r.rest = r.rest[1:]
		l.passes = append(l.passes, pass{reason, time.Unix(r.signed(), 0)})
	}
	if r.bad || len(r.rest) > 0 {
		return ledger{}, errTally
	}
	return l, nil
}

// ledger reads that of a host.
func (d *Deletions) ledger(ctx context.Context, k weburl.HostKey, now time.Time) (ledger, error) {
	v, err := d.f.store.Value(ctx, ledgerName(k))
	if err != nil {
		return ledger{}, err
	}
	l, err := readLedger(v, now)
	if err != nil {
		return l, fmt.Errorf("%s: %w: %w", ledgerName(k), ErrDamaged, err)
	}
	return l, nil
}

// loadCounts reads what the last run left.
func (d *Deletions) loadCounts(ctx context.Context) error {
	v, err := d.f.store.Value(ctx, sentName)
	if err != nil {
		return fmt.Errorf("reading how many deletions there were: %w", err)
	}
	if len(v) > 0 {
		r := varints{rest: v}
		sent := readTally(&r, time.Now())
		if !r.bad && len(r.rest) == 0 { // an older version's is not believed: it counts for an hour at most
			d.mu.Lock()
			d.sent = sent
			d.mu.Unlock()
		}
	}
	d.mu.Lock()
	d.edits.late = true // the last run may have left some
	d.mu.Unlock()
	return d.loadEdits(ctx)
}

// admit counts up to n deletions of the index, as many as may leave, and returns the note to
// store with them.
func (d *Deletions) admit(set Brake, documents uint64, n int, now time.Time) (Note, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.sent.within(now, set.Window, set.Window)
	n = min(n, max(set.most(documents+uint64(left))-left, 0)) //nolint:gosec // a count
	d.sent.add(now, set.Window, n)
	return Note{Name: sentName, Value: d.sent.append(nil)}, n
}

// takeBack is told that some of those that were admitted did not leave.
func (d *Deletions) takeBack(n int) {
	if n > 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sent.takeBack(n)
	}
}

// most is how many of an index's documents may leave within the window: all, if neither
// limit is asked for.
func (b *Brake) most(documents uint64) int {
	if b.Min <= 0 && b.Percent <= 0 {
		return math.MaxInt
	}
	return max(b.Min, int(min(documents, 1<<40))*b.Percent/100) //nolint:gosec // bounded
}

// sentWithin is how many deletions left within the brake's window.
func (d *Deletions) sentWithin(set Brake, now time.Time) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if set.Window <= 0 {
		return 0
	}
	return d.sent.within(now, set.Window, set.Window)
}
