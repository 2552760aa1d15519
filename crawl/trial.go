package crawl

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// A dry run visits its URL in the caller's goroutine. The frontier's runs beside it, and is
// waited for at the end. A mutex guards the steps of a log-in, which requests of a page that is rendered add to.

// Trial is the result of a dry run on one URL.
type Trial struct {
	visit.Recording
	// Links are the page's references, each URL once, in page order.
	Links []TrialLink
	// Stored is the state that would be stored of the URL.
	Stored scheduler.Record
}

// TrialLink is a link of a page, or the target of its redirect.
type TrialLink struct {
	Href     string `json:"href"` // as written
	URL      string `json:"url,omitempty"`
	NoFollow bool   `json:"nofollow,omitempty"` // by its own rel
	// Decision is crawl or ignore; Fifo is the link's fifo, and By the reason to ignore it.
	Decision string `json:"decision"`
	Fifo     string `json:"fifo,omitempty"`
	By       string `json:"by,omitempty"`
}

// TrialOf is the subject of a dry run.
type TrialOf struct {
	Raw string // the URL as written
	URL weburl.URL
	// Moved may be nil. So may Trap, which returns the trap that refuses a link that is otherwise allowed, or "".
	Moved policy.Moves
	Trap  func(weburl.URL) (string, error)
}

// trap calls Trap, which may be nil.
func (o *TrialOf) trap(u weburl.URL) (string, error) {
	if o.Trap == nil {
		return "", nil
	}
	return o.Trap(u)
}

// Try visits one URL as a crawl would that has just found it, up to its end: in an
// empty store, which is thrown away after it. All settings count except
// hours, weights, schedules, and sources of other URLs.
func Try(ctx context.Context, s policy.Settings, store Store, of TrialOf, log *slog.Logger) (*Trial, error) {
	s.Rounds, s.Traps = 0, nil // of.Trap has their counts
	s.Workers, s.Refreshes, s.Sources, s.CrawlSitemaps, s.ReadRejectList, s.CrawlLog, s.CookieFile = 1, nil, nil, false, nil, "", ""
	s.Frontier.Weights = scheduler.DefaultSettings().Weights
	s.Frontier.Throttles = withoutHours(s.Frontier.Throttles)
	if len(of.Moved) > 0 {
		if err := policy.SaveMoves(ctx, store, of.Moved); err != nil {
			return nil, err
		}
	}
	c, err := New(ctx, s, store, nil, log)
	if err != nil {
		return nil, err
	}
	defer func() { c.inForce().FetchState.Accesses.Close() }()
	t := &Trial{Recording: visit.Recording{Robots: robots.NeedsFetch.String()}}
	c.visitor.Watch(&t.Recording)
	var mu sync.Mutex // a page that is rendered makes several requests at once
	ctx = auth.Watch(ctx, func(e auth.Event) {
		mu.Lock()
		defer mu.Unlock()
		t.LogIn = append(t.LogIn, e)
	})
	link, v, ok := c.policy().Link(crawlspace.Link{URL: of.URL, Host: crawlspace.SpelledHost(of.Raw, of.URL)})
	if !ok {
		t.Excluded = c.policy().Detail(&v)
		return t, nil
	}
	if t.Excluded, err = of.trap(link.URL); err != nil || t.Excluded != "" {
		return t, err
	}
	if _, err := c.frontier.Add(ctx, []scheduler.Link{link}, false); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	var owner errgroup.Group
	owner.Go(func() error { return c.frontier.Run(running) })
	t.Stored, err = c.tryOne(ctx, link.URL)
	stop()
	if failed := owner.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	t.Links = trialLinks(c.policy(), t, link.URL)
	return t, t.trapped(&of)
}

// withoutHours allows a dry run at any time of day.
func withoutHours(throttles []scheduler.Throttle) []scheduler.Throttle {
	out := make([]scheduler.Throttle, len(throttles))
	for i, t := range throttles {
		t.Hours = nil
		out[i] = t
	}
	return out
}

