package visit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/weburl"
)

// The requests of one page are made in goroutines of the renderer. pageRequests.mu guards which hosts were asked; it is
// not held over a request.

const (
	// maxRobotsSteps bounds the requests for the robots.txt of another origin, redirects included.
	maxRobotsSteps = 6
	// othersRest is the longest rest of another host that a page waits for.
	othersRest = 10 * time.Second
)

// pageRequests makes the requests of one page that is rendered.
type pageRequests struct {
	visit  *visit
	public bool // the page did not come from an internal address

	mu     sync.Mutex
	hosts  map[weburl.HostKey]*requestedHost
	made   []PageRequest // in a dry run
	access *Access
}

// PageRequest is one that a page made in the browser.
type PageRequest struct {
	URL    string `json:"url"`
	Kind   string `json:"kind"`             // of the DevTools protocol: Script, XHR, Fetch and so on
	Status int    `json:"status,omitempty"` // 0 if there was no response
	Error  string `json:"error,omitempty"`
}

// requestedHost is a host that a page makes requests to.
type requestedHost struct {
	enter    sync.Once
	err      error // of entering
	requests int   // guarded by pageRequests.mu
}

func newPageRequests(v *visit, page *fetcher.Response) *pageRequests {
	return &pageRequests{visit: v, public: !fetcher.IsInternal(page.Address), hosts: map[weburl.HostKey]*requestedHost{}, access: v.access}
}

// end lets the other hosts rest, and returns the number of requests to the page's own host.
func (q *pageRequests) end() (own int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.visit.visitor.trial.record(func(t *Recording) { t.Requested = q.made })
	for key, h := range q.hosts {
		if key == q.visit.lease.Place.Host {
			own = h.requests
		} else {
			q.visit.frontier.Rest(key, h.requests)
		}
	}
	return own
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), render.ErrRefused)
}

// fetch makes a request like the page's own, or refuses it. A dry run records it.
func (q *pageRequests) fetch(ctx context.Context, r render.Request) (render.Answer, error) {
	answer, err := q.ask(ctx, r)
	if q.visit.visitor.trial != nil {
		made := PageRequest{URL: r.URL, Kind: r.Kind, Status: answer.Status}
		if err != nil {
			made.Error = err.Error()
		}
		q.mu.Lock()
		q.made = append(q.made, made)
		q.mu.Unlock()
	}
	return answer, err
}

func (q *pageRequests) ask(ctx context.Context, r render.Request) (render.Answer, error) {
	u, err := weburl.Parse(r.URL)
	if err != nil {
		return render.Answer{}, refused("%v", err)
	}
	by, err := q.by(u)
	if err != nil {
		return render.Answer{}, err
	}
	if err := q.enter(ctx, u, by); err != nil {
		return render.Answer{}, err
	}
	if err := q.allows(ctx, u, by); err != nil {
		return render.Answer{}, err
	}
	request := fetcher.Request{URL: u}
	do := by.fetcher.Do
	if q.isOwn(u) {
		end, own, err := q.originAccess(u, by)
		if err != nil {
			return render.Answer{}, err
		}
		defer end()
		do = own
	}
	request.Do = func(ctx context.Context, req *http.Request) (*http.Response, error) {
		sent(req.Header, r.Header)
		req.Method = r.Method
		if r.Body != nil {
			req.ContentLength = int64(len(r.Body))
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
			req.Body, _ = req.GetBody()
		}
		return do(ctx, req)
	}
	response, err := q.make(ctx, u, request, by)
	if err != nil {
		return render.Answer{}, err
	}
	if q.public && fetcher.IsInternal(response.Address) { // by a log-in, whose requests are its own
		return render.Answer{}, refused("%s has an internal address now", u.Origin())
	}
	if response.Truncated && response.Status == http.StatusOK {
		return render.Answer{}, fmt.Errorf("%s is longer than maxBodyBytes", u)
	}
	return render.Answer{Status: response.Status, Header: response.Header, Body: response.Body}, nil
}

// isOwn reports whether a URL is of the page's own origin.
func (q *pageRequests) isOwn(u weburl.URL) bool { return u.HostKey() == q.visit.lease.Place.Host }

