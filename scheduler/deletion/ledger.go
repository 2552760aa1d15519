package deletion

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/tally"
	"github.com/sextant-crawler/sextant/weburl"
)

// A host's ledger is stored as a value of its own, in the form of two tallies, of what
// left and of what was held, and the passes: how many, and of each the reason and its end.

// oneDay is the longest time for which deletions of a host are counted.
const oneDay = 24 * time.Hour

// ledger is what is kept of a host's deletions: how many left within a day, and which
// reasons the operator lets pass.
type ledger struct {
	left   tally.Tally // deletions that left
	held   tally.Tally // that were held because there were too many
	passes []pass
}

// pass lets deletions of a reason leave until a time, because the operator has released
// others of it.
type pass struct {
	reason scheduler.Reason
	until  time.Time
}

func ledgerName(k weburl.HostKey) scheduler.ValueName {
	return scheduler.HostValue(k, "scheduler.deletions")
}

func (l *ledger) passed(r scheduler.Reason, now time.Time) bool {
	return slices.ContainsFunc(l.passes, func(p pass) bool { return p.reason == r && now.Before(p.until) })
}

func (l *ledger) letPass(r scheduler.Reason, until, now time.Time) {
	l.passes = slices.DeleteFunc(l.passes, func(p pass) bool { return p.reason == r || !now.Before(p.until) })
	l.passes = append(l.passes, pass{r, until}) // one a reason at most
}

// note is the ledger as stored with a change; one without content is removed.
func (l *ledger) note(k weburl.HostKey, now time.Time) scheduler.Note {
	l.left.Advance(now, oneDay)
	l.held.Advance(now, oneDay)
	l.passes = slices.DeleteFunc(l.passes, func(p pass) bool { return !now.Before(p.until) })
	n := scheduler.Note{Name: ledgerName(k)}
	if l.left.Empty() && l.held.Empty() && len(l.passes) == 0 {
		return n
	}
	n.Value = l.held.Append(l.left.Append(n.Value))
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
	r := tally.Reader{Rest: v}
	l.left, l.held = tally.Read(&r, now), tally.Read(&r, now)
	for n := r.Count(); n > 0 && !r.Bad; n-- {
		if len(r.Rest) == 0 {
			r.Bad = true
			break
		}
		reason := scheduler.Reason(r.Rest[0])
		r.Rest = r.Rest[1:]
		l.passes = append(l.passes, pass{reason, time.Unix(r.Signed(), 0)})
	}
	if r.Bad || len(r.Rest) > 0 {
		return ledger{}, tally.ErrUnreadable
	}
	return l, nil
}

// ledger reads that of a host.
func (d *Owner) ledger(ctx context.Context, k weburl.HostKey, now time.Time) (ledger, error) {
	v, err := d.store.Value(ctx, ledgerName(k))
	if err != nil {
		return ledger{}, err
	}
	l, err := readLedger(v, now)
	if err != nil {
		return l, fmt.Errorf("%s: %w: %w", ledgerName(k), scheduler.ErrDamaged, err)
	}
	return l, nil
}

// loadCounts reads what the last run left.
func (d *Owner) loadCounts(ctx context.Context) error {
	if err := d.f.Brake().Load(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	d.edits.late = true // the last run may have left some
	d.mu.Unlock()
	return d.loadEdits(ctx)
}
