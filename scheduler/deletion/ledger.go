package deletion

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/tally"
	"github.com/sextant-crawler/sextant/weburl"
)

// A ledger is stored as a value: a tally, and of a host since when it is silent, the last day that
// counts, both in seconds, and how many do.

// oneDay is for how long losses that were carried out are counted.
const oneDay = 24 * time.Hour

// silentDays is on how many days a host must have been asked that is taken to be gone.
const silentDays = 10

// ledger is what is kept of the losses of a host, or of the pool.
type ledger struct {
	left tally.Tally // losses that were carried out
	// silent is since when no document of the host gave a good response, zero if one did; asked is the
	// last day that counts of those on which one was asked for, and days is how many do.
	silent, asked time.Time
	days          int
}

// poolName is the value of the pool's ledger.
var poolName = scheduler.CrawlValue("scheduler.deletions")

func ledgerName(k weburl.HostKey) scheduler.ValueName {
	return scheduler.HostValue(k, "scheduler.deletions")
}

// spoke takes in a good response of the host.
func (l *ledger) spoke() { l.silent, l.asked, l.days = time.Time{}, time.Time{}, 0 }

// failed takes in, at a time, that a document of the host was asked for and gave no good response. It
// reports whether that is news to store.
func (l *ledger) failed(now time.Time, day time.Duration) bool {
	now = now.Truncate(time.Second)
	if !l.silent.IsZero() && now.Sub(l.asked) < day {
		return false
	}
	if l.silent.IsZero() {
		l.silent = now
	}
	l.asked = now
	l.days++
	return true
}

// goneAt is when the host is gone if it stays silent, zero if it is not silent.
func (l *ledger) goneAt(d *scheduler.Deletions) time.Time {
	if l.silent.IsZero() {
		return time.Time{}
	}
	return l.silent.Add(max(d.Gone, time.Duration(silentDays-1)*d.Confirm))
}

// gone reports whether the host is gone.
func (l *ledger) gone(d *scheduler.Deletions, now time.Time) bool {
	at := l.goneAt(d)
	return !at.IsZero() && !now.Before(at) && l.days >= silentDays
}

// note is the ledger as stored with a change; one without content is removed.
func (l *ledger) note(name scheduler.ValueName, now time.Time) scheduler.Note {
	l.left.Advance(now, oneDay)
	n := scheduler.Note{Name: name}
	if l.left.Empty() && l.silent.IsZero() {
		return n
	}
	n.Value = l.left.Append(nil)
	if !l.silent.IsZero() {
		for _, at := range [...]time.Time{l.silent, l.asked} {
			n.Value = binary.AppendVarint(n.Value, at.Unix())
		}
		n.Value = binary.AppendUvarint(n.Value, uint64(l.days)) //nolint:gosec // a count
	}
	return n
}

func decodeLedger(v []byte, now time.Time) (l ledger, err error) {
	if len(v) == 0 {
		return l, nil
	}
	r := tally.Reader{Rest: v}
	l.left = tally.Read(&r, now)
	if len(r.Rest) > 0 && !r.Bad {
		l.silent, l.asked = time.Unix(r.Signed(), 0), time.Unix(r.Signed(), 0)
		l.days = r.Count()
	}
	if r.Bad || len(r.Rest) > 0 {
		return ledger{}, tally.ErrUnreadable
	}
	return l, nil
}

// readLedger reads a ledger.
func readLedger(ctx context.Context, store scheduler.ValueReader, name scheduler.ValueName, now time.Time) (ledger, error) {
	v, err := store.Value(ctx, name)
	if err != nil {
		return ledger{}, err
	}
	l, err := decodeLedger(v, now)
	if err != nil {
		return l, fmt.Errorf("%s: %w: %w", name, scheduler.ErrDamaged, err)
	}
	return l, nil
}
