package crawl

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// trapsName is the store's value that keeps what traps have counted.
	trapsName = "crawl.traps"
	// trapHosts is how many hosts are counted; any others have no limit.
	trapHosts = 1 << 20
	// fullStored is how many full hosts are stored for explain.
	fullStored = 10_000
)

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

// hostURLs counts the stored URLs by host, for traps. URLs that are removed count
// until the next start, new ones that are submitted do not.
type hostURLs struct {
	mu     sync.Mutex
	counts map[weburl.HostKey]int
}

// HostURLs implements crawlspace.HostURLs.
func (h *hostURLs) HostURLs(k weburl.HostKey) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts[k]
}

func (h *hostURLs) add(k weburl.HostKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	addHost(h.counts, k)
}

// addHost counts one more for a host, of up to trapHosts.
func addHost(counts map[weburl.HostKey]int, k weburl.HostKey) {
	if n, known := counts[k]; known || len(counts) < trapHosts {
		counts[k] = n + 1
	}
}

// count reads all URLs of a store.
func (h *hostURLs) count(ctx context.Context, store scheduler.Store) error {
	h.mu.Lock()
	h.counts = map[weburl.HostKey]int{}
	h.mu.Unlock()
	return store.Inspect(ctx, scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		h.add(r.Host)
		return nil
	})
}

// full are hosts that have limit URLs or more, sorted.
func (h *hostURLs) full(limit int) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var full []string
	for k, n := range h.counts {
		if limit > 0 && n >= limit {
			full = append(full, hex.EncodeToString(k[:]))
		}
	}
	slices.Sort(full)
	return full[:min(len(full), fullStored)]
}

// equipTraps gives a policy its traps, with the counts of those in force or else
// the stored ones.
func (c *Crawl) equipTraps(ctx context.Context, p, old *policy) error {
	s := p.settings.Traps
	if s == nil {
		return nil
	}
	if old != nil && p.limitsHosts() && !old.limitsHosts() {
		if err := c.countHosts(ctx); err != nil {
			return err
		}
	}
	if old != nil && old.traps != nil {
		p.traps = old.traps.With(*s)
		return nil
	}
	p.traps = crawlspace.NewTraps(*s, &c.hostURLs)
	counts, err := StoredTraps(ctx, c.store)
	if err == nil {
		err = p.traps.RestoreState(counts.Patterns)
	}
	if errors.Is(err, crawlspace.ErrTrapState) {
		c.log.Error("the traps count from the beginning", "error", err)
		return nil
	}
	return err
}

// limitsHosts says that the URLs of hosts must be counted.
func (p *policy) limitsHosts() bool {
	return p.settings.Traps != nil && p.settings.Traps.MaxURLsPerHost > 0
}

// countHosts counts the URLs of all hosts: at the start, and when a limit comes
// into force.
func (c *Crawl) countHosts(ctx context.Context) error {
	if err := c.hostURLs.count(ctx, c.store); err != nil {
		return fmt.Errorf("counting the URLs of hosts: %w", err)
	}
	return nil
}

// admitted are links without the new ones that are traps, or that patterns cut off.
func (v *visit) admitted(ctx context.Context, links []scheduler.Link) ([]scheduler.Link, error) {
	links, err := v.followed(ctx, links)
	if err != nil || v.traps == nil {
		return links, err
	}
	kept := links[:0]
	for i := range links {
		_, ok, err := v.admits(ctx, v.policy, links[i].URL)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, links[i])
		}
	}
	return kept, nil
}

// admits asks the traps about a link that all else lets in. One that is known
// passes, and uses nothing up; one that is found twice before it is stored, by two
// pages at once or as link and canonical, is counted twice.
func (c *Crawl) admits(ctx context.Context, p *policy, u weburl.URL) (crawlspace.Reason, bool, error) {
	if p.traps == nil {
		return crawlspace.Reason{}, true, nil
	}
	_, err := c.store.Lookup(ctx, u.Key())
	if !errors.Is(err, scheduler.ErrNotFound) {
		return crawlspace.Reason{}, err == nil, err
	}
	reason, ok := c.admitNew(p, u)
	return reason, ok, nil
}

// admitNew asks the traps, which there are, about a link that is not known.
func (c *Crawl) admitNew(p *policy, u weburl.URL) (crawlspace.Reason, bool) {
	reason, ok := p.traps.Admit(u)
	if ok {
		c.countURL(p, u)
		return reason, true
	}
	c.trapped.Add(1)
	if c.log.Enabled(context.Background(), slog.LevelDebug) {
		c.log.Debug("a link is a trap", "url", u.String(), "by", reason.String())
	}
	return reason, false
}

// countURL counts a new URL for its host.
func (c *Crawl) countURL(p *policy, u weburl.URL) {
	if p.limitsHosts() {
		c.hostURLs.add(u.HostKey())
	}
}

// keepTraps stores what the traps have counted until ctx ends.
func (c *Crawl) keepTraps(ctx context.Context) error {
	return c.keepValue(ctx, trapsName, "the counts of traps", func() any {
		p := c.judge.current.Load()
		if p.traps == nil {
			return nil
		}
		return TrapCounts{Patterns: p.traps.AppendState(nil), Full: c.hostURLs.full(p.settings.Traps.MaxURLsPerHost)}
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
