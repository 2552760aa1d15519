package crawl

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// learn tells the patterns of a page that was compared. Of is the original's URL, ""
// for a document.
func (v *visit) learn(of string) {
	if v.patterns == nil || v.lease.Record.Settled {
		return
	}
	u, ok := weburl.FromCanonical(of)
	if !ok && of != "" {
		return
	}
	for _, p := range v.patterns.Saw(v.lease.URL, u) {
		v.log.Warn("a pattern of URLs leads to copies", "pattern", p.String())
	}
}

// shortened is a link that a pattern cuts off, without the parameter; false if it is not
// followed at all.
func (v *visit) shortened(link scheduler.Link) (scheduler.Link, bool) {
	for range copies.MaxParameters + 1 {
		left, cut := v.patterns.Cut(link.URL)
		if !cut {
			return link, true
		}
		if left.IsZero() {
			return link, false
		}
		other, _, inside := v.link(crawlspace.Link{URL: left, Host: link.HostSpelling, Depth: int(link.Depth)})
		if !inside {
			return link, false
		}
		other.Referrer = link.Referrer
		link = other
	}
	return link, false
}

// followed is what becomes of links by the patterns: what is known passes, and of those
// that are one URL without a parameter the first counts.
func (v *visit) followed(ctx context.Context, links []scheduler.Link) ([]scheduler.Link, error) {
	if !v.patterns.Cuts() {
		return links, nil
	}
	kept, cut := links[:0], map[weburl.Key]bool{}
	for _, link := range links {
		if v.patterns.Match(link.URL) == nil {
			kept = append(kept, link)
			continue
		}
		_, err := v.store.Lookup(ctx, link.URL.Key())
		switch {
		case err == nil:
			kept = append(kept, link)
		case !errors.Is(err, scheduler.ErrNotFound):
			return nil, err
		default:
			if other, ok := v.shortened(link); ok && !cut[other.URL.Key()] {
				cut[other.URL.Key()] = true
				kept = append(kept, other)
			}
		}
	}
	return kept, nil
}
