package review

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// When an origin's robots.txt becomes stricter, RunRobots judges its stored URLs, and
// takes out those that are forbidden now. It runs in a goroutine that the crawl starts; workers add
// origins, under the mutex that guards them. The origins are stored, and each keeps its mark
// in its robots.txt until all of it was judged, so that this begins again after a crash; the
// same URL judged twice is changed once.

const (
	// restrictedName is the key of the stored value with the origins.
	restrictedName = "crawl.robots"
	restrictedWhat = "the origins to judge by robots.txt"
	// restrictedStored is the number of them that are stored; others are found again when a URL of the origin is leased.
	restrictedStored = 1000
)

// restricted contains the origins whose stored URLs must be judged by robots.txt.
type restricted struct {
	kick chan struct{} // capacity 1

	mu      sync.Mutex
	origins map[string]*restrictedOrigin
	stored  []string // the store's content, sorted
	RobotsStatus
}

type restrictedOrigin struct {
	home weburl.URL
	done func() // ends Frontier.Busy
	// again means that robots.txt may have become stricter while it was in use.
	again bool
}

func newRestricted() *restricted {
	return &restricted{kick: make(chan struct{}, 1), origins: map[string]*restrictedOrigin{}}
}

// RobotsStatus describes the stored URLs that are judged by a stricter robots.txt. Judged and Excluded count since the
// process started.
type RobotsStatus struct {
	Origins  int    `json:"origins"` // that are being judged
	Judged   uint64 `json:"judged"`
	Excluded uint64 `json:"excluded"` // robots.txt forbids them now
}

func (r *restricted) status() *RobotsStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.RobotsStatus
	if s.Origins = len(r.origins); s == (RobotsStatus{}) {
		return nil
	}
	return &s
}

// Restrict schedules the stored URLs of u's origin to be judged by its robots.txt. The crawl is not done before that.
func (v *Reviewer) Restrict(u weburl.URL) {
	r := v.restricted
	r.mu.Lock()
	defer r.mu.Unlock()
	if o, ok := r.origins[u.Origin()]; ok {
		o.again = true
		return
	}
	home, err := weburl.Parse(u.Origin() + "/")
	if err != nil {
		return // no origin that a URL came from
	}
	r.origins[u.Origin()] = &restrictedOrigin{home: home, done: v.Frontier.Busy()}
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// restoreRestricted restores the state of the last run.
func (v *Reviewer) restoreRestricted(ctx context.Context) error {
	if err := scheduler.LoadValue(ctx, v.Store, scheduler.CrawlValue(restrictedName), restrictedWhat, &v.restricted.stored); err != nil {
		return err
	}
	for _, origin := range v.restricted.stored {
		if home, err := weburl.Parse(origin + "/"); err == nil {
			v.Restrict(home)
		}
	}
	return nil
}

// RunRobots judges origins until ctx ends, or the store fails.
func (v *Reviewer) RunRobots(ctx context.Context) error {
	for {
		if err := v.judgeOrigins(ctx); err != nil {
			return err
		}
		if len(v.restricted.left()) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-v.restricted.kick:
		}
	}
}

// left returns the origins still to judge.
func (r *restricted) left() map[string]*restrictedOrigin {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.origins)
}

// take returns the origins to judge now.
func (r *restricted) take() map[string]*restrictedOrigin {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.origins {
		o.again = false
	}
	return maps.Clone(r.origins)
}

// judgeOrigins judges all pending origins in one pass over the store.
func (v *Reviewer) judgeOrigins(ctx context.Context) error {
	origins := v.restricted.take()
	if len(origins) == 0 {
		return nil
	}
	if err := v.saveRestricted(ctx, origins); err != nil {
		return err
	}
	p, cache := v.Crawl.Policy(), v.Crawl.Robots()
	changed := map[string]time.Time{}
	for origin, o := range origins {
		verdict, err := cache.Verdict(ctx, p.Settings.RobotsAgent, o.home)
		if err != nil {
			return err
		}
		if !verdict.Changed.IsZero() {
			changed[origin] = verdict.Changed
		}
	}
	if len(changed) > 0 {
		if err := v.judgeByRobots(ctx, p, origins, changed); err != nil {
			return err
		}
	}
	for origin, at := range changed {
		if err := cache.Judged(ctx, origins[origin].home, at); err != nil {
			return err
		}
	}
	v.restricted.remove(origins)
	return v.saveRestricted(ctx, v.restricted.left())
}

