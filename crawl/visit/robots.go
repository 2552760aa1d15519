package visit

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
)

// askRobots applies robots.txt to the lease's URL. Its outcome is an exclusion if robots.txt forbids the URL. The lease
// ends if robots.txt had to be fetched first: the host's pause comes before the page.
func (v *visit) askRobots(ctx context.Context) (step, error) {
	verdict, err := v.fetchState.Robots.Verdict(ctx, v.policy.Settings.RobotsAgent, v.lease.URL)
	if err != nil {
		return step{}, err
	}
	if !verdict.Changed.IsZero() {
		v.visitor.sites.Restrict(v.lease.URL)
	}
	v.visitor.trial.record(func(t *Recording) {
		t.Robots, t.CrawlDelay, t.AskedDelay = verdict.State.String(), verdict.CrawlDelay, verdict.AskedDelay
	})
	if v.access.ignoreRobots {
		verdict = verdict.WithoutRules()
	}
	switch verdict.State {
	case robots.NeedsFetch:
		return v.fetchRobots(ctx, verdict)
	case robots.Unreachable:
		return step{}, v.wait(ctx, verdict.Until, scheduler.ReasonRobotsUnreachable, robotsUnreachable)
	case robots.Allowed, robots.Disallowed:
	}
	// Set it even if absent: an earlier robots.txt may have had a Crawl-delay.
	open := v.frontier.Delay(v.lease.Place.Host, verdict.CrawlDelay)
	free, err := v.freeOfRobots(ctx)
	switch {
	case err != nil:
		return step{}, err
	case verdict.State == robots.Disallowed && !free:
		return shutOut(&scheduler.Exclusion{Reason: scheduler.ReasonRobots, Words: policy.RobotsForbids}), nil
	case !open: // robots.txt was fetched just before
		return step{}, v.giveBack(AskedNothing, time.Time{})
	}
	return step{}, nil
}

// robotsUnreachable is the reason for URLs whose robots.txt returns an error.
const robotsUnreachable = "robots.txt is unavailable"

// robotsPause is the time that a lease waits while another worker fetches its host's robots.txt.
const robotsPause = 100 * time.Millisecond

// warnOfRobots logs that robots.txt cannot be fetched. Any page can link to any number of hosts with refused addresses:
// only the first of these is logged, and their URLs are counted by reason.
func warnOfRobots(v *visit, failure error) {
	words := "cannot fetch robots.txt"
	if e, ok := errors.AsType[*fetcher.Error](failure); ok && (e.Fault == fault.Address || e.Fault == fault.AddressForbidden) {
		if v.visitor.guardedHost.Swap(true) {
			return
		}
		words = "a host is not visited because its address is refused; sextant report errors counts the URLs of further ones"
	}
	v.log.Warn(words, "host", v.lease.Record.Origin, "error", failure)
}

// fetchRobots fetches robots.txt and ends the lease: the host's pause comes between that and the page. If the host does
// not exist, that is the page's outcome, too.
func (v *visit) fetchRobots(ctx context.Context, verdict robots.Verdict) (step, error) {
	host := v.lease.Place.Host
	if _, taken := v.visitor.robotsInFlight.LoadOrStore(host, nil); taken {
		return step{}, v.giveBack(AskedNothing, time.Now().Add(robotsPause))
	}
	defer v.visitor.robotsInFlight.Delete(host)
	s, err := v.fetchRobotsTxt(ctx, verdict.Request())
	if err != nil {
		return s, err
	}
	s.asked = askedOther
	if s.failure == nil {
		v.meter.Requests.Add(1)
	} else if ctx.Err() == nil {
		warnOfRobots(v, s.failure)
	}
	if e, ok := errors.AsType[*fetcher.Error](s.failure); ok && !e.Fault.ReachedHost() {
		// The host does not exist, or must not be contacted: that is the page's outcome, too.
		return v.failed(ctx, s)
	}
	if wallOf(s.response) != "" {
		return s, walled(ctx, v, s.response, true)
	}
	if err := v.nameSitemaps(ctx, s.response); err != nil {
		return s, err
	}
	if err := v.fetchState.Robots.Record(context.WithoutCancel(ctx), v.lease.URL, s.response, s.failure); err != nil {
		return s, err
	}
	return s, v.giveBack(s.asked, time.Time{})
}
