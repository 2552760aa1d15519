package crawl

import (
	"context"
	"net"
	"net/netip"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/robots"
)

// fetchState creates the fetch state of a policy. old is the one in force, nil at the start; its learnt state is
// adopted.
func (c *Crawl) fetchState(ctx context.Context, p *policy.Policy, old *visit.Rules) (g *visit.FetchState, err error) {
	g = &visit.FetchState{}
	var before visit.Accesses
	if old != nil {
		before = old.FetchState.Accesses
	}
	if old != nil && old.Policy.Settings.Robots == p.Settings.Robots {
		g.Robots = old.FetchState.Robots
	} else {
		g.Robots = robots.NewCache(c.store, p.Settings.Robots)
	}
	if g.Traps, err = c.trapsFor(ctx, p, old); err != nil {
		return nil, err
	}
	b := visit.AccessBuilder{Log: c.log, Jar: c.persistent.jar, Kept: c.persistent.cookies, Complete: c.fetcherSettings}
	g.Accesses, err = b.Accesses(p, before)
	return g, err
}

// fetcherSettings adds the crawl's own settings.
func (c *Crawl) fetcherSettings(s fetcher.Settings, p *policy.Policy) fetcher.Settings {
	s.Exempt = slices.Clone(s.Exempt)
	for _, root := range p.Settings.Rules.Roots {
		s.Exempt = append(s.Exempt, net.JoinHostPort(root.URL.Host(), root.URL.Port()))
	}
	for _, source := range p.Sources {
		s.Exempt = append(s.Exempt, net.JoinHostPort(source.URL.Host(), source.URL.Port()))
	}
	s.Judge, s.Names, s.DenyPrivate, s.Permit = c.judgeAddress, c.persistent.names, p.Settings.DenyPrivate, c.gates.permit
	if p.Settings.MaxBytesPerS > 0 {
		s.Pace = c.gates.limits.pay
	}
	return s
}

// judgeAddress applies the address rules in force to an address before it is dialled.
func (c *Crawl) judgeAddress(a netip.Addr) (allowed, matched bool, words string) {
	allowed, matched, reason := c.policy().Space.Addresses().Judge(a)
	if matched {
		words = reason.String()
	}
	return allowed, matched, words
}
