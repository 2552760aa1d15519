package crawl

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// trapsName is the store's value that keeps what traps have counted.
const trapsName = "crawl.traps"

// TrapCounts is what traps have counted, as it is stored.
type TrapCounts struct {
	// Patterns is the state of crawlspace.Traps.
	Patterns []byte `json:"patterns,omitempty"`
	// Full are hosts that have as many URLs as they may, in hexadecimal.
	Full []string `json:"full,omitempty"`
	// Learnt are the patterns of URLs that lead to copies, which are stored apart.
	Learnt []copies.Pattern `json:"learnt,omitempty"`
}

// StoredTraps is what the traps of a store's crawl had counted when that was
// stored last.
func StoredTraps(ctx context.Context, store scheduler.Store) (c TrapCounts, err error) {
	b, err := store.Value(ctx, trapsName)
	if err == nil && len(b) > 0 && json.Unmarshal(b, &c) != nil {
		return TrapCounts{}, fmt.Errorf("stored value %s: %w", trapsName, crawlspace.ErrTrapState)
	}
	if err == nil {
		c.Learnt, err = copies.StoredPatterns(ctx, store)
	}
	return c, err
}

// equipTraps makes the traps of a policy, with the counts of those in force or else the
// stored ones; nil if it has none.
func (c *Crawl) equipTraps(ctx context.Context, p *policy, old *rules) (*crawlspace.Traps, error) {
	s := p.settings.Traps
	if s == nil {
		return nil, nil //nolint:nilnil // traps are off
	}
	if old != nil && p.limitsHosts() && !old.policy.limitsHosts() {
		if err := c.countHosts(ctx); err != nil {
			return nil, err
		}
	}
	if old != nil && old.gear.traps != nil {
		return old.gear.traps.With(*s), nil
	}
	traps := crawlspace.NewTraps(*s, c.hosts)
	counts, err := StoredTraps(ctx, c.store)
	if err == nil {
		err = traps.RestoreState(counts.Patterns)
	}
	if errors.Is(err, crawlspace.ErrTrapState) {
		c.log.Error("the stored counts of traps are damaged: they begin anew", "error", err)
		err = nil
	}
	return traps, err
}

// countHosts counts the URLs of all hosts: at the start, and when a limit comes
// into force.
func (c *Crawl) countHosts(ctx context.Context) error {
	if err := c.hosts.count(ctx, c.store); err != nil {
		return fmt.Errorf("counting the URLs of hosts: %w", err)
	}
	return nil
}

// keepTraps stores what the traps have counted until ctx ends.
func (c *Crawl) keepTraps(ctx context.Context) error {
	return c.keepValue(ctx, trapsName, "the counts of traps", func() any {
		now := c.inForce()
		if now.gear.traps == nil {
			return nil
		}
		return TrapCounts{Patterns: now.gear.traps.AppendState(nil), Full: c.hosts.full(now.policy.settings.Traps.MaxURLsPerHost)}
	})
}

// fullHosts are those of TrapCounts.
type fullHosts map[string]bool

// HostURLs implements crawlspace.HostURLs as far as a limit goes.
func (f fullHosts) HostURLs(k weburl.HostKey) int {
	if f[hex.EncodeToString(k[:])] {
		return int(^uint(0) >> 1)
	}
	return 0
}
