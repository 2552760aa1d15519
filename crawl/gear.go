package crawl

import (
	"context"
	"net"
	"net/netip"
	"slices"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/robots"
)

// gear is what pages are fetched with by a policy. Policies that differ only in rules may
// share it.
type gear struct {
	accesses accesses
	robots   *robots.Cache
	traps    *crawlspace.Traps // nil: off
}

// equip makes the gear of a policy. Old are the rules in force, nil at the start: what they
// have learnt goes on.
func (c *Crawl) equip(ctx context.Context, p *policy, old *rules) (g *gear, err error) {
	g = &gear{}
	var before accesses
	if old != nil {
		before = old.gear.accesses
	}
	if old != nil && old.policy.settings.Robots == p.settings.Robots {
		g.robots = old.gear.robots
	} else {
		g.robots = robots.NewCache(c.store, p.settings.Robots)
	}
	if g.traps, err = c.equipTraps(ctx, p, old); err != nil {
		return nil, err
	}
	g.accesses, err = c.newAccesses(p, before)
	return g, err
}

// fetcherSettings adds what the crawl itself contributes.
func (c *Crawl) fetcherSettings(s fetcher.Settings, p *policy) fetcher.Settings {
	s.Exempt = slices.Clone(s.Exempt)
	for _, root := range p.settings.Rules.Roots {
		s.Exempt = append(s.Exempt, net.JoinHostPort(root.URL.Host(), root.URL.Port()))
	}
	for _, source := range p.sources {
		s.Exempt = append(s.Exempt, net.JoinHostPort(source.URL.Host(), source.URL.Port()))
	}
	s.Judge, s.Names, s.DenyPrivate = c.judgeAddress, c.names, p.settings.DenyPrivate
	if p.settings.MaxBytesPerS > 0 {
		s.Pace = c.limits.pay
	}
	return s
}

// judgeAddress asks the address rules in force about an address that is to be dialled.
func (c *Crawl) judgeAddress(a netip.Addr) (allowed, matched bool, words string) {
	allowed, matched, reason := c.policy().space.Addresses().Judge(a)
	if matched {
		words = reason.String()
	}
	return allowed, matched, words
}