// tryOne takes the URL through its stages until it has an outcome, including log-ins and robots.txt.
func (c *Crawl) tryOne(ctx context.Context, u weburl.URL) (r scheduler.Record, err error) {
	slot := c.meter.Activities.Begin()
	defer slot.Close()
	for {
		lease, err := c.frontier.Next(ctx)
		if err != nil {
			return r, err
		}
		if lease.Key != u.Key() {
			return r, fmt.Errorf("%s was leased instead of %s", lease.URL, u)
		}
		ended := make(chan error, 1)
		c.page(ctx, lease, slot, func(err error) { ended <- err })
		if err := <-ended; err != nil {
			return r, err
		}
		r, err = c.store.Lookup(ctx, u.Key())
		if err != nil {
			return r, err
		}
		if r.State != scheduler.Waiting {
			return r, nil
		}
		if err := c.reportPause(ctx, u); err != nil {
			return r, err
		}
	}
}

// minLoggedPause is the shortest pause that a dry run logs before it waits.
const minLoggedPause = 3 * time.Second

// reportPause reports how long and why the dry run waits for the host.
func (c *Crawl) reportPause(ctx context.Context, u weburl.URL) error {
	h, err := c.frontier.Host(ctx, u.HostKey())
	if err != nil {
		return err
	}
	if left := time.Until(h.Until); left >= minLoggedPause {
		c.log.Info("the host rests before the next request", "host", u.Origin(), "for", left.Round(time.Second), "by", h.Closing.String())
	}
	return nil
}

// trialLinks judges the links of a page, and its redirect.
func trialLinks(p *policy.Policy, t *Trial, page weburl.URL) []TrialLink {
	out := []TrialLink{}
	if t.Location != "" {
		if to, err := weburl.Parse(t.Location); err == nil {
			l := trialLink(p, t.Location, to)
			if l.Decision == "crawl" {
				l.Fifo = scheduler.Redir.String()
			}
			out = append(out, l)
		}
	}
	if t.Page == nil {
		return out
	}
	b, at := visit.BaseOf(page, *t.Page), map[string]int{page.String(): -1}
	for _, l := range t.Page.Links {
		u, err := b.Resolve(l.Href)
		if err != nil {
			continue
		}
		i, known := at[u.String()]
		if known && (i < 0 || out[i].counts(p)) {
			continue
		}
		judged := trialLink(p, l.Href, u)
		judged.NoFollow = l.NoFollow
		switch {
		case !known:
			at[u.String()] = len(out)
			out = append(out, judged)
		case judged.counts(p):
			out[i] = judged // of several spellings, the first that is accepted counts
		}
	}
	return out
}

// trapped returns which of the links that rules allow a trap refuses.
func (t *Trial) trapped(of *TrialOf) error {
	for i := range t.Links {
		l := &t.Links[i]
		u, ok := weburl.FromCanonical(l.URL)
		if !ok || l.Decision != "crawl" {
			continue
		}
		by, err := of.trap(u)
		if err != nil {
			return err
		}
		if by != "" {
			l.Decision, l.Fifo, l.By = "ignore", "", by
		}
	}
	return nil
}

// counts reports whether a crawl would follow the link.
func (l *TrialLink) counts(p *policy.Policy) bool {
	return l.Decision == "crawl" && (!l.NoFollow || p.Settings.IgnoreNoFollow)
}

func trialLink(p *policy.Policy, href string, u weburl.URL) TrialLink {
	l := TrialLink{Href: href, URL: u.String(), Decision: "ignore"}
	link, v, ok := p.Link(crawlspace.Link{URL: u, Host: visit.HostIn(href), Depth: 1})
	if !ok {
		l.By = p.Detail(&v)
		return l
	}
	l.URL, l.Decision, l.Fifo = link.URL.String(), "crawl", link.Fifo.String()
	return l
}

// withoutTokens leaves the tokens of Negotiate and NTLM out of challenges.
func withoutTokens(challenges []string) (out []string) {
	for _, c := range challenges {
		if scheme, _, _ := strings.Cut(c, " "); strings.EqualFold(scheme, "Negotiate") || strings.EqualFold(scheme, "NTLM") {
			c = scheme
		}
		out = append(out, c)
	}
	return out
}

// TrialHeaders returns the informative response headers.
func TrialHeaders(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range [...]string{
		"Content-Type", "Content-Language", "Last-Modified", "Etag", "Date", "Age", "Cache-Control", "Location", "Retry-After",
		"X-Robots-Tag", "Server", "Www-Authenticate", "Link", "Refresh",
	} {
		values := h.Values(name)
		if name == "Www-Authenticate" {
			values = withoutTokens(values)
		}
		if len(values) > 0 {
			out[http.CanonicalHeaderKey(name)] = values
		}
	}
	return out
}
