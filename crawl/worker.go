package crawl

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
)

// work takes lease after lease until the frontier stops, the tickets are used
// up, or ctx ends.
func (c *Crawl) work(ctx context.Context, tickets *tickets) error {
	for {
		if !tickets.take() {
			return nil
		}
		if err := c.awaitOutbox(ctx); err != nil {
			return err
		}
		lease, err := c.frontier.Next(ctx)
		if errors.Is(err, scheduler.ErrStopped) {
			return nil
		}
		if err != nil {
			return err
		}
		fetched, err := c.page(ctx, lease)
		if !fetched {
			tickets.back()
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if unrecoverable(err) {
			return err
		}
		// The frontier offers the URL again; the store's trouble is the
		// operator's to know.
		c.log.Error("page not completed", "url", lease.URL.String(), "error", err)
	}
}

// unrecoverable errors of the store end the crawl: fetching goes to waste when
// nothing can be stored, and the message must reach somebody.
func unrecoverable(err error) bool {
	return errors.Is(err, scheduler.ErrFull) || errors.Is(err, scheduler.ErrDamaged) || errors.Is(err, scheduler.ErrClosed)
}

// outboxPause is how long a worker waits before it looks again whether the
// outbox has room.
const outboxPause = 200 * time.Millisecond

// awaitOutbox waits while the outbox holds as much as it may: an indexer that is
// down must not fill the disk.
func (c *Crawl) awaitOutbox(ctx context.Context) error {
	limit := uint64(max(c.settings.OutboxMaxBytes, 0))
	if limit == 0 || c.store.OutboxBytes() < limit {
		return nil
	}
	c.log.Warn("the outbox is full: waiting for the indexer", "bytes", c.store.OutboxBytes(), "outboxMaxBytes", limit)
	c.outboxFull.Add(1)
	defer c.outboxFull.Add(-1)
	for c.store.OutboxBytes() >= limit {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.stopping.Done():
			return nil
		case <-time.After(outboxPause):
		}
	}
	return nil
}

// page takes one lease through all stages: rules, robots.txt, fetch, read,
// judge the links, complete. It says whether the page itself was asked for.
func (c *Crawl) page(ctx context.Context, lease *scheduler.Lease) (fetched bool, err error) {
	decision := c.judge.decide(lease.URL)
	if !decision.Crawl() {
		return false, c.complete(ctx, lease, scheduler.Result{Excluded: c.judge.exclusion(lease.URL)})
	}
	decided := fifoOf(decision)

	excluded, done, err := c.askRobots(ctx, lease)
	if done || err != nil {
		return false, err
	}
	if excluded != nil {
		return false, c.complete(ctx, lease, scheduler.Result{Excluded: excluded, Decided: decided})
	}

	request := c.request(lease, decision)
	response, err := c.fetcher.Fetch(ctx, request)
	if err != nil {
		return true, c.failed(ctx, lease, decided, err)
	}
	c.count(response)

	result := answer(response)
	result.Decided = decided
	switch {
	case response.Status == 200:
		err = c.read(ctx, lease, decision, response, &result)
	case isRedirect(response.Status):
		err = c.redirect(ctx, lease, response.Header.Get("Location"), response.Status, &result)
	}
	if err != nil {
		c.frontier.GiveBack(lease, true, time.Time{})
		return true, err
	}
	return true, c.complete(ctx, lease, result)
}

// askRobots returns an exclusion if robots.txt forbids the lease's URL. done
// says that the lease was handed back: robots.txt had to be fetched first, and
// the host's pause comes between that and the page.
func (c *Crawl) askRobots(ctx context.Context, lease *scheduler.Lease) (excluded *scheduler.Exclusion, done bool, err error) {
	if c.settings.IgnoreRobots {
		return nil, false, nil
	}
	verdict, err := c.robots.Verdict(ctx, c.settings.RobotsAgent, lease.URL)
	if err != nil {
		c.frontier.GiveBack(lease, false, time.Time{})
		return nil, true, err
	}
	switch verdict.State {
	case robots.NeedsFetch:
		return nil, true, c.fetchRobots(ctx, lease, verdict)
	case robots.Unreachable:
		return nil, true, c.frontier.Wait(ctx, lease, verdict.Until, "robots.txt cannot be had")
	case robots.Disallowed:
		return &scheduler.Exclusion{Words: "robots.txt forbids it"}, false, nil
	}
	if verdict.CrawlDelay > 0 {
		c.frontier.Delay(lease.Place.Host, verdict.CrawlDelay)
	}
	return nil, false, nil
}

