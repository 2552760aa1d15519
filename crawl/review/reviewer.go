// Package review judges stored URLs again: all of them when rules or crawl space change, and
// those of an origin whose robots.txt became stricter. It also foretells what new settings
// would do.
//
// A Reviewer runs in two goroutines that the crawl starts, Run and RunRobots; Run reads the
// next batch in a third one while it stores the last. The progress has one mutex, which is
// held while it is stored, and the origins have another. URLs that wait or are in flight are
// left to the worker that takes them.
package review

import (
	"context"
	"log/slog"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/weburl"
)

// Crawl is what a Reviewer asks of the crawl.
type Crawl interface {
	// Policy is what decides about URLs now.
	Policy() *policy.Policy
	// Robots are the copies of robots.txt in use.
	Robots() *robots.Cache
	// Superseded reports whether a page is in flight that began under another policy.
	Superseded() bool
	// AwaitPages waits until the pages that are in flight now have ended.
	AwaitPages(ctx context.Context) error
}

// Reviewer judges stored URLs again, in two goroutines that its owner starts: Run and
// RunRobots. Its other methods may be called concurrently. How far it is, and by which
// rules, is stored, so that it goes on after a restart.
type Reviewer struct {
	Parts

	pass       *pass
	restricted *restricted
	ahead      *judged // what Run has read already
}

// Parts is what a Reviewer works with.
type Parts struct {
	Frontier  *scheduler.Frontier
	Deletions *deletion.Owner
	Store     scheduler.Store
	Log       *slog.Logger
	Crawl     Crawl
	// Freed is told of URLs whose documents were deleted.
	Freed func(context.Context, []weburl.Key) error
}

// New makes a Reviewer that has read nothing yet: Open does.
func New(p Parts) *Reviewer {
	return &Reviewer{Parts: p, pass: newPass(p.Store, p.Deletions), restricted: newRestricted()}
}

// Open takes up what the last run left, and begins anew if that went by other rules than
// those of p. That is an edit of the rules then: word is the operator's for its deletions. With now
// it begins anew in any case, and documents that get other metas or another source are fetched at once.
func (v *Reviewer) Open(ctx context.Context, p *policy.Policy, word, now bool) error {
	if err := v.pass.open(ctx, p, word, now); err != nil {
		return err
	}
	return v.restoreRestricted(ctx)
}

// Begin stores that all URLs are to be judged by p, before anything is decided by it; now is as in
// Open. Wake is called once p is in force.
func (v *Reviewer) Begin(ctx context.Context, p *policy.Policy, now bool) error {
	return v.pass.begin(ctx, p, now)
}

// Wake has Run look at the rules in force.
func (v *Reviewer) Wake() { v.pass.wake() }

// Progress returns how far the review is.
func (v *Reviewer) Progress() Progress {
	s, _ := v.pass.status()
	return s
}

// RobotsStatus tells of the origins whose robots.txt became stricter; nil if none did.
func (v *Reviewer) RobotsStatus() *RobotsStatus { return v.restricted.status() }
