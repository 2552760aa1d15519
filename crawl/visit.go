package crawl

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/fault"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// visit is one lease on its way, with the rules that it began under.
type visit struct {
	*Crawl
	*policy
	lease   *scheduler.Lease
	access  *access
	slot    *slot
	verdict verdict
	// asked says that the URL was asked for; status is its answer's, 0 if there was none.
	asked  bool
	status int
	// indexed says that the rules let the page be a document; if not, unindexed
	// and why say why.
	indexed   bool
	why       scheduler.Reason
	unindexed string
}

// page takes one lease through all stages: rules, robots.txt, fetch, read,
// judge the links, complete. It says what was asked for.
func (c *Crawl) page(ctx context.Context, lease *scheduler.Lease, slot *slot) (asked asked, err error) {
	defer c.visits.begin()()
	began := c.judge.begin()
	defer c.judge.end(began)
	v := &visit{Crawl: c, policy: began, lease: lease, access: began.accesses.of(lease.URL), slot: slot}
	defer c.copies.Abandon(lease.Key)
	asked, err = v.page(ctx)
	if again := c.judgeAgain(context.WithoutCancel(ctx), began, lease.Key); again != nil {
		err = errors.Join(err, again, c.passAgain(context.WithoutCancel(ctx)))
	}
	return asked, err
}

func (v *visit) page(ctx context.Context) (asked asked, err error) {
	if done, err := v.outside(ctx); done {
		return askedNothing, err
	}
	v.knowRoot()
	if v.indexed, v.why, v.unindexed = v.indexes(&v.verdict); v.lease.Record.Kind.IsSource() {
		v.indexed, v.why, v.unindexed = false, scheduler.ReasonSource, isSource
	}

	excluded, asked, done, err := v.askRobots(ctx)
	if done || err != nil {
		return asked, err
	}
	if excluded != nil {
		return askedNothing, v.complete(ctx, scheduler.Result{Excluded: excluded})
	}
	request := v.request()
	request.Limit = v.bodyLimit
	response, asked, done, err := v.fetch(ctx, request, v.access)
	if done {
		return asked, err
	}
	v.asked = true
	if err != nil {
		return askedPage, v.failed(ctx, err)
	}
	v.status = response.Status
	v.count(response)
	v.trial.answered(response)

	result := answer(response)
	switch {
	case response.Status == http.StatusOK:
		err = v.read(ctx, response, &result)
		result.MediaType = mediaType(response.Header.Get("Content-Type"))
	case response.Status == http.StatusNotModified:
		err = v.homeLeads(ctx, v.lease.URL, weburl.URL{}, true)
	case isRedirect(response.Status):
		err = v.redirect(ctx, response.Header.Get("Location"), response.Status, &result)
	}
	if err != nil {
		v.frontier.GiveBack(v.lease, true, time.Time{})
		return askedPage, err
	}
	return askedPage, v.complete(ctx, result)
}

// outside judges the lease's URL again, and completes it if it is outside now, or
// has another name, which is made known then.
func (v *visit) outside(ctx context.Context) (done bool, err error) {
	if v.lease.Record.Kind.IsSource() {
		return v.sourceOutside(ctx)
	}
	link := recorded(v.lease.URL, &v.lease.Record)
	v.verdict = v.judgeLink(link)
	renamed := v.verdict.url.Key() != v.lease.Key
	if v.verdict.inside() && !renamed {
		return false, nil
	}
	if v.verdict.inside() {
		if l, _, ok := v.link(link); ok {
			l.Referrer = v.lease.Record.Referrer
			if _, err := v.frontier.Add(ctx, []scheduler.Link{l}, false); err != nil {
				v.frontier.GiveBack(v.lease, false, time.Time{})
				return true, err
			}
		}
		v.rename(&v.verdict, v.lease.URL)
	}
	return true, v.complete(ctx, scheduler.Result{Excluded: v.exclusion(&v.verdict)})
}

// askRobots returns an exclusion if robots.txt forbids the lease's URL. done
// says that the lease was handed back: robots.txt had to be fetched first, and
// the host's pause comes between that and the page.
func (v *visit) askRobots(ctx context.Context) (excluded *scheduler.Exclusion, asked asked, done bool, err error) {
	verdict, err := v.robots.Verdict(ctx, v.settings.RobotsAgent, v.lease.URL)
	if err != nil {
		v.frontier.GiveBack(v.lease, false, time.Time{})
		return nil, askedNothing, true, err
	}
	if !verdict.Changed.IsZero() {
		v.restrict(v.lease.URL)
	}
	v.trial.asked(&verdict)
	if v.access.ignoreRobots {
		verdict = verdict.WithoutRules()
	}
	switch verdict.State {
	case robots.NeedsFetch:
		asked, err = v.fetchRobots(ctx, verdict)
		return nil, asked, true, err
	case robots.Unreachable:
		return nil, askedNothing, true, v.frontier.Wait(ctx, v.lease, verdict.Until, scheduler.ReasonRobotsUnreachable, robotsUnreachable)
	}
	// Told also where there is none: an earlier robots.txt may have had one.
	open := v.frontier.Delay(v.lease.Place.Host, verdict.CrawlDelay)
	free, err := v.freeOfRobots(ctx)
	if err != nil {
		v.frontier.GiveBack(v.lease, false, time.Time{})
		return nil, askedNothing, true, err
	}
	switch {
	case verdict.State == robots.Disallowed && !free:
		return &scheduler.Exclusion{Reason: scheduler.ReasonRobots, Words: robotsForbids}, askedNothing, false, nil
	case !open: // robots.txt was fetched just before
		v.frontier.GiveBack(v.lease, false, time.Time{})
		return nil, askedNothing, true, nil
	}
	return nil, askedNothing, false, nil
}

