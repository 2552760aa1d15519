package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Commands are what an operator does to a Crawler.
type Commands interface {
	Refresh(ctx context.Context, s crawl.Selection) (crawl.Refreshed, error)
	Remove(ctx context.Context, s crawl.Selection) (crawl.Removed, error)
	// Pause takes no new URL until Resume; both are remembered over restarts.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Held calls fn for each deletion that the brake holds, oldest first.
	Held(ctx context.Context, fn func(push.Entry) error) error
	// Release sends the held deletions of the URLs, or all if none is named, and
	// DropHeld drops them; both give how many there were.
	Release(ctx context.Context, urls ...string) (int, error)
	DropHeld(ctx context.Context, urls ...string) (int, error)
	// Orders calls fn for the selected orders of the outbox, without their bodies.
	Orders(ctx context.Context, sel push.Selection, fn func(push.Listed) error) error
	// RetryDead sends the orders of the selected dead letters again, and DropDead drops
	// them; both give how many there were.
	RetryDead(ctx context.Context, sel push.Selection) (int, error)
	DropDead(ctx context.Context, sel push.Selection) (int, error)
	// Backup writes a copy of the store, as it is at one moment.
	Backup(ctx context.Context, w io.Writer) error
}

// commandRoutes are the operator's commands.
func (s *Server) commandRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/v1/refresh", s.forCrawler(s.refresh))
	mux.HandleFunc("POST /api/v1/remove", s.forCrawler(s.remove))
	mux.HandleFunc("POST /api/v1/pause", s.forCrawler(s.pause))
	mux.HandleFunc("POST /api/v1/resume", s.forCrawler(s.resume))
	mux.HandleFunc("GET /api/v1/deletions", s.forCrawler(s.deletions))
	mux.HandleFunc("POST /api/v1/deletions/release", s.forCrawler(s.release))
	mux.HandleFunc("POST /api/v1/deletions/drop", s.forCrawler(s.drop))
	s.outboxRoutes(mux)
	mux.HandleFunc("GET /api/v1/backup", s.forCrawler(s.backup))
}

