package deletion

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// A document is replaced if another one in the index has its text: its page moved there permanently, names that one as
// its canonical, is its copy, or was renamed by the operator's settings. That is not a loss. The other one may enter
// the index later, so the losses are checked again.

// lookFirst is the time from a loss to the first check for its replacement, lookNext the time between later ones.
const lookFirst, lookNext = 5 * time.Second, 10 * time.Minute

// leads reports whether a loss may turn out to be a replacement.
func leads(r scheduler.Reason) bool {
	return slices.Contains([]scheduler.Reason{
		scheduler.ReasonRedirect, scheduler.ReasonMoved, scheduler.ReasonCanonical, scheduler.ReasonRenamed,
		scheduler.ReasonCopy, scheduler.ReasonNearCopy,
	}, r)
}

// findReplaced finds the losses of documents that another document now replaces, if a check is due.
func (b *hostLosses) findReplaced(ctx context.Context) error {
	b.d.mu.Lock()
	at := b.host.lookAt
	b.d.mu.Unlock()
	if b.group.Ill {
		return nil
	}
	if at.After(b.now) {
		b.wakeAt(at)
		return nil
	}
	looked := false
	var others []scheduler.StoredDeletion
	for _, l := range b.losses {
		is := false
		if !l.Replaces && leads(l.Reason) {
			looked = true
			var err error
			if is, err = b.isReplaced(ctx, &l); err != nil {
				return err
			}
		}
		if is {
			b.replaced = append(b.replaced, l.Key)
		} else {
			others = append(others, l)
		}
	}
	b.losses = others
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.host.lookAt = (time.Time{}); looked {
		b.host.lookAt = b.now.Add(lookNext)
		b.wakeAt(b.host.lookAt)
	}
	return nil
}

// isReplaced reports whether another document replaces the lost one. It queues the page at the target if that is known
// as a copy of the lost document.
func (b *hostLosses) isReplaced(ctx context.Context, l *scheduler.StoredDeletion) (bool, error) {
	r, err := scheduler.Find(ctx, b.d.store, l.Key)
	if err != nil || r == nil {
		return false, err
	}
	target := cmp.Or(r.RedirectTo, r.DuplicateOf)
	if target == "" {
		return false, nil
	}
	template, err := b.d.f.TemplateOf(ctx, b.key)
	if err != nil {
		return false, err
	}
	is, t, err := scheduler.Replaces(ctx, b.d.store, r, r, target, template)
	if err != nil || is || t == nil || t.DuplicateOf != r.URL || t.State == scheduler.Waiting {
		return is, err
	}
	u, _ := weburl.FromCanonical(target)
	return false, b.d.askFor(ctx, []weburl.Key{u.Key()})
}
