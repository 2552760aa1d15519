package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/fault"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// visitor is what the visits of one crawl work with, and what they learn for each other.
// All workers share it; each part that changes has a lock of its own.
type visitor struct {
	frontier *scheduler.Frontier
	store    visitStore
	log      *slog.Logger
	sites    sites
	copies   *copies.Detector // nil: not looked for
	patterns *copies.Patterns // nil: not learnt
	hosts    *hostURLs        // counted for traps
	meter    *meter
	crawlLog *crawlLog
	trial    *trial // looks on in a dry run, else nil

	addresses      addresses
	logins         logins
	namers         namers
	sitemaps       sitemapCounts
	robotsInFlight sync.Map // keys of hosts whose robots.txt is being fetched
}

// visitStore is what visits ask of the store beside the frontier.
type visitStore interface {
	scheduler.Lookuper
	scheduler.Inspector
	scheduler.Values
}

// sites is what a visit asks of the crawl as a whole.
type sites interface {
	// inForce returns the rules of now: others than a page began under, if a site has moved
	// or the rules were loaded anew.
	inForce() *rules
	// homeLeads takes in where a page leads that may stand for a site; zero says that it is
	// a page itself, and firm that the redirect is permanent.
	homeLeads(ctx context.Context, from, to weburl.URL, firm bool) error
	// restrict has the stored URLs of u's origin judged by its robots.txt, which became stricter.
	restrict(u weburl.URL)
	// wasRoot reports whether a URL that waits was a root before the roots changed.
	wasRoot(k weburl.Key) bool
}

// visit is one lease on its way. It belongs to one worker.
type visit struct {
	visitor  *visitor
	frontier *scheduler.Frontier
	store    visitStore
	log      *slog.Logger
	meter    *meter

	policy  *policy // in force when it began
	gear    *gear
	access  *access // of gear, for the lease's URL
	lease   *scheduler.Lease
	slot    *slot
	verdict verdict
	// indexed says that the rules let the page be a document; if not, why and unindexed
	// say why.
	indexed   bool
	why       scheduler.Reason
	unindexed string
}

// step is what a stage came to: an answer to go on with, or the outcome of the visit.
type step struct {
	asked    asked // what was asked for so far
	response *fetcher.Response
	failure  error             // of the request, if there is no response
	outcome  *scheduler.Result // nil: go on
}

// leaseEnded ends a visit without an outcome of its own: the lease was given back, or the
// URL waits. cause is what failed in doing so, nil if nothing did.
type leaseEnded struct{ cause error }

func (e leaseEnded) Error() string { return fmt.Sprintf("the lease has ended: %v", e.cause) }

// page takes one lease through all stages: rules, robots.txt, fetch, read, judge the
// links, complete. It returns what was asked for.
func (r *visitor) page(ctx context.Context, by *rules, lease *scheduler.Lease, slot *slot) (asked, error) {
	v := &visit{
		visitor: r, frontier: r.frontier, store: r.store, log: r.log, meter: r.meter,
		policy: by.policy, gear: by.gear, access: by.gear.accesses.of(lease.URL), lease: lease, slot: slot,
	}
	defer r.copies.Abandon(lease.Key)
	s, err := v.stages(ctx)
	if ended, ok := errors.AsType[leaseEnded](err); ok {
		return s.asked, ended.cause
	}
	if err != nil {
		_ = v.giveBack(s.asked, time.Time{})
		return s.asked, err
	}
	return s.asked, v.complete(ctx, &s)
}

// giveBack hands the lease back without an outcome: it is offered again, not before a
// time unless that is zero.
func (v *visit) giveBack(asked asked, until time.Time) error {
	v.frontier.GiveBack(v.lease, asked != askedNothing, until)
	return leaseEnded{}
}

// wait has the URL wait until a time for a reason that tells nothing of the URL.
func (v *visit) wait(ctx context.Context, until time.Time, why scheduler.Reason, detail string) error {
	return leaseEnded{v.frontier.Wait(ctx, v.lease, until, why, detail)}
}

// stages takes the lease up to its outcome. With an error that is not leaseEnded the lease
// is the visit's still.
func (v *visit) stages(ctx context.Context) (step, error) {
	if s, err := v.outside(ctx); err != nil || s.outcome != nil {
		return s, err
	}
	v.knowRoot()
	if v.indexed, v.why, v.unindexed = v.policy.indexes(&v.verdict); v.lease.Record.Kind.IsSource() {
		v.indexed, v.why, v.unindexed = false, scheduler.ReasonSource, isSource
	}
	if s, err := v.askRobots(ctx); err != nil || s.outcome != nil {
		return s, err
	}
	request := v.request()
	request.Limit = v.bodyLimit
	s, err := v.fetch(ctx, request, v.access)
	if err != nil {
		return s, err
	}
	if s.failure != nil {
		return v.failed(ctx, s)
	}
	v.meter.answered(s.response)
	v.visitor.trial.answered(s.response)

	result := answer(s.response)
	s.outcome = &result
	switch {
	case s.response.Status == http.StatusOK:
		err = v.read(ctx, s.response, &result)
		result.MediaType = mediaType(s.response.Header.Get("Content-Type"))
	case s.response.Status == http.StatusNotModified:
		err = v.visitor.sites.homeLeads(ctx, v.lease.URL, weburl.URL{}, true)
	case isRedirect(s.response.Status):
		err = v.redirect(ctx, s.response.Header.Get("Location"), s.response.Status, &result)
	}
	return s, err
}