// remove ends the origins that did not change again.
func (r *restricted) remove(origins map[string]*restrictedOrigin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for origin, o := range origins {
		if !o.again {
			delete(r.origins, origin)
			o.done()
		}
	}
}

// saveRestricted stores the origins.
func (v *Reviewer) saveRestricted(ctx context.Context, origins map[string]*restrictedOrigin) error {
	names := slices.Sorted(maps.Keys(origins))
	names = names[:min(len(names), restrictedStored)]
	if slices.Equal(names, v.restricted.stored) {
		return nil
	}
	if err := scheduler.SaveValue(ctx, v.Store, scheduler.CrawlValue(restrictedName), restrictedWhat, names); err != nil {
		return err
	}
	v.restricted.stored = names
	return nil
}

// judgeByRobots excludes the stored URLs of the changed origins that robots.txt forbids.
func (v *Reviewer) judgeByRobots(ctx context.Context, p *policy.Policy, origins map[string]*restrictedOrigin, changed map[string]time.Time) error {
	// A page that began under the previous copy may still be stored: then it is among those that are read. One that begins
	// from now on uses the new copy.
	if err := v.Crawl.AwaitPages(ctx); err != nil {
		return err
	}
	rules := map[string]*robots.Rules{}
	for origin := range changed {
		r, err := v.Crawl.Robots().Rules(ctx, origins[origin].home)
		if err != nil {
			return err
		}
		if r != nil { // else nothing is known to be forbidden
			rules[origin] = r
		}
	}
	if len(rules) == 0 {
		return nil
	}
	v.Log.Info("robots.txt became stricter; judging the stored URLs by it", "origins", len(rules))
	ofThese := func(r *scheduler.Record) bool { return rules[r.Origin] != nil }
	return scheduler.Walk(ctx, v.Store, weburl.Key{}, ofThese, func(batch []scheduler.KeyedRecord) error { return v.forbid(ctx, p, rules, batch) })
}

// forbid excludes the URLs that the rules of its origin forbid.
func (v *Reviewer) forbid(ctx context.Context, p *policy.Policy, rules map[string]*robots.Rules, batch []scheduler.KeyedRecord) error {
	var keys []weburl.Key
	for i := range batch {
		r := &batch[i].Record
		u, ok := weburl.FromCanonical(r.URL)
		if ok && obeysRobots(r) && !isForbidden(r) && !p.Settings.IgnoresRobots(u) && !rules[r.Origin].Allowed(p.Settings.RobotsAgent, u) {
			keys = append(keys, batch[i].Key)
		}
	}
	n := 0
	if len(keys) > 0 {
		now := time.Now()
		var err error
		// Not cancelled half-way: the store calls the function until it returns.
		n, err = v.Frontier.Revise(context.WithoutCancel(ctx), keys, func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
			if isForbidden(&r) || !obeysRobots(&r) {
				return nil
			}
			return &scheduler.Change{Next: forbidden(r, p, now), Delete: policy.RobotsForbids}
		})
		if err == nil && p.Settings.Frontier.Deletions.Off { // else they are reported when they leave
			err = v.Freed(ctx, keys)
		}
		if err != nil {
			return err
		}
	}
	v.restricted.mu.Lock()
	defer v.restricted.mu.Unlock()
	v.restricted.Judged += uint64(len(batch))
	v.restricted.Excluded += uint64(n)
	return ctx.Err()
}

// isForbidden reports whether a record is of a URL that is already excluded. If its document still exists, the deletion
// is held.
func isForbidden(r *scheduler.Record) bool {
	return r.State == scheduler.Waiting || policy.Outside(r) != 0 ||
		r.Class == scheduler.Ignored && r.Reason == scheduler.ReasonRobots
}

// obeysRobots reports whether robots.txt can forbid a URL. It cannot forbid sitemaps that it names, nor items, which
// are not fetched.
func obeysRobots(r *scheduler.Record) bool {
	return r.Kind != scheduler.KindNamedSitemap && r.Kind != scheduler.KindItem
}

// forbidden returns the record of a URL that robots.txt forbids, as a worker would leave it: it is requested again
// later.
func forbidden(r scheduler.Record, p *policy.Policy, now time.Time) scheduler.Record {
	r.State, r.NextAt = scheduler.Timed, now.Add(p.Settings.Frontier.ErrorRefresh)
	r.Class, r.Status, r.Reason, r.LastError, r.Settled = scheduler.Ignored, 0, scheduler.ReasonRobots, policy.RobotsForbids, true
	r.Errors, r.FirstErrorAt = 0, time.Time{}
	r.RulesVersion = p.Version
	return r
}
