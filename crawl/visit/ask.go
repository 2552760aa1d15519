package visit

import (
	"context"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/internal/trace"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// fetch requests the lease's page. The lease ends if the host's address is busy, if the request is part of a log-in, or
// if the response concerns the log-in and not the page.
func (v *visit) fetch(ctx context.Context, r fetcher.Request, by *Access) (step, error) {
	if by.login != nil {
		return v.fetchLoggedIn(ctx, r, by, func(int) bool { return true })
	}
	if s, err := v.takeAddress(ctx); err != nil || s.failure != nil {
		return s, err
	}
	r.Do = by.do
	return v.exchange(ctx, r, by), nil
}

// fetchRobotsTxt is fetch for robots.txt. Its response proves nothing about credentials, and many servers forbid it
// although they serve the pages, so only errors of the log-in itself count.
func (v *visit) fetchRobotsTxt(ctx context.Context, r fetcher.Request) (step, error) {
	by := v.access
	if r.URL.Origin() != v.lease.URL.Origin() {
		by = v.fetchState.Accesses.of(r.URL)
	}
	if by.login == nil {
		return v.fetch(ctx, r, by)
	}
	return v.fetchLoggedIn(ctx, r, by, func(status int) bool {
		return status == http.StatusUnauthorized || by.login.renews && status != http.StatusForbidden
	})
}

// fetchLoggedIn makes the request that the session asks for: one of a log-in, or the page's. It judges the page's
// response if judged accepts the status.
func (v *visit) fetchLoggedIn(ctx context.Context, r fetcher.Request, by *Access, judged func(status int) bool) (step, error) {
	if s, err := v.takeAddress(ctx); err != nil || s.failure != nil {
		return s, err
	}
	v.meter.HostPages.AddLogIn(v.lease.Place.Host, by.login.name)
	session := by.login.session.Step(r.URL)
	defer session.End()
	switch session.Action {
	case auth.LogIn:
		if until, ok := v.logIn(ctx, session); !ok {
			return step{}, v.giveBack(AskedNothing, until)
		}
		return step{asked: askedOther}, v.giveBack(askedOther, time.Time{})
	case auth.Return:
		return step{}, v.giveBack(AskedNothing, session.Until)
	case auth.Wait:
		return step{}, v.wait(ctx, session.Until, scheduler.ReasonSessionWaits, session.Words)
	case auth.Proceed, auth.Temporary:
	}
	r.Do = session.Do
	s := v.exchange(ctx, r, by)
	if ctx.Err() != nil || s.response != nil && (!judged(s.response.Status) || wallOf(s.response) != "") {
		return s, nil
	}
	answer := session.Judge(s.response, s.failure)
	if answer.Action == auth.Proceed {
		return s, nil
	}
	v.meter.Requests.Add(1)
	if s.response != nil {
		v.meter.Bytes.Add(int64(len(s.response.Body)))
	}
	s = step{asked: askedOther}
	if answer.Action == auth.Return {
		return s, v.giveBack(s.asked, answer.Until)
	}
	return s, v.wait(context.WithoutCancel(ctx), answer.Until, scheduler.ReasonSessionWaits, answer.Words)
}

// logIn makes one request of a log-in. If the request is to a crawled host that rests, it waits until the host is
// ready.
func (v *visit) logIn(ctx context.Context, step *auth.Step) (until time.Time, ok bool) {
	if step.Asked != nil {
		if u, err := weburl.Parse(step.Asked.String()); err == nil && u.Origin() != v.lease.URL.Origin() {
			end, until, ok := v.frontier.Beside(u.HostKey())
			if !ok {
				return until, false
			}
			defer end()
		}
	}
	v.slot.Now(meter.WaitsForFetch)
	defer v.slot.Now(meter.Working)
	v.meter.Requests.Add(1)
	step.LogIn(ctx)
	return time.Time{}, true
}

// exchange makes a request and measures its time.
func (v *visit) exchange(ctx context.Context, r fetcher.Request, by *Access) step {
	v.slot.Now(meter.WaitsForFetch)
	ctx, span := trace.Start(ctx, "fetch")
	response, err := by.fetcher.Fetch(ctx, r)
	if span.On() {
		span.Text("url.full", r.URL.String())
		if response != nil {
			span.Number("http.response.status_code", response.Status)
		}
		span.End(err)
	}
	took := v.slot.Now(meter.Working)
	v.meter.Latencies.Fetched(took, response, err)
	if err == nil {
		v.meter.HostTimes.Add(v.lease.Record.Host, took)
	}
	return step{response: response, failure: err, asked: AskedPage}
}