// originAccess returns the settings for requests to the page's own origin: with its log-in, or with its cookies.
func (q *pageRequests) originAccess(u weburl.URL, by *Access) (end func(), do auth.Do, err error) {
	switch {
	case by.login != nil:
		step := by.login.session.Step(u)
		if step.Action != auth.Proceed {
			step.End()
			return nil, nil, fmt.Errorf("the session for %s must log in again first", u.Origin())
		}
		return step.End, step.Do, nil
	case by.do != nil:
		return func() {}, by.do, nil
	}
	return func() {}, by.fetcher.Do, nil
}

// by returns the settings for a request to a URL. A page may use only its own origin's log-in, and its own Fetch's
// headers. A page with a public address may not make requests to a private network, even if its own name resolves there
// meanwhile.
func (q *pageRequests) by(u weburl.URL) (*Access, error) {
	by, own := q.visit.fetchState.Accesses.of(u), q.isOwn(u)
	switch {
	case !own && by.login != nil:
		return nil, refused("%s requires the log-in of another Fetch", u.Origin())
	case !own && len(by.header) > 0 && by != q.access:
		return nil, refused("%s requires the headers of another Fetch", u.Origin())
	case q.public && by.strict != nil:
		other := *by
		other.fetcher = by.strict
		if by.cookies != nil {
			other.do = by.cookies.Do(by.strict.Do)
		}
		return &other, nil
	}
	return by, nil
}

// enter waits for the rest of another host, once a page.
func (q *pageRequests) enter(ctx context.Context, u weburl.URL, by *Access) error {
	key := u.HostKey()
	q.mu.Lock()
	h := q.hosts[key]
	if h == nil {
		h = new(requestedHost)
		q.hosts[key] = h
	}
	q.mu.Unlock()
	h.enter.Do(func() {
		if !q.isOwn(u) {
			if h.err = q.await(ctx, key); h.err == nil {
				h.err = q.learnRobots(ctx, u, by)
			}
		}
	})
	return h.err
}

// await waits until a host may be visited, if that is soon.
func (q *pageRequests) await(ctx context.Context, key weburl.HostKey) error {
	until := q.visit.frontier.RestsUntil(key)
	switch rest := time.Until(until); {
	case rest > othersRest:
		return refused("its host rests until %s", clock.Stamp(until))
	case rest > 0:
		timer := time.NewTimer(rest)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// learnRobots fetches the robots.txt of another origin, if that is not known.
func (q *pageRequests) learnRobots(ctx context.Context, u weburl.URL, by *Access) error {
	for range maxRobotsSteps {
		verdict, err := q.visit.fetchState.Robots.Verdict(ctx, q.visit.policy.Settings.RobotsAgent, u)
		if err != nil || verdict.State != robots.NeedsFetch {
			return err
		}
		request := verdict.Request()
		response, failure := q.make(ctx, request.URL, request, by)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := q.visit.fetchState.Robots.Record(context.WithoutCancel(ctx), u, response, failure); err != nil {
			return err
		}
	}
	return nil
}

// allows reports whether robots.txt permits a request.
func (q *pageRequests) allows(ctx context.Context, u weburl.URL, by *Access) error {
	verdict, err := q.visit.fetchState.Robots.Verdict(ctx, q.visit.policy.Settings.RobotsAgent, u)
	switch {
	case err != nil:
		return err
	case by.ignoreRobots, verdict.State == robots.Allowed, verdict.State == robots.NeedsFetch: // which has become too old
		return nil
	}
	return refused("robots.txt: %s", verdict.State)
}

// make makes a request within the limits of the crawl, and counts it.
func (q *pageRequests) make(ctx context.Context, u weburl.URL, r fetcher.Request, by *Access) (*fetcher.Response, error) {
	if err := q.visit.visitor.sites.AwaitRate(ctx); err != nil {
		return nil, err
	}
	q.mu.Lock()
	if h := q.hosts[u.HostKey()]; h != nil {
		h.requests++
	}
	q.mu.Unlock()
	q.visit.meter.Requests.Add(1)
	response, err := by.fetcher.Fetch(ctx, r)
	if response != nil {
		q.visit.meter.Bytes.Add(int64(len(response.Body)))
	}
	return response, err
}