// robotsPause is how long a lease waits while another worker fetches its host's robots.txt.
const robotsPause = 100 * time.Millisecond

// fetchRobots fetches robots.txt and hands the lease back: the host's pause comes
// between that and the page.
func (v *visit) fetchRobots(ctx context.Context, verdict robots.Verdict) (asked, error) {
	host := v.lease.Place.Host
	if _, taken := v.robotsInFlight.LoadOrStore(host, nil); taken {
		v.frontier.GiveBack(v.lease, false, time.Now().Add(robotsPause))
		return askedNothing, nil
	}
	defer v.robotsInFlight.Delete(host)
	response, asked, done, err := v.fetchRobotsTxt(ctx, verdict.Request())
	if done {
		return asked, err
	}
	if err == nil {
		v.requests.Add(1)
	}
	if err != nil && ctx.Err() == nil {
		v.log.Warn("robots.txt cannot be had", "host", v.lease.Record.Origin, "error", err)
	}
	if e, ok := errors.AsType[*fetcher.Error](err); ok && noHost(e.Fault) {
		// There is no such host, or none that may be asked: so it is for the page.
		return askedOther, v.failed(ctx, err)
	}
	if named := v.nameSitemaps(ctx, response); named != nil {
		v.frontier.GiveBack(v.lease, true, time.Time{})
		return askedOther, named
	}
	err = v.robots.Record(context.WithoutCancel(ctx), v.lease.URL, response, err)
	v.frontier.GiveBack(v.lease, true, time.Time{})
	return askedOther, err
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
	case v.settings.Unconditional, v.copies.Whole(v.lease.Key), r.Class != scheduler.OK, r.RulesVersion != v.version,
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

// failed completes a lease whose request got no usable answer.
func (v *visit) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		v.frontier.GiveBack(v.lease, true, time.Time{})
		return ctx.Err()
	}
	v.requests.Add(1)
	result := scheduler.Result{Fault: fault.Protocol, Words: err.Error()}
	if e, ok := errors.AsType[*fetcher.Error](err); ok {
		result.Fault = e.Fault
		result.Words = e.Err.Error()
		switch e.Fault {
		case fault.AddressForbidden:
			result = scheduler.Result{Excluded: &scheduler.Exclusion{Status: StatusExcluded, Reason: scheduler.ReasonCrawlSpace, Words: e.Err.Error()}}
		case fault.Proxy:
			return v.frontier.Wait(context.WithoutCancel(ctx), v.lease, time.Now().Add(proxyWait), scheduler.ReasonProxy, e.Err.Error())
		}
	}
	return v.complete(ctx, result)
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
	result.LoginPage = v.logins.is(v.lease, &p)
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
	follows := v.verdict.decision.Follow && (!directives.NoFollow || v.settings.IgnoreNoFollow)
	v.trial.read(p, read, directives, follows)
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

// complete hands the result to the frontier and writes the crawl's log line.
func (v *visit) complete(ctx context.Context, r scheduler.Result) error {
	if v.log.Enabled(ctx, slog.LevelDebug) {
		v.log.Debug("page", "url", v.lease.URL.String(), "status", r.Status, "links", len(r.Links),
			"document", r.Document != nil, "words", r.Words)
	}
	r.RulesVersion = v.version
	if v.lease.Record.Kind.IsSource() {
		r.RulesVersion = v.sourceVersion(v.lease.Key)
	}
	if v.verdict.inside() {
		r.Decided = fifoOf(v.verdict.decision)
	}
	if err := v.trial.completed(&r); err != nil {
		return err
	}
	// A page that was fetched is committed even while the service stops.
	ctx = context.WithoutCancel(ctx)
	defer v.frontier.Busy()()
	v.slot.now(waitsForStore)
	err := v.frontier.Complete(ctx, v.lease, r)
	v.slot.now(working)
	if err != nil {
		return err
	}
	v.logFetched(&r)
	v.tellRoot(&r)
	return errors.Join(v.copies.Settle(ctx, v.lease, &r), v.reconsider(ctx, &r))
}
