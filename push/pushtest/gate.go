package pushtest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// Gate.mu guards the script, which the test's goroutine writes and the server's goroutines
// use up.

// Fault is the effect of a Gate on one request.
type Fault struct {
	Status     int    // answered and not passed on, if not 0
	Header     string // header of that response, "Name: value"
	Body       string // body of that response
	LoseAnswer bool   // forwarded, and the connection closed instead of a response
	CutAnswer  bool   // forwarded, and the connection closed in the middle of the response
	Cut        bool   // the connection is cut at once
	Stall      bool   // no response until the client closes the connection
	Kill       bool   // the receiver is killed and started again, then the request passed on
}

// Gate is a server between a target and its receiver that produces the given faults, and otherwise forwards requests.
type Gate struct {
	URL string

	receiver string
	kill     func()
	client   *http.Client

	mu       sync.Mutex
	script   []Fault
	requests int
}

// NewGate starts a Gate before the receiver at an address without a path; kill is for
// Fault.Kill.
func NewGate(t testing.TB, receiver string, kill func()) *Gate {
	g := &Gate{receiver: receiver, kill: kill, client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	g.URL = srv.URL
	return g
}

// Next sets how the next requests end, in place of an earlier setting.
func (g *Gate) Next(faults ...Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.script, g.requests = faults, 0
}

// Left returns the number of remaining faults, and of requests since Next.
func (g *Gate) Left() int { return g.count(func() int { return len(g.script) }) }

// Requests returns the number of requests since Next.
func (g *Gate) Requests() int { return g.count(func() int { return g.requests }) }

func (g *Gate) count(n func() int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return n()
}

func (g *Gate) next() Fault {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests++
	if len(g.script) == 0 {
		return Fault{}
	}
	f := g.script[0]
	g.script = g.script[1:]
	return f
}

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	f := g.next()
	switch {
	case f.Cut:
		panic(http.ErrAbortHandler)
	case f.Stall:
		<-r.Context().Done()
		return
	case f.Status != 0:
		if name, value, ok := bytes.Cut([]byte(f.Header), []byte(": ")); ok {
			w.Header().Set(string(name), string(value))
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return
	case f.Kill:
		g.kill()
	}
	g.pass(w, r, body, f)
}

func (g *Gate) pass(w http.ResponseWriter, r *http.Request, body []byte, f Fault) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, g.receiver+r.RequestURI, bytes.NewReader(body))
	if err != nil {
		panic(err) // of the test's own making
	}
	req.Header = r.Header
	resp, err := g.client.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || f.LoseAnswer {
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	if f.CutAnswer {
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)+10))
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer)
	if f.CutAnswer {
		panic(http.ErrAbortHandler)
	}
}
