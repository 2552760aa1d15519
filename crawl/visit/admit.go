package visit

import (
	"context"
	"log/slog"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// learn updates the patterns with a page that was compared. of is the original's URL, "" for a document.
func (v *visit) learn(of string) {
	if v.visitor.patterns == nil || v.lease.Record.Settled {
		return
	}
	u, ok := weburl.FromCanonical(of)
	if !ok && of != "" {
		return
	}
	for _, p := range v.visitor.patterns.Observe(v.lease.URL, u) {
		v.log.Warn("a pattern of URLs leads to copies", "pattern", p.String())
	}
}

// shortened returns a link that a pattern excludes, without the parameter; false if it is not followed at all.
func (v *visit) shortened(link scheduler.Link) (scheduler.Link, bool) {
	for range copies.MaxParameters + 1 {
		left, cut := v.visitor.patterns.Cut(link.URL)
		if !cut {
			return link, true
		}
		if left.IsZero() {
			return link, false
		}
		other, _, inside := v.policy.Link(crawlspace.Link{URL: left, Host: link.HostSpelling, Depth: int(link.Depth)})
		if !inside {
			return link, false
		}
		other.Referrer = link.Referrer
		link = other
	}
	return link, false
}

// followed applies the patterns to links: known URLs pass, and of links that differ only in a dropped parameter the
// first counts.
func (v *visit) followed(ctx context.Context, links []scheduler.Link) ([]scheduler.Link, error) {
	if !v.visitor.patterns.Cuts() {
		return links, nil
	}
	kept, cut := links[:0], map[weburl.Key]bool{}
	for _, link := range links {
		if link.Known != (weburl.Key{}) || v.visitor.patterns.Match(link.URL) == nil {
			kept = append(kept, link)
			continue
		}
		known, err := scheduler.Known(ctx, v.store, link.URL.Key())
		switch {
		case err != nil:
			return nil, err
		case known:
			kept = append(kept, link)
		default:
			if other, ok := v.shortened(link); ok && !cut[other.URL.Key()] {
				cut[other.URL.Key()] = true
				kept = append(kept, other)
			}
		}
	}
	return kept, nil
}

// admitted returns the links without new ones that are traps, or that patterns cut off.
func (v *visit) admitted(ctx context.Context, links []scheduler.Link) ([]scheduler.Link, error) {
	links, err := v.followed(ctx, links)
	if err != nil || v.fetchState.Traps == nil {
		return links, err
	}
	kept, by := links[:0], v.rules()
	for i := range links {
		ok := links[i].Known != (weburl.Key{})
		if !ok {
			if _, ok, err = v.admits(ctx, by, links[i].URL); err != nil {
				return nil, err
			}
		}
		if ok {
			kept = append(kept, links[i])
		}
	}
	return kept, nil
}

// admits applies the traps to a link that everything else accepts. A known link passes without being counted. A link
// that is found twice before it is stored, by two pages or as link and canonical, is counted twice.
func (v *visit) admits(ctx context.Context, by *Rules, u weburl.URL) (crawlspace.Reason, bool, error) {
	if by.FetchState.Traps == nil {
		return crawlspace.Reason{}, true, nil
	}
	if known, err := scheduler.Known(ctx, v.store, u.Key()); known || err != nil {
		return crawlspace.Reason{}, known, err
	}
	reason, ok := v.admitNew(by, u)
	return reason, ok, nil
}

// admitNew applies the traps, which must be configured, to an unknown link.
func (v *visit) admitNew(by *Rules, u weburl.URL) (crawlspace.Reason, bool) {
	reason, ok := by.FetchState.Traps.Admit(u)
	if ok {
		v.countURL(by.Policy, u)
		return reason, true
	}
	v.meter.Trapped.Add(1)
	if v.log.Enabled(context.Background(), slog.LevelDebug) {
		v.log.Debug("a link is a trap", "url", u.String(), "by", reason.String())
	}
	return reason, false
}

// countURL counts a new URL for its host.
func (v *visit) countURL(p *policy.Policy, u weburl.URL) {
	if p.LimitsHosts() {
		v.visitor.hosts.add(u.HostKey())
	}
}