// shutOut is the step of a URL that is not asked for.
func shutOut(by *scheduler.Exclusion) step {
	return step{outcome: &scheduler.Result{Excluded: by}}
}

// outside judges the lease's URL again. Its outcome is an exclusion if the URL is outside
// now, or has another name, which is made known then.
func (v *visit) outside(ctx context.Context) (step, error) {
	if v.lease.Record.Kind.IsSource() {
		return v.sourceOutside(ctx)
	}
	link := recorded(v.lease.URL, &v.lease.Record)
	v.verdict = v.policy.judgeLink(link)
	renamed := v.verdict.url.Key() != v.lease.Key
	if v.verdict.inside() && !renamed {
		return step{}, nil
	}
	if v.verdict.inside() {
		if l, _, ok := v.policy.link(link); ok {
			l.Referrer = v.lease.Record.Referrer
			if _, err := v.frontier.Add(ctx, []scheduler.Link{l}, false); err != nil {
				return step{}, err
			}
		}
		v.policy.rename(&v.verdict, v.lease.URL)
	}
	return shutOut(v.policy.exclusion(&v.verdict)), nil
}

// askRobots asks robots.txt about the lease's URL. Its outcome is an exclusion if it
// forbids the URL. The lease ends if robots.txt had to be fetched first: the host's pause
// comes between that and the page.
func (v *visit) askRobots(ctx context.Context) (step, error) {
	verdict, err := v.gear.robots.Verdict(ctx, v.policy.settings.RobotsAgent, v.lease.URL)
	if err != nil {
		return step{}, err
	}
	if !verdict.Changed.IsZero() {
		v.visitor.sites.restrict(v.lease.URL)
	}
	v.visitor.trial.asked(&verdict)
	if v.access.ignoreRobots {
		verdict = verdict.WithoutRules()
	}
	switch verdict.State {
	case robots.NeedsFetch:
		return v.fetchRobots(ctx, verdict)
	case robots.Unreachable:
		return step{}, v.wait(ctx, verdict.Until, scheduler.ReasonRobotsUnreachable, robotsUnreachable)
	}
	// Set it even if absent: an earlier robots.txt may have had a Crawl-delay.
	open := v.frontier.Delay(v.lease.Place.Host, verdict.CrawlDelay)
	free, err := v.freeOfRobots(ctx)
	switch {
	case err != nil:
		return step{}, err
	case verdict.State == robots.Disallowed && !free:
		return shutOut(&scheduler.Exclusion{Reason: scheduler.ReasonRobots, Words: robotsForbids}), nil
	case !open: // robots.txt was fetched just before
		return step{}, v.giveBack(askedNothing, time.Time{})
	}
	return step{}, nil
}

// robotsPause is how long a lease waits while another worker fetches its host's robots.txt.
const robotsPause = 100 * time.Millisecond

// fetchRobots fetches robots.txt and ends the lease: the host's pause comes between that
// and the page. Only if there is no such host is that the page's outcome, too.
func (v *visit) fetchRobots(ctx context.Context, verdict robots.Verdict) (step, error) {
	host := v.lease.Place.Host
	if _, taken := v.visitor.robotsInFlight.LoadOrStore(host, nil); taken {
		return step{}, v.giveBack(askedNothing, time.Now().Add(robotsPause))
	}
	defer v.visitor.robotsInFlight.Delete(host)
	s, err := v.fetchRobotsTxt(ctx, verdict.Request())
	if err != nil {
		return s, err
	}
	s.asked = askedOther
	if s.failure == nil {
		v.meter.requests.Add(1)
	} else if ctx.Err() == nil {
		v.log.Warn("robots.txt cannot be had", "host", v.lease.Record.Origin, "error", s.failure)
	}
	if e, ok := errors.AsType[*fetcher.Error](s.failure); ok && noHost(e.Fault) {
		// There is no such host, or none that may be asked: so it is for the page.
		return v.failed(ctx, s)
	}
	if err := v.nameSitemaps(ctx, s.response); err != nil {
		return s, err
	}
	if err := v.gear.robots.Record(context.WithoutCancel(ctx), v.lease.URL, s.response, s.failure); err != nil {
		return s, err
	}
	return s, v.giveBack(s.asked, time.Time{})
}

// proxyWait is how long a URL waits whose proxy does not pass it on. That says nothing
// of the page, however long it lasts.
const proxyWait = 10 * time.Minute

