package crawl

import (
	"context"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// fetch makes the request of the lease's page. With done the lease has ended: the
// host's address is busy, or the request was one of a log-in, or the answer tells
// of the log-in and not of the page.
func (v *visit) fetch(ctx context.Context, r fetcher.Request, by *access) (response *fetcher.Response, asked asked, done bool, err error) {
	if busy, err := v.takeAddress(ctx); busy || err != nil {
		return nil, askedNothing, busy, err
	}
	if by.login != nil {
		return v.fetchLoggedIn(ctx, r, by, func(int) bool { return true })
	}
	r.Do = by.do
	response, err = v.exchange(ctx, r, by)
	return response, askedPage, false, err
}

// fetchRobotsTxt is fetch for robots.txt, which is asked for as the page is. What
// it answers proves nothing of credentials, and many servers forbid it though they
// show the pages: so only what can come of the log-in is judged.
func (v *visit) fetchRobotsTxt(ctx context.Context, r fetcher.Request) (response *fetcher.Response, asked asked, done bool, err error) {
	by := v.access
	if r.URL.Origin() != v.lease.URL.Origin() {
		by = v.accesses.of(r.URL)
	}
	if by.login == nil {
		return v.fetch(ctx, r, by)
	}
	if busy, err := v.takeAddress(ctx); busy || err != nil {
		return nil, askedNothing, busy, err
	}
	return v.fetchLoggedIn(ctx, r, by, func(status int) bool {
		return status == http.StatusUnauthorized || by.login.renews && status != http.StatusForbidden
	})
}

// fetchLoggedIn does what the session says: one request of a log-in, or the page's,
// whose answer it judges if judged says so of the status.
func (v *visit) fetchLoggedIn(ctx context.Context, r fetcher.Request, by *access, judged func(status int) bool) (
	response *fetcher.Response, asked asked, done bool, err error,
) {
	step := by.login.session.Step(r.URL)
	defer step.End()
	switch step.Action {
	case auth.LogIn:
		if until, ok := v.logIn(ctx, step); !ok {
			v.frontier.GiveBack(v.lease, false, until)
			return nil, askedNothing, true, nil
		}
		v.frontier.GiveBack(v.lease, true, time.Time{})
		return nil, askedOther, true, nil
	case auth.Return:
		v.frontier.GiveBack(v.lease, false, step.Until)
		return nil, askedNothing, true, nil
	case auth.Wait:
		return nil, askedNothing, true, v.frontier.Wait(ctx, v.lease, step.Until, scheduler.ReasonSessionWaits, step.Words)
	case auth.Proceed, auth.Temporary:
	}
	r.Do = step.Do
	response, err = v.exchange(ctx, r, by)
	if ctx.Err() != nil || response != nil && !judged(response.Status) {
		return response, askedPage, false, err
	}
	answer := step.Judge(response, err)
	if answer.Action == auth.Proceed {
		return response, askedPage, false, err
	}
	v.requests.Add(1)
	if response != nil {
		v.bytes.Add(int64(len(response.Body)))
	}
	if answer.Action == auth.Return {
		v.frontier.GiveBack(v.lease, true, answer.Until)
		return nil, askedOther, true, nil
	}
	return nil, askedOther, true, v.frontier.Wait(context.WithoutCancel(ctx), v.lease, answer.Until, scheduler.ReasonSessionWaits, answer.Words)
}

// logIn makes one request of a log-in. It is not made where it goes to a host that is
// crawled too and rests, until then.
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
	v.slot.now(waitsForFetch)
	defer v.slot.now(working)
	v.requests.Add(1)
	step.LogIn(ctx)
	return time.Time{}, true
}

func (v *visit) exchange(ctx context.Context, r fetcher.Request, by *access) (*fetcher.Response, error) {
	v.slot.now(waitsForFetch)
	response, err := by.fetcher.Fetch(ctx, r)
	v.timings.fetched(v.slot.now(working), response, err)
	return response, err
}
