package visit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/trace"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// visit is one lease in progress. It belongs to one worker until its outcome is handed over, then to the goroutine that
// reports that it is stored.
type visit struct {
	visitor  *Visitor
	frontier *scheduler.Frontier
	store    Store
	log      *slog.Logger
	meter    *meter.Meter

	began      *policy.Policy // in force when it began
	policy     *policy.Policy // the rules that apply: began, unless the page moved its site
	fetchState *FetchState
	access     *Access // of fetchState, for the lease's URL
	lease      *scheduler.Lease
	slot       *meter.Slot
	span       trace.Span
	verdict    policy.Verdict
	// indexed means that the rules allow the page to be a document; otherwise why and unindexed are the reason.
	indexed   bool
	why       scheduler.Reason
	unindexed string
	// machineFailed is the reason why this machine could not read the document, or nil.
	machineFailed error
	// refusedData are the requests for data that the page may not make in the browser.
	refusedData []string
}

// A step is the result of a stage: either a response to continue with, or the visit's final outcome.
type step struct {
	asked    Asked // requests so far
	response *fetcher.Response
	failure  error             // of the request, if there is no response
	outcome  *scheduler.Result // nil to continue
	status   int               // of the response, when that is read
}

// leaseEnded ends a visit without an outcome: the lease was returned, or the URL waits. cause is the error of doing so,
// or nil.
type leaseEnded struct{ cause error }

func (e leaseEnded) Error() string { return fmt.Sprintf("the lease has ended: %v", e.cause) }

// Page takes one lease through all stages: rules, robots.txt, fetch, read, judge the
// links. It returns the requests that it made, once the outcome is handed over to be stored. ended is called exactly
// once, from any goroutine, after the outcome is stored or has failed and its consequences are complete. It may be
// called before Page returns.
func (r *Visitor) Page(ctx context.Context, by *Rules, lease *scheduler.Lease, slot *meter.Slot, ended func(error)) Asked {
	v := &visit{
		visitor: r, frontier: r.frontier, store: r.store, log: r.log, meter: r.meter, began: by.Policy,
		policy: by.Policy, fetchState: by.FetchState, access: by.FetchState.Accesses.of(lease.URL), lease: lease, slot: slot,
	}
	ctx, v.span = trace.Start(ctx, "page")
	s, err := v.stages(ctx)
	if err == nil {
		if err = v.outcome(ctx, &s); err == nil {
			v.handOver(ctx, &s, ended)
			return s.asked
		}
	}
	if end, ok := errors.AsType[leaseEnded](err); ok {
		err = end.cause
	} else {
		_ = v.giveBack(s.asked, time.Time{})
	}
	r.copies.Abandon(lease.Key)
	traced(v, err)
	ended(err)
	return s.asked
}

// traced ends the visit's span.
func traced(v *visit, err error) {
	if !v.span.On() {
		return
	}
	effect := v.lease.Effect()
	v.span.Text("url.full", v.lease.URL.String())
	v.span.Text("sextant.class", effect.Class.String())
	v.span.Text("sextant.reason", effect.Reason.String())
	v.span.End(err)
}

// giveBack hands the lease back without an outcome: it is offered again, not before a
// time unless that is zero.
func (v *visit) giveBack(asked Asked, until time.Time) error {
	v.frontier.GiveBack(v.lease, asked != AskedNothing, until)
	return leaseEnded{}
}

// wait delays the URL until a time, for a reason that is no fault of the URL.
func (v *visit) wait(ctx context.Context, until time.Time, why scheduler.Reason, detail string) error {
	return leaseEnded{v.frontier.Wait(ctx, v.lease, until, why, detail)}
}

// stages takes the lease up to its outcome. After an error that is not leaseEnded the visit still holds the lease.
func (v *visit) stages(ctx context.Context) (step, error) {
	if s, err := v.outside(ctx); err != nil || s.outcome != nil {
		return s, err
	}
	v.updateRoot()
	if v.indexed, v.why, v.unindexed = v.policy.Indexes(&v.verdict); v.lease.Record.Kind.IsSource() {
		v.indexed, v.why, v.unindexed = false, scheduler.ReasonSource, policy.SourceDetail
	}
	if err := behindWall(ctx, v); err != nil {
		return step{}, err
	}
	if s, err := v.askRobots(ctx); err != nil || s.outcome != nil {
		return s, err
	}
	request := v.request()
	request.Limit, request.Lend = v.bodyLimit, v.visitor.trial == nil // which shows the answer afterwards
	s, err := v.fetch(ctx, request, v.access)
	if err != nil {
		return s, err
	}
	if s.failure != nil {
		return v.failed(ctx, s)
	}
	v.meter.AddResponse(s.response)
	v.visitor.trial.record(func(t *Recording) {
		sent := *s.response // the rendered page replaces it
		t.Answer = &sent
	})
	if err := walled(ctx, v, s.response, false); err != nil {
		return s, err
	}
	err = outcomeOf(ctx, v, &s)
	return s, err
}