// robotsPause is how long a lease waits while another worker fetches its host's robots.txt.
const robotsPause = 100 * time.Millisecond

// fetchRobots fetches robots.txt and hands the lease back: the host's pause comes
// between that and the page.
func (c *Crawl) fetchRobots(ctx context.Context, lease *scheduler.Lease, verdict robots.Verdict) error {
	if _, taken := c.robotsInFlight.LoadOrStore(lease.Place.Host, nil); taken {
		c.frontier.GiveBack(lease, false, time.Now().Add(robotsPause))
		return nil
	}
	defer c.robotsInFlight.Delete(lease.Place.Host)
	response, err := c.fetcher.Fetch(ctx, verdict.Request())
	if err == nil {
		c.requests.Add(1)
	}
	if err != nil && ctx.Err() == nil {
		c.log.Warn("robots.txt cannot be had", "host", lease.Place.Origin, "error", err)
	}
	if e, ok := errors.AsType[*fetcher.Error](err); ok && (e.Fault == fetcher.DNSNotFound || e.Fault == fetcher.AddressFault) {
		// There is no such host, or none that may be asked: so it is for the page.
		return c.failed(ctx, lease, lease.Record.Fifo, err)
	}
	err = c.robots.Record(context.WithoutCancel(ctx), lease.URL, response, err)
	c.frontier.GiveBack(lease, true, time.Time{})
	return err
}

// request is conditional where an unchanged answer would be enough: the page was
// good before, and what the rules want of it has been done.
func (c *Crawl) request(lease *scheduler.Lease, d actionrules.Decision) fetcher.Request {
	r, q := lease.Record, fetcher.Request{URL: lease.URL}
	if c.settings.Unconditional || r.Class != scheduler.OK || d.Index != r.Indexed || (d.Index && d.Source != r.PushedSource) {
		return q
	}
	q.ETag, q.LastModified = r.ETag, r.LastModified
	if q.ETag == "" && q.LastModified == "" {
		q.LastModified = r.Date
	}
	return q
}

// failed completes a lease whose request got no usable answer.
func (c *Crawl) failed(ctx context.Context, lease *scheduler.Lease, decided scheduler.Source, err error) error {
	if ctx.Err() != nil {
		c.frontier.GiveBack(lease, true, time.Time{})
		return ctx.Err()
	}
	c.requests.Add(1)
	result := scheduler.Result{Fault: scheduler.Protocol, Words: err.Error(), Decided: decided}
	if e, ok := errors.AsType[*fetcher.Error](err); ok {
		result.Fault = faultOf(e.Fault)
		result.Words = e.Err.Error()
	}
	return c.complete(ctx, lease, result)
}

// read takes links and document out of a 200.
func (c *Crawl) read(ctx context.Context, lease *scheduler.Lease, d actionrules.Decision, response *fetcher.Response, result *scheduler.Result) error {
	p, err := c.extract(response)
	if err != nil {
		result.NoDocument = "the page cannot be read: " + err.Error()
		return nil
	}
	if p.Refresh != "" && p.RefreshAfter <= refreshIsRedirect && !isItself(lease, p) {
		return c.redirect(ctx, lease, p.Refresh, 0, result)
	}
	if err := c.judge.cameBack(ctx, lease.URL, c.store); err != nil {
		return err
	}
	directives := p.Robots.Merge(extract.XRobotsTag(response.Header.Values("X-Robots-Tag"), c.settings.RobotsAgent))
	if d.Follow && (!directives.NoFollow || c.settings.IgnoreNoFollow) {
		result.Links = c.links(lease, p)
	}
	switch {
	case !d.Index:
		result.NoDocument = "not indexed by rule"
	case directives.NoIndex && !c.settings.IgnoreNoIndex:
		result.NoDocument = "noindex"
	case len(response.Body) == 0:
		result.NoDocument = "empty"
	default:
		return c.index(ctx, lease, d, response, p, directives, result)
	}
	return nil
}

// complete hands the result to the frontier and writes the crawl's log line.
func (c *Crawl) complete(ctx context.Context, lease *scheduler.Lease, r scheduler.Result) error {
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.Debug("page", "url", lease.URL.String(), "status", r.Status, "links", len(r.Links),
			"document", r.Document != nil, "words", r.Words)
	}
	// A page that was fetched is committed even while the service stops.
	ctx = context.WithoutCancel(ctx)
	defer c.frontier.Busy()()
	if err := c.frontier.Complete(ctx, lease, r); err != nil {
		return err
	}
	return c.reconsider(ctx, lease, &r)
}
