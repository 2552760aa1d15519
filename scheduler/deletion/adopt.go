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
	now := d.f.Active()
	note := func(k weburl.HostKey, origin string, change func(*restingHost)) {
		d.mu.Lock()
		defer d.mu.Unlock()
		change(d.host(k, origin, now))
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
		if origin, err = from.Origin(ctx, k); err == nil {
			note(k, origin, func(h *restingHost) { h.doubtful = true })
		}
	}
	if err == nil {
		err = from.HeldDeletions(ctx, scheduler.DeletionFilter{State: scheduler.DeletionHeld}, func(s scheduler.StoredDeletion) error {
			if u, ok := weburl.FromCanonical(s.URL); ok && s.Hold == scheduler.HeldIll {
				note(u.HostKey(), u.Origin(), func(h *restingHost) { h.well = true })
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("reading which deletions rest or are held: %w", err)
	}
	d.wake()
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
