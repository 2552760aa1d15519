package deletion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// oneDay is for how long losses that were carried out are counted, in slots: they count for up to one slot longer.
	oneDay = 24 * time.Hour
	slot   = 30 * time.Minute
	// silentDays is on how many days a host must have been asked that is taken to be gone.
	silentDays = 10
)

// ledger is what is kept of the losses of a host, or of the pool. It is stored as JSON.
type ledger struct {
	// Left are the losses that were carried out within a day, oldest first.
	Left []count `json:"left,omitempty"`
	// Silent is since when no document of the host gave a good response, zero if one did. Asked is the
	// last day that counts of those on which one was asked for, Days is the number of those days.
	Silent time.Time `json:"silent,omitzero"`
	Asked  time.Time `json:"asked,omitzero"`
	Days   int       `json:"days,omitempty"`
	// Born are the documents that came into the index while losses were pending.
	Born int `json:"born,omitempty"`

	stored []byte // the ledger as it was read or stored last
}

// count counts the losses of a slot of time, and those of them that left the index.
type count struct {
	At   time.Time `json:"at"`
	N    int       `json:"n"`
	Gone int       `json:"gone"`
}

// poolName is the value of the pool's ledger.
var poolName = scheduler.CrawlValue("scheduler.deletions")

func ledgerName(k weburl.HostKey) scheduler.ValueName {
	return scheduler.HostValue(k, "scheduler.deletions")
}

func readLedger(ctx context.Context, store scheduler.ValueReader, name scheduler.ValueName) (l ledger, err error) {
	if l.stored, err = store.Value(ctx, name); err != nil || len(l.stored) == 0 {
		return l, err
	}
	if err = json.Unmarshal(l.stored, &l); err != nil {
		err = fmt.Errorf("%w: %s cannot be read: %w", scheduler.ErrDamaged, name, err)
	}
	return l, err
}

// carriedOut counts n losses, gone of them documents that left; negative numbers take back some that were counted at
// the same time.
func (l *ledger) carriedOut(now time.Time, n, gone int) {
	at := now.UTC().Truncate(slot)
	if i := len(l.Left) - 1; i < 0 || !l.Left[i].At.Equal(at) {
		l.Left = append(l.Left, count{At: at})
	}
	c := &l.Left[len(l.Left)-1]
	c.N, c.Gone = c.N+n, c.Gone+gone
}

// within is how many losses were carried out within a day, and how many documents left by them. What the clock, set
// back, has in the future counts as new.
func (l *ledger) within(now time.Time) (n, gone int) {
	for i := range l.Left {
		if c := &l.Left[i]; c.At.After(now) {
			c.At = now.UTC().Truncate(slot)
		}
	}
	l.Left = slices.DeleteFunc(l.Left, func(c count) bool { return c.N == 0 || now.Sub(c.At) >= oneDay+slot })
	for _, c := range l.Left {
		n, gone = n+c.N, gone+c.Gone
	}
	return n, gone
}

// spoke takes in a good response of the host.
func (l *ledger) spoke() { l.Silent, l.Asked, l.Days = time.Time{}, time.Time{}, 0 }

// failed takes in, at a time, that a document of the host was asked for and gave no good response. A silence in which
// nothing was asked for as long as a host must be silent to be gone, or of a clock that was set back, begins anew.
func (l *ledger) failed(now time.Time, d *scheduler.Deletions) {
	now = now.UTC().Truncate(time.Second)
	if pause := now.Sub(l.Asked); pause < 0 || pause > d.Gone {
		l.spoke()
	}
	if !l.Silent.IsZero() && now.Sub(l.Asked) < d.Confirm {
		return
	}
	if l.Silent.IsZero() {
		l.Silent = now
	}
	l.Asked = now
	l.Days++
}

// goneAt is when the host is gone at the earliest if it stays silent, zero if it is not silent: it must have been
// asked on silentDays days.
func (l *ledger) goneAt(d *scheduler.Deletions) time.Time {
	if l.Silent.IsZero() {
		return time.Time{}
	}
	at, asked := l.Silent.Add(d.Gone), l.Asked.Add(time.Duration(silentDays-l.Days)*d.Confirm)
	if l.Days < silentDays && asked.After(at) {
		return asked
	}
	return at
}

// gone reports whether the host is gone. It must have been asked lately: it may have come back since.
func (l *ledger) gone(d *scheduler.Deletions, now time.Time) bool {
	at := l.goneAt(d)
	return !at.IsZero() && !now.Before(at) && l.Days >= silentDays && now.Sub(l.Asked) < d.Confirm
}

// store stores the ledger, if it is another one than is stored; one that says nothing is removed.
func (l *ledger) store(ctx context.Context, s scheduler.Store, name scheduler.ValueName, now time.Time) (err error) {
	var v []byte
	if left, _ := l.within(now); left > 0 || !l.Silent.IsZero() || l.Born > 0 {
		if v, err = json.Marshal(l); err != nil {
			return err
		}
	}
	if bytes.Equal(v, l.stored) {
		return nil
	}
	l.stored = v
	return s.SetValue(ctx, name, v)
}

// class is that of so many pending losses in a group of so many documents, with those that were carried out.
func (l *ledger) class(pending int, documents uint64, now time.Time) scheduler.LossClass {
	left, gone := l.within(now)
	return Class(pending+left, int(min(documents, 1<<40))+gone) //nolint:gosec // bounded
}

// count completes the state of a host with so many pending losses and documents, except for the pool's class.
func (h *HostState) count(documents uint64, l *ledger, set *scheduler.Deletions, now time.Time) {
	left, gone := l.within(now)
	h.Left, h.Deleted = left, gone
	documents -= min(documents, uint64(l.Born))     //nolint:gosec // a count
	h.Documents = int(min(documents, 1<<40)) + gone //nolint:gosec // bounded
	h.Class, h.Pooled = l.class(h.Pending, documents, now), h.Documents < scheduler.PoolBelow
	h.Silent, h.GoneAt = l.Silent, l.goneAt(set)
}
