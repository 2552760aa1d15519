package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Trial is what a dry run on one URL came to.
type Trial struct {
	// Excluded says by what the URL is excluded; then it was not asked for.
	Excluded string
	// Robots is what its robots.txt says, RobotsUnknown if it was not asked, and
	// CrawlDelay the pause that it asks for.
	Robots     string
	CrawlDelay time.Duration
	// Answer is the page's, nil if there was none that can be used.
	Answer *fetcher.Response
	// Location is where the answer, or a meta refresh, leads to.
	Location string
	// Page is what was read of a 200, nil if nothing was. Read says that there is
	// something that reads its type.
	Page       *extract.Page
	Read       bool
	Directives extract.Directives
	// Follows says that the page's links are followed, by rules and directives.
	Follows bool
	// Links are the page's references, each URL once, in page order.
	Links []TrialLink
	// Document is what would be pushed, nil for none.
	Document *push.Document
	// Stored is what would be stored of the URL.
	Stored StoredURL
}

// Words are what the page asks for.
func (t *Trial) Words() []string {
	return append([]string{}, directiveFlags(t.Directives).Words()...)
}

// TrialLink is a reference found in a page, or where it redirects to.
type TrialLink struct {
	Href     string `json:"href"` // as written
	URL      string `json:"url,omitempty"`
	NoFollow bool   `json:"nofollow,omitempty"` // by its own rel
	// Decision is crawl or ignore; Fifo where it would go, and By what ignores it.
	Decision string `json:"decision"`
	Fifo     string `json:"fifo,omitempty"`
	By       string `json:"by,omitempty"`
}

// trial looks on while a URL is visited. Nil looks at nothing.
type trial struct{ Trial }

func (t *trial) asked(v *robots.Verdict) {
	if t == nil {
		return
	}
	switch v.State {
	case robots.Allowed:
		t.Robots = RobotsAllowed
	case robots.Disallowed:
		t.Robots = RobotsForbidden
	case robots.Unreachable:
		t.Robots = "unreachable"
	}
	t.CrawlDelay = v.CrawlDelay
}

func (t *trial) answered(r *fetcher.Response) {
	if t != nil {
		t.Answer = r
	}
}

func (t *trial) read(p extract.Page, read bool, d extract.Directives, follows bool) {
	if t != nil {
		t.Page, t.Read, t.Directives, t.Follows = &p, read, d, follows
	}
}

func (t *trial) completed(r *scheduler.Result) error {
	if t == nil {
		return nil
	}
	t.Location = r.Location
	if r.Excluded != nil {
		t.Excluded = r.Excluded.Words
	}
	if r.Document == nil {
		return nil
	}
	t.Document = new(push.Document)
	return json.Unmarshal(r.Document.Body, t.Document)
}

// Try visits one URL as a crawl would that has just found it, up to its end: in an
// empty store, which is thrown away after it. Of the settings all count but for
// hours, weights, schedules, and sources of other URLs. Moved may be nil.
func Try(ctx context.Context, s Settings, moved Moves, store Store, raw string, u weburl.URL, log *slog.Logger) (*Trial, error) {
	s.Workers, s.Refreshes, s.Sources, s.CrawlSitemaps, s.ReadRejectList, s.CrawlLog = 1, nil, nil, false, nil, ""
	s.Frontier.Weights = scheduler.DefaultSettings().Weights
	s.Frontier.Throttles = withoutHours(s.Frontier.Throttles)
	if len(moved) > 0 {
		if err := scheduler.SaveValue(ctx, store, movedSites, movedWhat, moved); err != nil {
			return nil, err
		}
	}
	c, err := New(ctx, s, store, nil, log)
	if err != nil {
		return nil, err
	}
	defer func() { c.inForce().gear.accesses.close() }()
	c.visitor.trial = &trial{Trial{Robots: RobotsUnknown}}
	link, v, ok := c.policy().link(crawlspace.Link{URL: u, Host: crawlspace.SpelledHost(raw, u)})
	if !ok {
		c.visitor.trial.Excluded = c.policy().words(&v)
		return &c.visitor.trial.Trial, nil
	}
	if _, err := c.frontier.Add(ctx, []scheduler.Link{link}, false); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	var owner errgroup.Group
	owner.Go(func() error { return c.frontier.Run(running) })
	err = c.tryOne(ctx, link.URL)
	stop()
	if failed := owner.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	c.visitor.trial.Links = c.policy().trialLinks(&c.visitor.trial.Trial, link.URL)
	return &c.visitor.trial.Trial, nil
}

// withoutHours lets a person ask at any time of the day.
func withoutHours(throttles []scheduler.Throttle) []scheduler.Throttle {
	out := make([]scheduler.Throttle, len(throttles))
	for i, t := range throttles {
		t.Hours = nil
		out[i] = t
	}
	return out
}

// tryOne takes the URL through its stages until it has an outcome: log-ins and
// robots.txt come first.
func (c *Crawl) tryOne(ctx context.Context, u weburl.URL) error {
	slot := c.meter.activities.slot()
	defer slot.close()
	for {
		lease, err := c.frontier.Next(ctx)
		if err != nil {
			return err
		}
		if lease.Key != u.Key() {
			return fmt.Errorf("%s was taken instead of %s", lease.URL, u)
		}
		if _, err := c.page(ctx, lease, slot); err != nil {
			return err
		}
		r, err := c.store.Lookup(ctx, u.Key())
		if err != nil {
			return err
		}
		if r.State != scheduler.Waiting {
			c.visitor.trial.Stored = NewStoredURL(r)
			return nil
		}
	}
}

// trialLinks judges what a page refers to, and where it leads.
func (p *policy) trialLinks(t *Trial, page weburl.URL) []TrialLink {
	out := []TrialLink{}
	if t.Location != "" {
		if to, err := weburl.Parse(t.Location); err == nil {
			l := p.trialLink(t.Location, to)
			if l.Decision == "crawl" {
				l.Fifo = scheduler.Redir.String()
			}
			out = append(out, l)
		}
	}
	if t.Page == nil {
		return out
	}
	b, seen := base(page, *t.Page), map[string]bool{page.String(): true}
	for _, l := range t.Page.Links {
		u, err := b.Resolve(l.Href)
		if err != nil || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		judged := p.trialLink(l.Href, u)
		judged.NoFollow = l.NoFollow
		out = append(out, judged)
	}
	return out
}

func (p *policy) trialLink(href string, u weburl.URL) TrialLink {
	l := TrialLink{Href: href, URL: u.String(), Decision: "ignore"}
	link, v, ok := p.link(crawlspace.Link{URL: u, Host: hostIn(href), Depth: 1})
	if !ok {
		l.By = p.words(&v)
		return l
	}
	l.URL, l.Decision, l.Fifo = link.URL.String(), "crawl", link.Fifo.String()
	return l
}

// TrialHeaders are the fields of an answer's header that say something here.
func TrialHeaders(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range [...]string{
		"Content-Type", "Content-Language", "Last-Modified", "Etag", "Date", "Age", "Cache-Control", "Location", "Retry-After",
		"X-Robots-Tag", "Server", "Www-Authenticate", "Link",
	} {
		if values := h.Values(name); len(values) > 0 {
			out[http.CanonicalHeaderKey(name)] = values
		}
	}
	return out
}