// outcomeOf sets the outcome of a response.
func outcomeOf(ctx context.Context, v *visit, s *step) (err error) {
	ctx, span := trace.Start(ctx, "read")
	defer func() { span.End(err) }()
	result := answer(s.response)
	s.outcome = &result
	switch {
	case s.response.Status == http.StatusOK:
		err = v.read(ctx, s.response, &result)
		result.MediaType = mediaType(s.response.Header.Get("Content-Type"))
	case s.response.Status == http.StatusNotModified:
		err = v.visitor.sites.ObserveHome(ctx, v.lease.URL, weburl.URL{}, true)
	case isRedirect(s.response.Status):
		if err = v.againWithCookies(s.response); err == nil {
			err = v.redirect(ctx, s.response.Header.Get("Location"), s.response.Status, &result)
		}
	}
	return err
}

// behindWall ends the lease while its host rests.
func behindWall(ctx context.Context, v *visit) error {
	one, rests := v.visitor.walls.rests(v.lease.Place.Host, time.Now())
	if !rests {
		return nil
	}
	return v.wait(ctx, one.until, scheduler.ReasonBotWall, wallWords(one.product))
}

// walled ends the lease if it met a bot wall: the page is as it was, and is requested again later. whole is as for
// walls.met.
func walled(ctx context.Context, v *visit, r *fetcher.Response, whole bool) error {
	product, host := wallOf(r), v.lease.Place.Host
	if product == "" {
		v.visitor.walls.passed(host)
		return nil
	}
	v.meter.Outcomes.Count(scheduler.Effect{Reason: scheduler.ReasonBotWall}) // which Wait does not
	now := time.Now()
	if v.visitor.walls.met(host, product, whole, now) {
		v.log.Warn("a bot wall responds in place of a host, which rests: ask its owner to admit this crawler",
			"host", v.lease.Record.Origin, "product", product)
	}
	words := fmt.Sprintf("%s (status %d)", wallWords(product), r.Status)
	return v.wait(context.WithoutCancel(ctx), now.Add(wallWait), scheduler.ReasonBotWall, words)
}

// shutOut returns the step of a URL that is not requested.
func shutOut(by *scheduler.Exclusion) step {
	return step{outcome: &scheduler.Result{Excluded: by}}
}

// outside judges the lease's URL again. Its outcome is an exclusion if the URL is now out of scope, or has been
// renamed; the new URL is then added.
func (v *visit) outside(ctx context.Context) (step, error) {
	if v.lease.Record.Kind.IsSource() {
		return v.sourceOutside(ctx)
	}
	link := policy.Recorded(v.lease.URL, &v.lease.Record)
	v.verdict = v.policy.Judge(link)
	renamed := v.verdict.URL.Key() != v.lease.Key
	if v.verdict.Inside() && !renamed {
		return step{}, nil
	}
	if v.verdict.Inside() {
		if l, _, ok := v.policy.Link(link); ok {
			l.Referrer = v.lease.Record.Referrer
			if _, err := v.frontier.Add(ctx, []scheduler.Link{l}, false); err != nil {
				return step{}, err
			}
		}
		v.policy.Rename(&v.verdict, v.lease.URL)
	}
	return shutOut(v.policy.Exclusion(&v.verdict)), nil
}

// proxyWait is the time that a URL waits if its proxy fails, which does not count as an error of the page.
const proxyWait = 10 * time.Minute

// request returns a conditional request if an unchanged response suffices: the page was good before, by the rules in
// force, and everything that they require has been done.
func (v *visit) request() fetcher.Request {
	r, d := &v.lease.Record, &v.verdict.Decision
	if r.Kind.IsSource() {
		return v.sourceRequest()
	}
	q := fetcher.Request{URL: v.lease.URL, Refuse: v.refuse}
	switch {
	case r.LossPending, v.policy.Settings.Unconditional, v.access.refreshes(), v.visitor.copies.NeedsBody(v.lease.Key), r.Class != scheduler.OK, r.Reason == scheduler.ReasonReader,
		r.RulesVersion != v.policy.Version,
		v.indexed != r.Indexed, v.indexed && (d.Source != r.PushedSource || policy.MetasHash(d.Metas) != r.MetasHash),
		isOver(r.UnavailableAt), v.indexed && v.policy.Settings.PermissionsInHeader(v.lease.URL):
		return q
	}
	return conditional(q, r)
}

