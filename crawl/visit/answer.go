package visit

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// answer classifies an HTTP response by its status and headers.
func answer(r *fetcher.Response) scheduler.Result {
	result := scheduler.Result{
		Status: r.Status, Conditional: r.Conditional,
		RetryAfter: r.RetryAfter, HasRetryAfter: r.HasRetryAfter,
	}
	if r.Status == http.StatusOK {
		result.ETag = r.Header.Get("ETag")
		result.LastModified = r.Header.Get("Last-Modified")
		result.Date = r.Header.Get("Date")
	} else {
		result.Words = statusWords(r.Status)
	}
	return result
}

// statusWords returns a status and its usual text.
func statusWords(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// isRedirect reports whether a status sends the crawler elsewhere (RFC 9110 section
// 15.4; 300 and 304 do not).
func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// redirect adds the target of a redirect to the result. status is that of the response, 0 for a meta refresh. The
// target is not followed here: it goes through the fifo redir.
func (v *visit) redirect(ctx context.Context, location string, status int, result *scheduler.Result) error {
	if status == 0 {
		// A meta refresh is a redirect that HTML spells; the page itself does not count.
		result.Status = http.StatusFound
	}
	target, err := targetOf(v.lease.URL, location)
	if err != nil {
		result.Fault, result.Words = fault.BadRedirect, "redirect: "+err.Error()
		return nil
	}
	result.Location = target.String()
	result.Moved = status == http.StatusMovedPermanently || status == http.StatusPermanentRedirect
	if int(v.lease.Record.Hops) >= v.policy.Settings.MaxRedirects {
		result.Fault, result.Words = fault.TooManyHops, "more redirects than maxRedirects"
		return nil
	}
	if v.lease.Record.Kind.IsSource() {
		return v.sourceRedirect(ctx, target, result)
	}
	if err := v.visitor.sites.ObserveHome(ctx, v.lease.URL, target, result.Moved); err != nil {
		return err
	}
	// The move of a site is in force at once.
	now := v.visitor.sites.InForce()
	p := now.Policy
	link, verdict, ok := p.RedirectLink(crawlspace.Link{
		URL: target, Host: v.spelling(location, target), Depth: int(v.lease.Record.Depth),
	}, v.lease.Record.Shift)
	if !ok {
		result.RedirectIgnored = true
		v.redirectsOut(p, target, &verdict, result)
		return nil
	}
	result.Location = link.URL.String()
	if link.URL.Key() == v.lease.Key { // they differ only in parts that are dropped from URLs
		result.Fault = fault.BadRedirect
		result.Words = fmt.Sprintf("redirect: %v: %s is stored under this URL (%s)", errRedirectLoop, target, p.Space.Renamed(target).Gate)
		return nil
	}
	reason, ok, err := v.admits(ctx, now, link.URL)
	if err != nil {
		return err
	}
	if !ok {
		result.RedirectIgnored = true
		result.Words += ": " + reason.String()
		return nil
	}
	link.Referrer = v.lease.URL.String()
	result.Redirect = &link
	return v.backWithCookies(ctx, link)
}

// targetOf resolves a Location, which is relative to the URL that was fetched
// (RFC 9110 section 10.2.2).
func targetOf(from weburl.URL, location string) (weburl.URL, error) {
	if location == "" {
		return weburl.URL{}, errNoLocation
	}
	base, err := weburl.NewBase(from.String())
	if err != nil {
		return weburl.URL{}, err
	}
	u, err := base.Resolve(location)
	if err != nil {
		return weburl.URL{}, err
	}
	if u.Key() == from.Key() {
		return weburl.URL{}, errRedirectLoop
	}
	return u, nil
}
