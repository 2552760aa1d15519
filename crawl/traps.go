package crawl

import (
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/weburl"
)

// trapsFor creates the traps of a policy, with the counts of those in force, otherwise the stored ones; nil if the
// policy has none.
func (c *Crawl) trapsFor(ctx context.Context, p *policy.Policy, old *visit.Rules) (*crawlspace.Traps, error) {
	s := p.Settings.Traps
	if s == nil {
		return nil, nil //nolint:nilnil // traps are off
	}
	if old != nil && p.LimitsHosts() && !old.Policy.LimitsHosts() {
		if err := c.countHosts(ctx); err != nil {
			return nil, err
		}
	}
	if old != nil && old.FetchState.Traps != nil {
		return old.FetchState.Traps.With(*s), nil
	}
	traps := crawlspace.NewTraps(*s, c.persistent.hosts)
	counts, err := policy.StoredTraps(ctx, c.store)
	if err == nil {
		err = traps.RestoreState(counts.Patterns)
	}
	if errors.Is(err, crawlspace.ErrTrapState) {
		c.log.Error("the stored trap counts are damaged; counting starts again", "error", err)
		err = nil
	}
	return traps, err
}

// countHosts counts the URLs of all hosts: at the start, and when a limit comes
// into force.
func (c *Crawl) countHosts(ctx context.Context) error {
	if err := c.persistent.hosts.CountAll(ctx, c.store); err != nil {
		return fmt.Errorf("counting the URLs of hosts: %w", err)
	}
	return nil
}

// trapCounts returns the counts of the traps in force, or nil without traps.
func (c *Crawl) trapCounts() any {
	now := c.inForce()
	if now.FetchState.Traps == nil {
		return nil
	}
	return policy.TrapCounts{Patterns: now.FetchState.Traps.AppendState(nil)}
}

// Traps returns the counts of the traps in force, else the stored ones.
func (c *Crawl) Traps(ctx context.Context) (policy.TrapCounts, error) {
	counts, err := policy.StoredTraps(ctx, c.store)
	if now, ok := c.trapCounts().(policy.TrapCounts); ok {
		counts.Patterns = now.Patterns
	}
	return counts, err
}

// HostURLs returns the number of known URLs of a host. The traps in force use their own count.
func (c *Crawl) HostURLs(ctx context.Context, u weburl.URL) (int, error) {
	if c.policy().LimitsHosts() {
		return c.persistent.hosts.HostURLs(u.HostKey()), nil
	}
	return policy.StoredHostURLs(ctx, c.store, u)
}
