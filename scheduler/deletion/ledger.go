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
	// oneDay is the time for which losses that were carried out are counted, in slots: they count for up to one slot
	// longer.
	oneDay = 24 * time.Hour
	slot   = 30 * time.Minute
	// silentDays is the number of days on which a silent host must have been visited before it counts as gone.
	silentDays = 10
)

// ledger counts the losses of a host, or of the pool. It is stored as JSON.
type ledger struct {
	// Left holds the losses that were carried out within a day, oldest first.
	Left []count `json:"left,omitempty"`
	// Silent is the time since which no document of the host gave a good response, zero if one did. Days counts the days
	// on which one was visited in vain, Asked is the last of them.
	Silent time.Time `json:"silent,omitzero"`
	Asked  time.Time `json:"asked,omitzero"`
	Days   int       `json:"days,omitempty"`
	// Born counts the documents that entered the index while losses were pending.
	Born int `json:"born,omitempty"`

	stored []byte // the ledger as it was last read or stored
}

// count holds the losses of one slot of time, and how many of them left the index.
type count struct {
	At   time.Time `json:"at"`
	N    int       `json:"n"`
	Gone int       `json:"gone"`
}

// poolName is the value that holds the pool's ledger.
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

// carriedOut counts n losses, gone of them deletions of a document; negative numbers undo a count of the same time.
func (l *ledger) carriedOut(now time.Time, n, gone int) {
	at := now.UTC().Truncate(slot)
	if i := len(l.Left) - 1; i < 0 || !l.Left[i].At.Equal(at) {
		l.Left = append(l.Left, count{At: at})
	}
	c := &l.Left[len(l.Left)-1]
	c.N, c.Gone = c.N+n, c.Gone+gone
}

// within returns the number of losses that were carried out within a day, and of documents that they removed. Slots in
// the future, after a clock was set back, count as new.
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

// resetSilence ends the host's silence after a good response.
func (l *ledger) resetSilence() { l.Silent, l.Asked, l.Days = time.Time{}, time.Time{}, 0 }

// failed records that a document of the host was visited at a time and gave no good response. The silence begins again
// if nothing was visited for as long as a host must be silent to be gone, or if the clock was set back.
func (l *ledger) failed(now time.Time, d *scheduler.Deletions) {
	now = now.UTC().Truncate(time.Second)
	if pause := now.Sub(l.Asked); pause < 0 || pause > d.Gone {
		l.resetSilence()
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

// goneAt returns the earliest time at which the host counts as gone if it stays silent, zero if it is not silent. It
// must have been visited on silentDays days.
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

// gone reports whether the host is gone. It must have been visited lately, since it may have come back.
func (l *ledger) gone(d *scheduler.Deletions, now time.Time) bool {
	at := l.goneAt(d)
	return !at.IsZero() && !now.Before(at) && l.Days >= silentDays && now.Sub(l.Asked) < d.Confirm
}

// store stores the ledger if it changed, and removes an empty one.
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

// class returns the class of so many pending losses in a group of so many documents, including those that were carried
// out.
func (l *ledger) class(pending int, documents uint64, now time.Time) scheduler.LossClass {
	left, gone := l.within(now)
	return Class(pending+left, int(min(documents, 1<<40))+gone) //nolint:gosec // bounded
}

// count adds to a host's state its pending losses and documents, but not the pool's class.
func (h *HostState) count(documents uint64, l *ledger, set *scheduler.Deletions, now time.Time) {
	left, gone := l.within(now)
	h.Left, h.Deleted = left, gone
	documents -= min(documents, uint64(l.Born))     //nolint:gosec // a count
	h.Documents = int(min(documents, 1<<40)) + gone //nolint:gosec // bounded
	h.Class, h.Pooled = l.class(h.Pending, documents, now), h.Documents < scheduler.PoolBelow
	h.Silent, h.GoneAt = l.Silent, l.goneAt(set)
}
