package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/notices"
)

// whileStored has requests other than GET answered on a goroutine each, and waits for it as long as changes can be stored; one that was given up
// ends when the store does, at the latest.

// About is what a Server tells of its process. The zero value tells nothing.
type About struct {
	Version string // of the program
	// Notices tells how the receivers of notices stand; nil: there are none.
	Notices func() []notices.Status
	// Stalled says why nothing can be stored at present, "" if it can; nil: it always can.
	Stalled func() string
}

// Tell says what the server is to tell of its process, before Run.
func (s *Server) Tell(a About) { s.about = a }

// readyTimeout bounds the look at the Crawlers for /readyz.
const readyTimeout = 5 * time.Second

// Readiness says whether the service can do its work now: its stores are open and their
// figures can be read, the disk has room, and it is not stopping. No write is tried. A crawl that is paused, has
// nothing to do, or waits for an indexer can do its work: it is ready.
type Readiness struct {
	Ready bool `json:"ready"`
	// Problems say why not; none if it is ready.
	Problems []ReadinessProblem `json:"problems,omitempty"`
}

// ReadinessProblem is one reason.
type ReadinessProblem struct {
	Crawler string `json:"crawler,omitempty"`
	// Code is starting, stopping, store_failing, disk_low, engine_silent or cannot_take_over.
	Code  string `json:"code"`
	Words string `json:"words"`
}

// String is the answer for people, a reason a line.
func (r Readiness) String() string {
	if r.Ready {
		return "ready"
	}
	words := "not ready"
	for _, p := range r.Problems {
		words += "\n"
		if p.Crawler != "" {
			words += p.Crawler + ": "
		}
		words += p.Code + ": " + p.Words
	}
	return words
}

// The codes of ReadinessProblem; a contract.
const (
	notReadyStarting = "starting"
	notReadyStopping = "stopping"
	notReadyStore    = "store_failing"
	notReadyDisk     = "disk_low"
	notReadyEngine   = "engine_silent"
	notReadyFollower = "cannot_take_over"
)

// healthz says that the process lives, and nothing else.
func healthz(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }

// readyz answers 200 where the service is ready, else 503; in JSON where that is asked for.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	writeReadiness(w, r, s.readiness(ctx))
}

func writeReadiness(w http.ResponseWriter, r *http.Request, now Readiness) {
	w.Header().Set("Cache-Control", "no-store")
	code := http.StatusOK
	if !now.Ready {
		code = http.StatusServiceUnavailable
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(now) // who does not read it does not know
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, now)
}

// readiness looks at all Crawlers.
func (s *Server) readiness(ctx context.Context) Readiness {
	var problems []ReadinessProblem
	for _, c := range s.crawlers {
		status, err := statusOf(ctx, c)
		problems = append(problems, notReady(c, &status, err)...)
	}
	return Readiness{Ready: len(problems) == 0, Problems: problems}
}

// notReady says why a Crawler cannot do its work, by what statusOf gave.
func notReady(c Crawler, s *Status, err error) []ReadinessProblem {
	if err != nil {
		return []ReadinessProblem{{c.Name(), notReadyStore, "its figures cannot be read: " + err.Error()}}
	}
	return s.problems()
}

// problems are why one Crawler cannot do its work.
func (s *Status) problems() (out []ReadinessProblem) {
	add := func(code, words string) { out = append(out, ReadinessProblem{s.Crawler, code, words}) }
	switch s.IdleCode {
	case crawl.IdleStopping:
		add(notReadyStopping, "the service is stopping")
	case crawl.IdleStarting:
		add(notReadyStarting, "what waits is still being read")
	case crawl.IdleEngine:
		add(notReadyEngine, s.Idle)
	}
	if d := s.Store; d != nil && d.DiskFull() {
		add(notReadyDisk, fmt.Sprintf("%d MiB are free on the disk of the store, %d are needed: nothing more is stored", d.DiskFree>>20, d.DiskNeeded>>20))
	}
	return out
}

// stallLook is how often is looked whether changes can be stored.
const stallLook = 500 * time.Millisecond

// stallLooks is how many looks a change has to end once it was given up.
const stallLooks = 5

// whileStored has the route answer. What would wait for a change to be stored, perhaps for hours, is told at once that
// none is. What has begun already is told within seconds of that; such a change may be stored yet.
func (s *Server) whileStored(c *call) (any, error) {
	if s.about.Stalled == nil || c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return c.route.answer(c)
	}
	if p := s.stall(); p != nil {
		return nil, p
	}
	ctx, end := context.WithCancelCause(c.r.Context())
	defer end(nil)
	ended := c.beside(ctx)
	look := time.NewTicker(stallLook)
	defer look.Stop()
	var why *Problem
	for looks := 0; ; {
		select {
		case a := <-ended:
			return c.take(a, why)
		case <-look.C:
		}
		if why != nil {
			looks++
		}
		switch p := s.stall(); {
		case p == nil:
		case why == nil:
			why = p
			end(p) // most changes are given up by that
		case looks < stallLooks || len(ended) > 0: // it ends, or has
		case c.route.change != "":
			p.Detail += ". Whether this change will be stored is not known: look when the engine answers"
			return nil, p
		}
	}
}

// done is how a call went on a goroutine of its own.
type done struct {
	call     call
	answer   any
	err      error
	panicked any
}

// beside answers a call on a goroutine of its own. What changes nothing writes its answer itself, so it is waited for; what does has a header
// alone, as nobody may wait for it any more.
func (c *call) beside(ctx context.Context) <-chan done {
	ended, d := make(chan done, 1), done{call: *c}
	d.call.r = c.r.WithContext(ctx)
	if c.route.change != "" {
		d.call.w = &headerOnly{ResponseWriter: c.w, header: http.Header{}}
	}
	go func() {
		defer func() {
			d.panicked = recover()
			if err, _ := d.panicked.(error); d.panicked != nil && !errors.Is(err, http.ErrAbortHandler) {
				d.panicked = fmt.Sprintf("%v\n%s", d.panicked, debug.Stack())
			}
			ended <- d
		}()
		d.answer, d.err = c.route.answer(&d.call)
	}()
	return ended
}

// take is the end of a call that was answered beside, with why it was given up, if it was.
func (c *call) take(d done, why *Problem) (any, error) {
	if d.panicked != nil {
		panic(d.panicked)
	}
	c.change, c.target, c.result = d.call.change, d.call.target, d.call.result
	if h, ok := d.call.w.(*headerOnly); ok {
		maps.Copy(c.w.Header(), h.header)
	}
	if why != nil && d.err != nil {
		return nil, why
	}
	return d.answer, d.err
}

// headerOnly keeps the header of an answer that is written later, or never.
type headerOnly struct {
	http.ResponseWriter
	header http.Header
}

// Header implements http.ResponseWriter.
func (h *headerOnly) Header() http.Header { return h.header }

// Unwrap lets http.ResponseController find the connection.
func (h *headerOnly) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// stalled is About.Stalled.
func (s *Server) stalled() string {
	if s.about.Stalled == nil {
		return ""
	}
	return s.about.Stalled()
}

// stall is why nothing can be stored at present, nil if it can.
func (s *Server) stall() *Problem {
	why := s.stalled()
	if why == "" {
		return nil
	}
	p := newProblem(http.StatusServiceUnavailable, codeEngine, "%s", why)
	p.retryAfter = 5
	return p
}
