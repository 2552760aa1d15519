package visit

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// All workers share what was asked for again; its mutex guards the map, and is held over
// nothing else.

const (
	// cookieTurnAgain is the time for which a URL is not requested again for its cookies, so that a site that redirects
	// everyone in a circle costs one more request, not endless ones.
	cookieTurnAgain = time.Hour
	// maxCookieTurns are remembered; with more, redirects in a circle are errors.
	maxCookieTurns = 10_000
	// maxCookieHops limits the length of a circle of redirects.
	maxCookieHops = 5
)

// cookieTurns are the URLs that were requested again with cookies set by their redirect. The zero value is ready for
// use.
type cookieTurns struct {
	mu sync.Mutex
	at map[weburl.Key]time.Time
}

// take reports whether a URL may be requested again, and records it.
func (c *cookieTurns) take(k weburl.Key, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.at[k]; ok && now.Sub(at) < cookieTurnAgain {
		return false
	}
	if len(c.at) >= maxCookieTurns {
		for old, at := range c.at {
			if now.Sub(at) >= cookieTurnAgain {
				delete(c.at, old)
			}
		}
		if len(c.at) >= maxCookieTurns {
			return false
		}
	}
	if c.at == nil {
		c.at = map[weburl.Key]time.Time{}
	}
	c.at[k] = now
	return true
}

// hasCookies reports whether a request for u carries cookies.
func (v *visit) hasCookies(u weburl.URL) bool {
	jar := v.fetchState.Accesses.of(u).cookies
	if jar == nil {
		return false
	}
	parsed, err := url.Parse(u.String())
	return err == nil && len(jar.Cookies(parsed)) > 0
}

// againWithCookies returns the lease if its page redirects to itself and has set a cookie, which is how sites test for
// cookies. The error is leaseEnded then.
func (v *visit) againWithCookies(r *fetcher.Response) error {
	if len(r.Header.Values("Set-Cookie")) == 0 || v.lease.Record.Kind.IsSource() || !v.hasCookies(v.lease.URL) {
		return nil
	}
	location := r.Header.Get("Location")
	target, err := targetOf(v.lease.URL, location)
	self := errors.Is(err, errRedirectLoop)
	if err == nil { // they may differ only in parts that are dropped from URLs
		link, _, ok := v.policy.Link(crawlspace.Link{URL: target, Host: v.spelling(location, target), Depth: int(v.lease.Record.Depth)})
		self = ok && link.URL.Key() == v.lease.Key
	}
	if self && v.visitor.cookieTurns.take(v.lease.Key, time.Now()) {
		return v.giveBack(AskedPage, time.Time{})
	}
	return nil
}

// backWithCookies requests a redirect's target again if it has led to this URL, perhaps through others, and would now
// receive cookies. Link is the target.
func (v *visit) backWithCookies(ctx context.Context, link scheduler.Link) error {
	if !v.hasCookies(link.URL) {
		return nil
	}
	for next, hops := link.URL, 0; hops < maxCookieHops; hops++ {
		r, err := v.store.Lookup(ctx, next.Key())
		switch {
		case errors.Is(err, scheduler.ErrNotFound):
			return nil
		case err != nil:
			return err
		case r.Class != scheduler.Redirect || r.State == scheduler.Waiting:
			return nil
		}
		to, err := weburl.Parse(r.RedirectTo)
		if err != nil {
			return nil //nolint:nilerr // it leads nowhere
		}
		if to.Key() == v.lease.Key {
			if !v.visitor.cookieTurns.take(link.URL.Key(), time.Now()) {
				return nil
			}
			link.Referrer, link.Fifo = v.lease.URL.String(), scheduler.Redir
			_, err = v.frontier.Add(ctx, []scheduler.Link{link}, true)
			return err
		}
		next = to
	}
	return nil
}
