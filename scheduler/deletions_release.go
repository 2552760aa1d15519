package scheduler

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// passFor is for how long later deletions of the same host and reason leave after the
// operator has released some.
const passFor = 24 * time.Hour

// deletionSelector is a DeletionFilter with what it needs at hand.
type deletionSelector struct {
	DeletionFilter
	keys map[weburl.Key]bool // nil: all
}

func newDeletionSelector(f DeletionFilter) (deletionSelector, error) {
	s := deletionSelector{DeletionFilter: f}
	for _, raw := range f.URLs {
		u, err := weburl.Parse(raw)
		if err != nil {
			return s, err
		}
		if s.keys == nil {
			s.keys = map[weburl.Key]bool{}
		}
		s.keys[u.Key()] = true
	}
	return s, nil
}

func (s *deletionSelector) takes(d *StoredDeletion) bool {
	if s.keys != nil && !s.keys[d.Key] || s.Reason != NoReason && s.Reason != d.Reason || s.Edit != 0 && s.Edit != d.Edit {
		return false
	}
	if s.State != NoDeletion && s.State != d.State {
		return false
	}
	u, ok := weburl.FromCanonical(d.URL)
	return s.Host == "" || ok && u.Origin() == s.Host
}

// Selects reports whether a deletion is selected. Stores that list deletions use it.
func (f DeletionFilter) Selects(d *StoredDeletion) bool {
	s, err := newDeletionSelector(f)
	return err == nil && s.takes(d)
}

// Release is the operator's word: the selected deletions leave, and for a day so do later
// ones of the same hosts and reasons. It returns how many left.
func (d *Deletions) Release(ctx context.Context, f DeletionFilter) (int, error) {
	if f.Edit != 0 && f.State == NoDeletion && len(f.URLs) == 0 && f.Host == "" && f.Reason == NoReason {
		return d.AllowEdit(ctx, f.Edit)
	}
	d.judging.Lock()
	defer d.judging.Unlock()
	return d.release(ctx, f)
}

func (d *Deletions) release(ctx context.Context, f DeletionFilter) (int, error) {
	keys, reasons, err := d.selected(ctx, f)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	var notes []Note
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
		if err := d.f.store.SetValue(ctx, n.Name, n.Value); err != nil {
			return 0, err
		}
	}
	return d.moveAll(ctx, keys, &moving{set: d.settings(), move: SendDeletion, any: true})
}

// selected are the keys of deletions, and the reasons of those that no edit made, by host.
func (d *Deletions) selected(ctx context.Context, f DeletionFilter) ([]weburl.Key, map[weburl.HostKey]map[Reason]bool, error) {
	var keys []weburl.Key
	reasons := map[weburl.HostKey]map[Reason]bool{}
	err := d.f.store.HeldDeletions(ctx, f, func(s StoredDeletion) error {
		keys = append(keys, s.Key)
		if u, ok := weburl.FromCanonical(s.URL); ok && s.Edit == 0 && len(f.URLs) == 0 { // one page is no reason to believe the next
			if reasons[u.HostKey()] == nil {
				reasons[u.HostKey()] = map[Reason]bool{}
			}
			reasons[u.HostKey()][s.Reason] = true
		}
		return nil
	})
	return keys, reasons, err
}

// Drop drops the selected deletions and has their URLs fetched again, in the refresh
// source, except those that wait already. It returns how many there were.
func (d *Deletions) Drop(ctx context.Context, f DeletionFilter) (int, error) {
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
		places, dropped, err := d.f.store.ReviseDeletions(context.WithoutCancel(ctx), batch, func(_ StoredDeletion, r Record) *Revision {
			if r.State != Waiting {
				r.State, r.Source, r.NextAt = Waiting, Refresh, time.Time{}
			}
			return &Revision{Next: r, CancelDeletion: true}
		})
		n += dropped
		if err != nil {
			return n, err
		}
		d.f.Announce(places)
	}
	return n, nil
}
