package deletion

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// read has the hosts judged anew whose deletions rest, or are held because they were ill. Judging finds their origins.
// judging is held.
func (d *Owner) read(ctx context.Context) error {
	now := d.f.Active()
	note := func(k weburl.HostKey, origin string, well bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		h := d.host(k, origin, now)
		h.doubtful, h.well = true, h.well || well
	}
	var resting []weburl.HostKey
	err := d.store.DeletionGroups(ctx, func(g scheduler.DeletionGroup, _ uint64) error {
		if g.Edit == 0 {
			resting = append(resting, g.Host)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading which deletions rest: %w", err)
	}
	for _, k := range resting {
		note(k, "", false)
	}
	err = d.store.HeldDeletions(ctx, scheduler.DeletionFilter{State: scheduler.DeletionHeld}, func(s scheduler.StoredDeletion) error {
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
