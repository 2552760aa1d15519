package deletion

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// passFor is for how long later deletions of the same host and reason leave after the
// operator has released some.
const passFor = 24 * time.Hour

// Release is the operator's word: the selected deletions leave, and for a day so do later
// ones of the same hosts and reasons. It returns how many left.
func (d *Owner) Release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	if f.Edit != 0 && f.State == scheduler.NoDeletion && len(f.URLs) == 0 && f.Host == "" && f.Reason == scheduler.NoReason {
		return d.AllowEdit(ctx, f.Edit)
	}
	d.judging.Lock()
	defer d.judging.Unlock()
	return d.release(ctx, f)
}

func (d *Owner) release(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	keys, reasons, err := d.selected(ctx, f)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	var notes []scheduler.Note
	for host, of := range reasons {
		l, err := d.ledger(ctx, host, now)
		if err != nil {
			return 0, err
		}
		for r := range of {
			l.letPass(r, now.Add(passFor), now)
		}
		notes = append(notes, l.note(host, now))
	}
	// Stored first, a few at once: a release that is cut short leaves the operator's word behind.
	for _, n := range notes {
		if err := d.store.SetValue(ctx, n.Name, n.Value); err != nil {
			return 0, err
		}
	}
	return d.moveAll(ctx, keys, &moving{set: d.f.Settings(), move: scheduler.SendDeletion, any: true})
}

// selected are the keys of deletions, and the reasons of those that no edit made, by host.
func (d *Owner) selected(ctx context.Context, f scheduler.DeletionFilter) ([]weburl.Key, map[weburl.HostKey]map[scheduler.Reason]bool, error) {
	var keys []weburl.Key
	reasons := map[weburl.HostKey]map[scheduler.Reason]bool{}
	err := d.store.HeldDeletions(ctx, f, func(s scheduler.StoredDeletion) error {
		keys = append(keys, s.Key)
		if u, ok := weburl.FromCanonical(s.URL); ok && s.Edit == 0 && len(f.URLs) == 0 { // one page is no reason to believe the next
			if reasons[u.HostKey()] == nil {
				reasons[u.HostKey()] = map[scheduler.Reason]bool{}
			}
			reasons[u.HostKey()][s.Reason] = true
		}
		return nil
	})
	return keys, reasons, err
}

// Drop drops the selected deletions and has their URLs fetched again, in the refresh
// source, except those that wait already. It returns how many there were.
func (d *Owner) Drop(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	keys, _, err := d.selected(ctx, f)
	if err != nil {
		return 0, err
	}
	n := 0
	for len(keys) > 0 {
		batch := keys[:min(moveBatch, len(keys))]
		keys = keys[len(batch):]
		places, dropped, err := d.store.ReviseDeletions(context.WithoutCancel(ctx), batch, func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
			if r.State != scheduler.Waiting {
				r.State, r.Source, r.NextAt = scheduler.Waiting, scheduler.Refresh, time.Time{}
			}
			return &scheduler.Revision{Next: r, CancelDeletion: true}
		})
		n += dropped
		if err != nil {
			return n, err
		}
		d.f.Announce(places)
	}
	return n, nil
}
