package auth_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inMemory makes requests of a handler without a network, so that time may be
// that of testing/synctest.
func inMemory(h http.Handler) auth.Do {
	return func(ctx context.Context, req *http.Request) (*http.Response, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in := req.Clone(ctx)
		in.RequestURI = req.URL.RequestURI()
		in.Host = req.URL.Host
		if in.Body == nil {
			in.Body = http.NoBody
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, in)
		resp := w.Result()
		resp.Request = req
		return resp, nil
	}
}

// transportDo makes requests over a real network.
func transportDo(t http.RoundTripper) auth.Do {
	return func(ctx context.Context, req *http.Request) (*http.Response, error) {
		return t.RoundTrip(req.WithContext(ctx))
	}
}

// fetch returns what the fetcher does with a request that goes through do.
func fetch(ctx context.Context, u weburl.URL, do auth.Do) (*fetcher.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := do(ctx, req)
	if err != nil {
		return nil, &fetcher.Error{URL: u.String(), Fault: fault.Protocol, Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return &fetcher.Response{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// crawl is a worker and a frontier that fit on a page: one request at a time,
// a pause after each, and URLs that wait for their time.
type crawl struct {
	session  *auth.Session
	pause    func(requested bool)
	waits    []string // words
	temps    int
	requests int
	result   map[string]int // status of the answer that counted, by URL
	at       map[string]time.Time
}

func newCrawl(s *auth.Session) *crawl {
	return &crawl{
		session: s,
		pause: func(requested bool) {
			if requested {
				time.Sleep(time.Second)
			}
		},
		result: map[string]int{},
		at:     map[string]time.Time{},
	}
}

// run goes on until all URLs have an answer of their own, or the leases are used up.
func (c *crawl) run(ctx context.Context, leases int, urls ...weburl.URL) {
	for ; leases > 0 && len(urls) > 0 && ctx.Err() == nil; leases-- {
		i := c.ready(urls)
		u := urls[i]
		urls = append(urls[:i:i], urls[i+1:]...)
		if !c.visit(ctx, u) {
			urls = append([]weburl.URL{u}, urls...)
		}
	}
}

// ready returns the URL that is due first; time passes until it is.
func (c *crawl) ready(urls []weburl.URL) int {
	first := 0
	for i, u := range urls {
		if c.at[u.String()].Before(c.at[urls[first].String()]) {
			first = i
		}
	}
	if wait := time.Until(c.at[urls[first].String()]); wait > 0 {
		time.Sleep(wait)
	}
	return first
}

// all visits pages of a site in turn, from the one that was not done on, so many times.
func (c *crawl) all(t *testing.T, origin string, paths []string, times int) {
	t.Helper()
	var urls []weburl.URL
	for _, p := range paths {
		urls = append(urls, parse(t, origin+p))
	}
	for range times {
		for len(urls) > 0 && c.visit(t.Context(), urls[0]) {
			urls = urls[1:]
		}
	}
}

// visit returns the loop of the package's documentation. It reports whether the page is done.
func (c *crawl) visit(ctx context.Context, u weburl.URL) (done bool) {
	name := u.String()
	c.at[name] = time.Time{}
	step := c.session.Step(u)
	defer step.End()
	switch step.Action {
	case auth.LogIn:
		step.LogIn(ctx)
		c.requests++
		c.pause(true)
		return false
	case auth.Return:
		c.at[name] = step.Until
		return false
	case auth.Wait:
		c.at[name] = step.Until
		c.waits = append(c.waits, step.Words)
		return false
	}
	response, err := fetch(ctx, u, step.Do)
	c.requests++
	c.pause(true)
	switch answer := step.Judge(response, err); answer.Action {
	case auth.Return:
		c.at[name] = answer.Until
		return false
	case auth.Temporary:
		c.temps++
		fallthrough
	case auth.Wait:
		c.at[name] = answer.Until
		c.waits = append(c.waits, answer.Words)
		return false
	}
	if err != nil {
		c.result[name] = -1
		return true
	}
	c.result[name] = response.Status
	return true
}

func parse(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func pages(t *testing.T, origin string, paths ...string) []weburl.URL {
	t.Helper()
	var all []weburl.URL
	for _, p := range paths {
		all = append(all, parse(t, origin+p))
	}
	return all
}

// logs collects what is logged.
type logs struct{ testlog.Buffer }

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func newSession(t *testing.T, set auth.Settings, k auth.Kind) *auth.Session {
	t.Helper()
	s, err := auth.New(set, k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// noSecret fails if one of the secrets is in the text.
func noSecret(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if s != "" && strings.Contains(text, s) {
			t.Errorf("the secret %q is in: %s", s, text)
		}
	}
}

func everything(v ...any) string {
	var b strings.Builder
	for _, x := range v {
		fmt.Fprintf(&b, "%v %+v %#v %s %q %x\n", x, x, x, x, x, x)
	}
	return b.String()
}