// request is conditional where an unchanged answer would be enough: the page was
// good before, by the rules in force, and what they want of it has been done.
func (v *visit) request() fetcher.Request {
	r, d := &v.lease.Record, &v.verdict.decision
	if r.Kind.IsSource() {
		return v.sourceRequest()
	}
	q := fetcher.Request{URL: v.lease.URL, Refuse: v.refuse}
	switch {
	case v.policy.settings.Unconditional, v.visitor.copies.Whole(v.lease.Key), r.Class != scheduler.OK, r.RulesVersion != v.policy.version,
		v.indexed != r.Indexed, v.indexed && d.Source != r.PushedSource,
		isOver(r.UnavailableAt):
		return q
	}
	return conditional(q, r)
}

// conditional makes a request that is done where nothing has changed since the record.
func conditional(q fetcher.Request, r *scheduler.Record) fetcher.Request {
	q.ETag, q.LastModified = r.ETag, r.LastModified
	if q.ETag == "" && q.LastModified == "" {
		q.LastModified = r.Date
	}
	return q
}

// failed is the outcome of a request that got no usable answer.
func (v *visit) failed(ctx context.Context, s step) (step, error) {
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	v.meter.requests.Add(1)
	s.outcome = &scheduler.Result{Fault: fault.Protocol, Words: s.failure.Error()}
	if e, ok := errors.AsType[*fetcher.Error](s.failure); ok {
		detail := e.Err.Error()
		s.outcome.Fault, s.outcome.Words = e.Fault, detail
		switch e.Fault {
		case fault.AddressForbidden:
			s.outcome = &scheduler.Result{Excluded: &scheduler.Exclusion{Status: StatusExcluded, Reason: scheduler.ReasonCrawlSpace, Words: detail}}
		case fault.Proxy:
			return s, v.wait(context.WithoutCancel(ctx), time.Now().Add(proxyWait), scheduler.ReasonProxy, detail)
		}
	}
	return s, nil
}

// read takes links and document out of a 200.
func (v *visit) read(ctx context.Context, response *fetcher.Response, result *scheduler.Result) error {
	if response.Refused {
		result.Reason, result.NoDocument = scheduler.ReasonMediaType, v.mime(response.Header.Get("Content-Type")).Reason.String()
		return nil
	}
	if v.lease.Record.Kind.IsSource() {
		return v.readSource(ctx, response, result)
	}
	if typed := v.sniff(response); !typed.Allowed {
		result.Reason, result.NoDocument = scheduler.ReasonMediaType, typed.Reason.String()
		return nil
	}
	p, read, err := v.extract(ctx, response)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		result.Reason, result.NoDocument = scheduler.ReasonUnreadable, cannotRead+err.Error()
		return nil
	}
	if result.Words = unreadable(&p); result.Words != "" {
		result.Reason = scheduler.ReasonUnreadFile
	}
	if response.Truncated {
		result.Reason, result.Words = scheduler.ReasonTruncated, tooLong
		v.log.Warn("a page is longer than maxBodyBytes: the rest of it is not read", "url", v.lease.URL.String(), "bytes", len(response.Body))
	}
	result.LoginPage = v.visitor.logins.is(v.lease, &p)
	if p.Refresh != "" && p.RefreshAfter <= refreshIsRedirect && !isItself(v.lease, p) {
		return v.redirect(ctx, p.Refresh, 0, result)
	}
	if !result.LoginPage {
		if err := v.isHome(ctx); err != nil {
			return err
		}
	}
	directives := v.directives(response, p)
	why, noIndex := v.heed(directives, result)
	follows := v.verdict.decision.Follow && (!directives.NoFollow || v.policy.settings.IgnoreNoFollow)
	v.visitor.trial.read(p, read, directives, follows)
	if follows {
		if result.Links, err = v.admitted(ctx, v.links(p)); err != nil {
			return err
		}
	}
	switch {
	case !v.indexed:
		result.Reason, result.NoDocument = v.why, v.unindexed
	case noIndex != "":
		result.Reason, result.NoDocument = why, noIndex
	case len(response.Body) == 0:
		result.Reason, result.NoDocument = scheduler.ReasonEmpty, "empty"
	default:
		return v.index(ctx, response, p, read, directives, result)
	}
	return nil
}

// complete hands the outcome to the frontier and writes the crawl log's line.
func (v *visit) complete(ctx context.Context, s *step) error {
	r := s.outcome
	if v.log.Enabled(ctx, slog.LevelDebug) {
		v.log.Debug("page", "url", v.lease.URL.String(), "status", r.Status, "links", len(r.Links),
			"document", r.Document != nil, "words", r.Words)
	}
	r.RulesVersion = v.policy.version
	if v.lease.Record.Kind.IsSource() {
		r.RulesVersion = v.policy.sourceVersion(v.lease.Key)
	}
	if v.verdict.inside() {
		r.Decided = fifoOf(v.verdict.decision)
	}
	if err := v.visitor.trial.completed(r); err != nil {
		return err
	}
	// A page that was fetched is committed even while the service stops.
	ctx = context.WithoutCancel(ctx)
	defer v.frontier.Busy()()
	v.slot.now(waitsForStore)
	err := v.frontier.Complete(ctx, v.lease, *r)
	v.slot.now(working)
	if err != nil {
		return err
	}
	v.logFetched(s)
	v.tellRoot(r)
	return errors.Join(v.visitor.copies.Settle(ctx, v.lease, r), v.reconsider(ctx, r))
}
