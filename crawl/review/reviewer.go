// Package review judges stored URLs again: all of them when rules or crawl space change, and those of an origin whose
// robots.txt became stricter. It also predicts the effect of new settings.
//
// A Reviewer runs in two goroutines that the crawl starts, Run and RunRobots; Run reads the next batch in a third one
// while it stores the last. The progress has one mutex, which is held while it is stored, and the origins have another.
// URLs that wait or are in flight are left to the worker that takes them.
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

// Crawl is the part of a crawl that a Reviewer uses.
type Crawl interface {
	// Policy returns the policy in force.
	Policy() *policy.Policy
	// Robots returns the cache of robots.txt in use.
	Robots() *robots.Cache
	// Superseded reports whether a page is in flight that began under another policy.
	Superseded() bool
	// AwaitPages waits until the pages that are in flight now have ended.
	AwaitPages(ctx context.Context) error
}

// Reviewer judges stored URLs again, in two goroutines that its owner starts: Run and RunRobots. Its other methods are
// safe for concurrent use. Its progress is stored, with the rules, so it resumes after a restart.
type Reviewer struct {
	Parts

	pass       *pass
	restricted *restricted
	prefetched *judged // already read by Run
}

// Parts are the dependencies of a Reviewer.
type Parts struct {
	Frontier  *scheduler.Frontier
	Deletions *deletion.Owner
	Store     scheduler.Store
	Log       *slog.Logger
	Crawl     Crawl
	// Freed is called with URLs whose documents were deleted.
	Freed func(context.Context, []weburl.Key) error
}

// New returns a Reviewer without state; Open reads it.
func New(p Parts) *Reviewer {
	return &Reviewer{Parts: p, pass: newPass(p.Store, p.Deletions), restricted: newRestricted()}
}

// Open resumes the work of the last run, and starts over if that used other rules than those of p. That is an edit of
// the rules: word is the operator's confirmation of its deletions. With now it starts over in any case, and refetches
// at once the documents that get other metas or another source.
func (v *Reviewer) Open(ctx context.Context, p *policy.Policy, word, now bool) error {
	if err := v.pass.open(ctx, p, word, now); err != nil {
		return err
	}
	return v.restoreRestricted(ctx)
}

// Begin stores that all URLs must be judged by p, before p is applied; now is as in Open. Wake is called once p is in
// force.
func (v *Reviewer) Begin(ctx context.Context, p *policy.Policy, now bool) error {
	return v.pass.begin(ctx, p, now)
}

// Wake makes Run check the rules in force.
func (v *Reviewer) Wake() { v.pass.wake() }

// Progress returns the progress of the review.
func (v *Reviewer) Progress() Progress {
	s, _ := v.pass.status()
	return s
}

// RobotsStatus describes the origins whose robots.txt became stricter; nil if there are none.
func (v *Reviewer) RobotsStatus() *RobotsStatus { return v.restricted.status() }
