package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

// readyTimeout bounds the check of the Crawlers for /readyz.
const readyTimeout = 5 * time.Second

// Readiness reports whether the service can work now: its stores are open and their figures readable, the disk has
// space, and it is not stopping. It does not test a write. A crawl that is paused, has nothing to do, or waits for a
// target is ready.
type Readiness struct {
	Ready bool `json:"ready"`
	// Problems lists the reasons why it is not ready; empty if it is.
	Problems []ReadinessProblem `json:"problems,omitempty"`
}

// ReadinessProblem is one reason.
type ReadinessProblem struct {
	Crawler string `json:"crawler,omitempty"`
	// Code is starting, stopping, standing_by, store_failing or disk_low.
	Code  string `json:"code"`
	Words string `json:"words"`
}

// String returns the response for people, one reason a line.
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
	notReadyStandby  = "standing_by"
	notReadyStore    = "store_failing"
	notReadyDisk     = "disk_low"
)

// healthz responds only that the process is alive.
func healthz(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }

// readyz responds with 200 if the service is ready, else 503; in JSON on request.
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
		_ = json.NewEncoder(w).Encode(now) // the client may be gone
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, now)
}

// readiness checks all Crawlers.
func (s *Server) readiness(ctx context.Context) Readiness {
	var problems []ReadinessProblem
	for _, c := range s.crawlers {
		status, err := c.Status(ctx)
		problems = append(problems, notReady(c, &status, err)...)
	}
	return Readiness{Ready: len(problems) == 0, Problems: problems}
}

// notReady returns why a Crawler cannot work, from its Status or the error for it.
func notReady(c Crawler, s *Status, err error) []ReadinessProblem {
	if err != nil {
		return []ReadinessProblem{{c.Name(), notReadyStore, "its figures cannot be read: " + err.Error()}}
	}
	return s.problems()
}

// problems returns why one Crawler cannot work.
func (s *Status) problems() (out []ReadinessProblem) {
	add := func(code, words string) { out = append(out, ReadinessProblem{s.Crawler, code, words}) }
	switch s.IdleCode {
	case crawl.IdleStopping:
		add(notReadyStopping, "the service is stopping")
	case crawl.IdleStarting:
		add(notReadyStarting, "the pending URLs are still being read")
	}
	if d := s.Store; d != nil && d.DiskFull() {
		add(notReadyDisk, fmt.Sprintf("%d MiB are free on the disk of the store, and %d are required: nothing more is stored", d.DiskFree>>20, d.DiskNeeded>>20))
	}
	return out
}
