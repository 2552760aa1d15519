package crawl

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/sextant-crawler/sextant/crawl/crawllog"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
)

// Reload applies new settings while the crawl runs. Invalid settings change nothing; after an error of the store they
// may or may not be in force. Pages in flight finish under the rules that they began with, and are judged by the new
// ones then; new roots are added; if rules or crawl space differ, all stored URLs are judged again in the background.
// Changing the name is an error; Workers take effect after a restart, which is logged. Everything outside Settings (the
// store and its durability, push targets) requires a restart, too. It may be called at any time, also before Run.
func (c *Crawl) Reload(ctx context.Context, s policy.Settings) error {
	change, err := c.Prepare(ctx, s)
	if err != nil {
		return err
	}
	return change.Apply(ctx)
}

// Change is prepared, but not applied settings, with everything that they need. Apply or Discard must be called, once.
// It holds no lock.
type Change struct {
	c        *Crawl
	settings policy.Settings
	old, new *visit.Rules
	log      crawllog.File // nil: no crawl log
	renew    bool          // RenewNow
}

// RenewNow makes Apply refetch at once the documents whose metas or source, as set by rules and roots, differ from
// those last pushed.
func (ch *Change) RenewNow() { ch.renew = true }

// Prepare checks new settings and creates what they need, as Reload does, without changing anything, so that several
// crawls can apply their settings together or not at all.
func (c *Crawl) Prepare(ctx context.Context, s policy.Settings) (*Change, error) {
	if s.Name != c.name {
		return nil, fmt.Errorf("the running Crawler %q cannot be renamed to %q: restart the service", c.name, s.Name)
	}
	c.replacing.Lock()
	defer c.replacing.Unlock()
	ch := &Change{c: c, settings: s}
	if err := ch.make(ctx); err != nil {
		return nil, err
	}
	// Open it even if the path is the same: the system may have renamed the file to rotate it.
	var err error
	if ch.log, err = c.crawlLog.Open(s.CrawlLog); err != nil {
		return nil, err
	}
	return ch, nil
}

// make compiles the settings, and creates their fetchers from those in force. The caller holds c.replacing.
func (ch *Change) make(ctx context.Context) error {
	p, err := policy.Stored(ctx, ch.settings, ch.c.store)
	if err != nil {
		return err
	}
	ch.old = ch.c.inForce()
	state, err := ch.c.fetchState(ctx, p, ch.old)
	ch.new = &visit.Rules{Policy: p, FetchState: state}
	return err
}

// Discard leaves the old settings in force.
func (ch *Change) Discard() {
	if ch.log == nil {
		return
	}
	if err := ch.log.Close(); err != nil {
		ch.c.log.Warn("closing the crawl log", "error", err)
	}
}

// Apply puts the settings in force. It returns errors of the store.
func (ch *Change) Apply(ctx context.Context) error {
	c, s := ch.c, ch.settings
	c.replacing.Lock()
	defer c.replacing.Unlock()
	// A site may have moved, or other settings may have come into force, since Prepare.
	if c.inForce() != ch.old {
		if err := ch.make(ctx); err != nil {
			ch.Discard()
			return err
		}
	}
	if max(s.Workers, 1) != c.workers {
		c.log.Warn("the number of threads takes effect after a restart", "now", c.workers, "then", s.Workers)
	}
	if s.NearDuplicates != (c.copies != nil) {
		c.log.Warn("nearDuplicates takes effect after a restart", "then", s.NearDuplicates)
	}
	if learns := s.NearDuplicates && s.DetectPatterns; learns != (c.patterns != nil) {
		c.log.Warn("detectPatterns takes effect after a restart", "then", learns)
	}
	c.crawlLog.SwitchTo(s.CrawlLog, ch.log)
	return c.enforce(ctx, ch.old, ch.new, true, ch.renew)
}

// AllowNextEdit is the operator's confirmation of the rules of the next Run or Reload, even if they are those in force:
// all deletions that they cause, including held ones, are sent, however many.
func (c *Crawl) AllowNextEdit() { c.allowed.Store(true) }

// replace applies the policy that with derives from the old one. It first stores that all stored URLs must be judged by
// it, so that a crash cannot leave some of them under other rules. edit is as in enforce.
func (c *Crawl) replace(ctx context.Context, edit bool, with func(old *policy.Policy) (*policy.Policy, error)) error {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	old := c.inForce()
	p, err := with(old.Policy)
	if err != nil || p == old.Policy {
		return err
	}
	return c.enforce(ctx, old, &visit.Rules{Policy: p, FetchState: old.FetchState}, edit, false)
}

// enforce is the second half of replace; c.replacing is held. edit distinguishes an edit of the operator from a moved
// site, and renew is RenewNow of a Change.
func (c *Crawl) enforce(ctx context.Context, old, next *visit.Rules, edit, renew bool) error {
	p := next.Policy
	changed := p.Fingerprint != old.Policy.Fingerprint
	word := edit && c.allowed.Swap(false)
	if !changed {
		p.Since = old.Policy.Since
	}
	if word || changed && edit {
		if _, err := c.deletions.BeginEdit(ctx, word); err != nil {
			return err
		}
	}
	again := renew || word || !p.Same(old.Policy)
	if again {
		if err := c.reviewer.Begin(ctx, p, renew); err != nil {
			return err
		}
	}
	c.rules.swap(next)
	ctx = context.WithoutCancel(ctx) // the rest belongs to the settings in force
	next.FetchState.Accesses.Adopt()
	c.frontier.Apply(policy.FrontierSettings(p))
	c.gates.limits.apply(&p.Settings)
	select {
	case c.schedules.changed <- struct{}{}:
	default:
	}
	if again {
		c.log.Info("the rules or ages changed; judging all stored URLs again", "rules", p.Fingerprint)
		c.reviewer.Wake()
	}
	return c.addRoots(ctx, p)
}

// rejectListEvery is the default interval at which the reject list is read.
const rejectListEvery = time.Minute

// watchRejectList reads the reject list again and again until ctx ends. One that
// cannot be read leaves the old one in force.
func (c *Crawl) watchRejectList(ctx context.Context) error {
	for {
		s := c.policy().Settings
		every := s.RejectListEvery
		if every <= 0 {
			every = rejectListEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		if err := c.rereadRejectList(ctx); err != nil {
			c.log.Error("cannot read the reject list; the old one stays in force", "error", err)
		}
	}
}

func (c *Crawl) rereadRejectList(ctx context.Context) error {
	return c.replace(ctx, true, func(old *policy.Policy) (*policy.Policy, error) {
		if old.Settings.ReadRejectList == nil {
			return old, nil
		}
		f, err := old.Settings.ReadRejectList()
		if err != nil || reflect.DeepEqual(f, old.Settings.Space.RejectList) {
			return old, err
		}
		return old.WithRejectList(f)
	})
}