// conditional adds the validators of the record to a request.
func conditional(q fetcher.Request, r *scheduler.Record) fetcher.Request {
	q.ETag, q.LastModified = r.ETag, r.LastModified
	if q.ETag == "" && q.LastModified == "" {
		q.LastModified = r.Date
	}
	return q
}

// failed returns the outcome of a request without a usable response.
func (v *visit) failed(ctx context.Context, s step) (step, error) {
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	v.meter.Requests.Add(1)
	s.outcome = &scheduler.Result{Fault: fault.Protocol, Words: s.failure.Error()}
	if e, ok := errors.AsType[*fetcher.Error](s.failure); ok {
		detail := e.Err.Error()
		s.outcome.Fault, s.outcome.Words = e.Fault, detail
		if e.Fault == fault.Proxy {
			return s, v.wait(context.WithoutCancel(ctx), time.Now().Add(proxyWait), scheduler.ReasonProxy, detail)
		}
		if e.Fault == fault.AddressForbidden {
			s.outcome = &scheduler.Result{Excluded: &scheduler.Exclusion{Status: policy.StatusExcluded, Reason: scheduler.ReasonCrawlSpace, Words: detail}}
		}
	}
	return s, nil
}

// readerWait is the time for which a URL with a document waits after maxTemporaryErrors attempts to read its new
// version. This does not count as an error of the page.
const readerWait = scheduler.RetryLongest

// lastAttempt reports whether another temporary error would exceed the limit, regardless of their times.
func lastAttempt(v *visit) bool {
	set := &v.policy.Settings.Frontier
	return set.Policy == scheduler.Smartsite || v.lease.Record.Errors+1 >= set.MaxTemporaryErrors
}

// readAgain sets in the result that the page is retried soon, because this machine failed to read it. If a further
// error could delete its document, the URL waits instead.
func readAgain(ctx context.Context, v *visit, result *scheduler.Result) error {
	words := cannotReadFile + v.machineFailed.Error()
	if lastAttempt(v) {
		return v.wait(context.WithoutCancel(ctx), time.Now().Add(readerWait), scheduler.ReasonReader, words)
	}
	result.Fault, result.Reason, result.Words, result.Links = fault.Reading, scheduler.ReasonReader, words, nil
	return nil
}

// read extracts links and the document from a 200.
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
	p, read, err := v.pageOf(ctx, response, result)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ended := errors.AsType[leaseEnded](err); ended || result.Fault != fault.None {
		return err
	}
	if err != nil {
		result.Reason, result.NoDocument = scheduler.ReasonUnreadable, cannotRead+err.Error()
		return nil
	}
	v.lacksText(&p, response.Header.Get("Content-Type"), result)
	if response.Truncated {
		if v.machineFailed == nil {
			result.Reason, result.Words = scheduler.ReasonTruncated, tooLong
		}
		v.log.Warn("a page is longer than maxBodyBytes; the rest is not read", "url", v.lease.URL.String(), "bytes", len(response.Body))
	}
	v.linkHeaders(response, &p)
	result.LoginPage, result.LoginForm = v.visitor.logins.is(v.lease, &p), p.Password
	if p.Refresh != "" && p.RefreshAfter <= refreshIsRedirect && !isItself(v.lease, p) {
		return v.redirect(ctx, p.Refresh, 0, result)
	}
	if !result.LoginPage {
		if err := v.isHome(ctx); err != nil {
			return err
		}
	}
	directives := v.directives(response, p)
	why, noIndex := v.applyDirectives(directives, result)
	follows := v.verdict.Decision.Follow && (!directives.NoFollow || v.policy.Settings.IgnoreNoFollow)
	v.visitor.trial.record(func(t *Recording) {
		page := p
		t.Page, t.Read, t.Directives, t.Follows = &page, read, directives, follows
	})
	if follows {
		if p.LinksCut {
			v.log.Info("a page has too many links; the rest are ignored",
				"url", v.lease.URL.String(), "links", len(p.Links))
		}
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
	case v.machineFailed != nil && (v.lease.Record.Indexed || !lastAttempt(v)):
		return readAgain(ctx, v, result)
	default:
		return v.index(ctx, response, p, read, directives, result)
	}
	return nil
}
