package deletion

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Adopt reads which deletions rest in a partition that the store has adopted, and has them judged anew, as at a start.
func (d *Owner) Adopt(ctx context.Context, from scheduler.Partition) error {
	d.judging.Lock()
	defer d.judging.Unlock()
	if err := d.read(ctx, from, func(k weburl.HostKey) (string, error) { return from.Origin(ctx, k) }); err != nil {
		return err
	}
	d.wake()
	return nil
}

// deletions is the part of a store, or of a partition, that tells which deletions rest or are held.
type deletions interface {
	DeletionGroups(ctx context.Context, fn func(scheduler.DeletionGroup, uint64) error) error
	HeldDeletions(ctx context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error
}

// read has the hosts judged anew whose deletions rest, or are held because they were ill. originOf may not know an origin: judging
// finds it. judging is held.
func (d *Owner) read(ctx context.Context, from deletions, originOf func(weburl.HostKey) (string, error)) error {
	now := d.f.Active()
	note := func(k weburl.HostKey, origin string, well bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		h := d.host(k, origin, now)
		h.doubtful, h.well = true, h.well || well
	}
	var resting []weburl.HostKey
	err := from.DeletionGroups(ctx, func(g scheduler.DeletionGroup, _ uint64) error {
		if g.Edit == 0 {
			resting = append(resting, g.Host)
		}
		return nil
	})
	for _, k := range resting {
		if err != nil {
			break
		}
		var origin string
		origin, err = originOf(k)
		note(k, origin, false)
	}
	if err != nil {
		return fmt.Errorf("reading which deletions rest: %w", err)
	}
	err = from.HeldDeletions(ctx, scheduler.DeletionFilter{State: scheduler.DeletionHeld}, func(s scheduler.StoredDeletion) error {
		if u, ok := weburl.FromCanonical(s.URL); ok && s.Hold == scheduler.HeldIll {
			note(u.HostKey(), u.Origin(), true) // judged before it is believed
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading which deletions are held: %w", err)
	}
	return nil
}

// Forget forgets the hosts of a partition, by their origins: their deletions rest where that is then.
func (d *Owner) Forget(of func(origin string) bool) {
	d.judging.Lock()
	defer d.judging.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, h := range d.hosts {
		if of(h.origin) {
			delete(d.hosts, k)
		}
	}
	d.recounted = nil
}