// body reads the JSON of a request; false if it was answered with what is wrong.
func (s *Server) body(w http.ResponseWriter, r *http.Request, into any) bool {
	in := json.NewDecoder(r.Body)
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		http.Error(w, "the body is no such command: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// selection reads a selection; false if it was answered with what is wrong.
func (s *Server) selection(w http.ResponseWriter, r *http.Request) (written Selection, compiled crawl.Selection, ok bool) {
	if !s.body(w, r, &written) {
		return written, compiled, false
	}
	compiled, err := written.Compile(s.service.Condition)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return written, compiled, false
	}
	return written, compiled, true
}

func (s *Server) refresh(w http.ResponseWriter, r *http.Request, c Crawler) {
	written, selection, ok := s.selection(w, r)
	if !ok {
		return
	}
	done, err := c.Refresh(r.Context(), selection)
	if err != nil {
		s.decline(w, err, fmt.Sprintf("%d URLs were queued before", done.URLs))
		return
	}
	s.log.Info("refresh", "crawler", c.Name(), "selection", written.String(), "urls", done.URLs, "waiting", done.Waiting, "excluded", done.Excluded)
	s.reply(w, done)
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request, c Crawler) {
	written, selection, ok := s.selection(w, r)
	if !ok {
		return
	}
	done, err := c.Remove(r.Context(), selection)
	if done.URLs > 0 || err == nil { // what was removed stays so
		s.log.Warn("URLs removed", "crawler", c.Name(), "selection", written.String(), "urls", done.URLs, "deletions", done.Deletions)
	}
	if err != nil {
		s.decline(w, err, fmt.Sprintf("%d URLs were removed before", done.URLs))
		return
	}
	s.reply(w, done)
}

func (s *Server) pause(w http.ResponseWriter, r *http.Request, c Crawler) {
	if err := c.Pause(r.Context()); err != nil {
		s.fail(w, err)
		return
	}
	s.log.Warn("paused: nothing is fetched until resume", "crawler", c.Name())
	s.reply(w, struct{}{})
}

func (s *Server) resume(w http.ResponseWriter, r *http.Request, c Crawler) {
	if err := c.Resume(r.Context()); err != nil {
		s.fail(w, err)
		return
	}
	s.log.Info("resumed", "crawler", c.Name())
	s.reply(w, struct{}{})
}

// HeldDeletion is a deletion that waits for the operator.
type HeldDeletion struct {
	URL    string    `json:"url"`
	Source string    `json:"source,omitempty"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// NewHeldDeletion gives an order of the outbox its printed form.
func NewHeldDeletion(e push.Entry) (HeldDeletion, error) {
	var d push.Deletion
	if err := json.Unmarshal(e.Body, &d); err != nil {
		return HeldDeletion{}, fmt.Errorf("the held deletion of %s cannot be read: %w", e.URL, err)
	}
	return HeldDeletion{URL: e.URL, Source: e.Source, Reason: d.Reason, Since: d.At}, nil
}

func (s *Server) deletions(w http.ResponseWriter, r *http.Request, c Crawler) {
	w.Header().Set("Content-Type", "application/jsonl")
	s.stream(w, "listing held deletions", func(w io.Writer) error {
		out := json.NewEncoder(w)
		return c.Held(r.Context(), func(e push.Entry) error {
			d, err := NewHeldDeletion(e)
			if err != nil {
				return err
			}
			return out.Encode(d)
		})
	})
}

// stream answers with what write writes. After an error it breaks the connection,
// unless nothing is out yet: only that tells the reader then.
func (s *Server) stream(w http.ResponseWriter, what string, write func(io.Writer) error) (done bool) {
	out := &begunWriter{w: w}
	err := write(out)
	switch {
	case err == nil:
		return true
	case !out.begun:
		s.fail(w, err)
		return false
	default:
		s.log.Warn(what+" broke off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// begunWriter remembers that something was written.
type begunWriter struct {
	w     io.Writer
	begun bool
}

func (b *begunWriter) Write(p []byte) (int, error) {
	b.begun = true
	return b.w.Write(p)
}

// chosenDeletions is the body of release and drop: URLs, or all.
type chosenDeletions struct {
	urlList
	All bool `json:"all"`
}

// Decided says how many held deletions were released or dropped.
type Decided struct {
	Deletions int `json:"deletions"`
}

func (s *Server) release(w http.ResponseWriter, r *http.Request, c Crawler) {
	s.decide(w, r, c, "held deletions released", c.Release)
}

func (s *Server) drop(w http.ResponseWriter, r *http.Request, c Crawler) {
	s.decide(w, r, c, "held deletions dropped", c.DropHeld)
}

func (s *Server) decide(w http.ResponseWriter, r *http.Request, c Crawler, done string, by func(context.Context, ...string) (int, error)) {
	var chosen chosenDeletions
	if !s.body(w, r, &chosen) {
		return
	}
	if chosen.All == (len(chosen.URLs) > 0) {
		http.Error(w, "name URLs, or all of them", http.StatusBadRequest)
		return
	}
	n, err := by(r.Context(), chosen.URLs...)
	if err != nil {
		s.decline(w, err, fmt.Sprintf("%d were decided before", n))
		return
	}
	s.log.Warn(done, "crawler", c.Name(), "named", len(chosen.URLs), "all", chosen.All, "count", n)
	s.reply(w, Decided{n})
}

func (s *Server) backup(w http.ResponseWriter, r *http.Request, c Crawler) {
	w.Header().Set("Content-Type", "application/octet-stream")
	begin := time.Now()
	s.log.Info("backup begins", "crawler", c.Name())
	if s.stream(w, "the backup", func(w io.Writer) error { return c.Backup(r.Context(), w) }) {
		s.log.Info("backup is written", "crawler", c.Name(), "took", time.Since(begin))
	}
}

// decline answers a command that could not be done: what the user wrote is the
// user's to mend.
func (s *Server) decline(w http.ResponseWriter, err error, soFar string) {
	if IsDeclined(err) {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	if soFar != "" {
		err = fmt.Errorf("%w (%s)", err, soFar)
	}
	s.fail(w, err)
}

// IsDeclined says that a command was not done for what it was asked, and did not fail
// by itself or its store.
func IsDeclined(err error) bool {
	if errors.Is(err, scheduler.ErrNotFound) {
		return true
	}
	if _, ok := errors.AsType[*crawl.SelectionError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*weburl.Error](err); ok {
		return true
	}
	_, ok := errors.AsType[*Declined](err)
	return ok
}

// Declined is an error of Service that the user has to mend.
type Declined struct{ Err error }

func (e *Declined) Error() string { return e.Err.Error() }

// Unwrap gives what is wrong.
func (e *Declined) Unwrap() error { return e.Err }
