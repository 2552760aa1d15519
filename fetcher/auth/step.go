package auth

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Action is the worker's next action.
type Action uint8

// The actions. A Step has Proceed, LogIn, Return or Wait; an Answer Proceed, Return, Wait or Temporary.
const (
	// Proceed: request the page through Step.Do; use the response unchanged.
	Proceed Action = iota + 1
	// LogIn: make one request of the log-in with Step.LogIn, and give the lease back.
	LogIn
	// Return: give the lease back; it may come again at Until, at once if that is zero.
	Return
	// Wait: the URL waits until Until for the reason in Words. No error is counted.
	Wait
	// Temporary: the log-in succeeded and this URL still shows a log-in page. The response is a temporary error: never
	// content, and never a deletion.
	Temporary
)

// String returns the action's word in logs.
func (a Action) String() string {
	switch a {
	case Proceed:
		return "proceed"
	case LogIn:
		return "log in"
	case Return:
		return "return"
	case Wait:
		return "wait"
	case Temporary:
		return "temporary"
	}
	return "unknown"
}

const (
	// moment is the time for which a lease is returned while another one logs in or proves the session.
	moment = time.Second
	// ownTime is the time for which a log-in is reserved for the origin whose leases began it.
	ownTime = 5 * time.Minute
	// probeTime is the time after which a page that should prove the session no longer delays the others; longer than
	// any download.
	probeTime = 10 * time.Minute
)

// Step is a session's instruction for one lease. It is used by one goroutine.
type Step struct {
	Action Action
	// Asked is the URL of the log-in's request, for LogIn, whose host's politeness applies. It may contain secrets: do
	// not log it.
	Asked *url.URL
	// Until and Words belong to Return and Wait.
	Until time.Time
	Words string

	session    *Session
	url        weburl.URL
	generation uint64
	seq        uint64
	at         time.Time
	sent       bool // the page's request carried credentials
	answered   bool // and its response has arrived
}

// Step returns what must be done before u may be requested. It makes no request and does not block. The caller must
// call End on the result.
func (s *Session) Step(u weburl.URL) *Step {
	now := time.Now()
	st := &Step{session: s, url: u, at: now}
	asked, err := url.Parse(u.Origin())
	if err == nil {
		err = s.origins.admit(asked)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		return st.wait(now.Add(s.settings.MaxBackoff), s.settings.Name+": "+err.Error())
	case now.Before(s.retryAt):
		return st.wait(s.retryAt, s.settings.Name+": "+s.words)
	case !s.method.ready(now):
		return st.logIn(now)
	}
	if !s.proved && s.method.risks(asked) {
		if s.probe != nil && now.Before(s.probe.at.Add(probeTime)) {
			return st.back(now)
		}
		s.probe = st
	}
	s.seq++
	st.Action, st.generation, st.seq = Proceed, s.generation, s.seq
	return st
}

// logIn makes st responsible for the next request of the log-in, if no other is in flight and st's origin carries the
// log-in, so that its pause lies between the steps. The caller holds mu.
func (st *Step) logIn(now time.Time) *Step {
	s, origin := st.session, st.url.Origin()
	if s.loggingIn != nil || s.owner != "" && s.owner != origin && now.Before(s.ownerTill) {
		return st.back(now)
	}
	s.loggingIn, s.owner, s.ownerTill = st, origin, now.Add(ownTime)
	st.Action, st.Asked = LogIn, s.method.next()
	return st
}

func (st *Step) back(now time.Time) *Step {
	st.Action, st.Until = Return, now.Add(moment)
	return st
}

func (st *Step) wait(until time.Time, words string) *Step {
	st.Action, st.Until, st.Words = Wait, until, words
	return st
}

// End ends the step, whatever its result; a second call does nothing.
func (st *Step) End() {
	st.session.mu.Lock()
	defer st.session.mu.Unlock()
	st.end()
}

// end is End for a caller that holds mu.
func (st *Step) end() {
	if s := st.session; s.probe == st {
		s.probe = nil
	} else if s.loggingIn == st {
		s.loggingIn = nil
	}
}

// LogIn makes the one request of a step whose Action is LogIn. The next Step reflects its result.
func (st *Step) LogIn(ctx context.Context) {
	if st.Action != LogIn {
		return
	}
	s := st.session
	done, err := s.method.login(ctx)
	s.reportLogIn(ctx, done, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loggingIn != st { // already ended: a bug in the caller
		return
	}
	st.end()
	now := time.Now()
	s.ownerTill = now.Add(ownTime)
	switch {
	case err != nil && ctx.Err() != nil: // the crawl is stopping
		s.owner = ""
		s.method.reset()
	case err != nil && s.method.ready(now):
		s.owner = ""
		s.log.Warn("cannot renew a log-in; the old one is still valid", "session", s.settings.Name, "words", err.Error())
	case err != nil:
		s.fail(now, "log-in failed: "+err.Error())
	case done:
		s.loggedIn(now)
	}
}

// loggedIn begins a new generation. Its caller holds mu.
func (s *Session) loggedIn(now time.Time) {
	s.generation++
	s.proved, s.owner = false, ""
	s.logIns++
	s.since = now
	s.log.Info("logged in", "session", s.settings.Name, "kind", s.method.nature().name)
}

// fail makes all URLs wait. Its caller holds mu.
func (s *Session) fail(now time.Time, words string) {
	s.retryAt = now.Add(s.backoff(s.failures))
	s.failures++
	s.generation++
	s.words, s.owner = words, ""
	s.proved, s.everProved, s.denials = false, false, 0
	s.method.reset()
	s.log.Warn("not authenticated; its URLs wait", "session", s.settings.Name,
		"kind", s.method.nature().name, "words", words, "until", s.retryAt)
}

// backoff returns the wait, which doubles with each earlier one.
func (s *Session) backoff(before int) time.Duration {
	wait := s.settings.MinBackoff
	for ; before > 0 && wait < s.settings.MaxBackoff; before-- {
		wait *= 2
	}
	return min(wait, s.settings.MaxBackoff)
}

// Error is a request that Step.Do did not make, or not completely, because of the authentication. Judge recognizes it
// in any wrapping. It contains no secret.
type Error struct {
	words string
	sign  sign // refused or unable, or denied if it concerns the session
}

func (e *Error) Error() string { return e.words }

// Do makes the request of the page of a step whose Action is Proceed, with credentials and cookies, and stores the
// cookies of its response. An *Error means that it could not be authenticated.
func (st *Step) Do(ctx context.Context, req *http.Request) (*http.Response, error) {
	s := st.session
	if st.Action != Proceed {
		return nil, &Error{"the step says " + st.Action.String() + ", not a request for a page", refused}
	}
	if err := s.origins.admit(req.URL); err != nil {
		return nil, &Error{err.Error(), refused}
	}
	req = req.Clone(ctx)
	if req.Header == nil {
		req.Header = http.Header{}
	}
	u := req.URL
	addCookies(req, s.jar.Cookies(u))
	resp, sent, err := s.method.exchange(ctx, req)
	if err != nil {
		return nil, err
	}
	st.sent = sent
	s.jar.SetCookies(u, resp.Cookies())
	return resp, nil
}
