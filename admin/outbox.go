package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// outboxRoutes are the operator's commands on the outbox.
func (s *Server) outboxRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/outbox", s.forCrawler(s.orders))
	mux.HandleFunc("POST /api/v1/outbox/retry", s.forCrawler(s.retryDead))
	mux.HandleFunc("POST /api/v1/outbox/drop", s.forCrawler(s.dropDead))
}

// OutboxOrder is an order of the outbox as it is printed.
type OutboxOrder struct {
	State  push.State `json:"state"`
	Seq    uint64     `json:"seq"`
	Op     string     `json:"op"`
	URL    string     `json:"url"`
	Source string     `json:"source,omitempty"`
	Bytes  uint64     `json:"bytes"` // of the body
	// At is when the order was made, nil if a version of the program made it that did
	// not note that.
	At *time.Time `json:"at,omitempty"`
	// Moved says that the document stood under another source before.
	Moved bool `json:"moved,omitempty"`
	// Lost says that the body was damaged: the URL is fetched again.
	Lost bool `json:"lost,omitempty"`

	// Target, Words (the indexer's) and RefusedAt are a dead letter's.
	Target    string     `json:"target,omitempty"`
	Words     string     `json:"words,omitempty"`
	RefusedAt *time.Time `json:"refused_at,omitempty"`
}

// NewOutboxOrder gives an order its printed form.
func NewOutboxOrder(l push.Listed) OutboxOrder {
	return OutboxOrder{
		State: l.State, Seq: l.Seq, Op: l.Op.String(), URL: l.URL, Source: l.Source, Bytes: l.Bytes, At: utc(l.At),
		Moved: l.Moved, Lost: l.Lost, Target: l.Target, Words: l.Words, RefusedAt: utc(l.RefusedAt),
	}
}

// DeadLetters is the body of retry and drop: all, or what the others say.
type DeadLetters struct {
	urlList
	Target string  `json:"target,omitempty"`
	Source *string `json:"source,omitempty"`
	All    bool    `json:"all,omitempty"`
}

func (d *DeadLetters) selection() push.Selection {
	return push.Selection{Target: d.Target, Source: d.Source, URLs: d.URLs}
}

// some says that not all are selected.
func (d *DeadLetters) some() bool { return len(d.URLs) > 0 || d.Target != "" || d.Source != nil }

// orders lists: the query has state, target, source and url, which may be repeated.
func (s *Server) orders(w http.ResponseWriter, r *http.Request, c Crawler) {
	q := r.URL.Query()
	sel := push.Selection{State: push.State(q.Get("state")), Target: q.Get("target"), URLs: q["url"]}
	switch sel.State {
	case "", push.Waiting, push.HeldBack, push.DeadLetter:
	default:
		http.Error(w, fmt.Sprintf("no order is in state %q: write waiting, held or dead", sel.State), http.StatusBadRequest)
		return
	}
	if q.Has("source") {
		source := q.Get("source")
		sel.Source = &source
	}
	w.Header().Set("Content-Type", "application/jsonl")
	s.stream(w, "listing the outbox", func(w io.Writer) error {
		out := json.NewEncoder(w)
		return c.Orders(r.Context(), sel, func(l push.Listed) error { return out.Encode(NewOutboxOrder(l)) })
	})
}

func (s *Server) retryDead(w http.ResponseWriter, r *http.Request, c Crawler) {
	s.decideDead(w, r, c, "dead letters sent again", c.RetryDead)
}

func (s *Server) dropDead(w http.ResponseWriter, r *http.Request, c Crawler) {
	s.decideDead(w, r, c, "dead letters dropped", c.DropDead)
}

// DecidedLetters says how many dead letters were sent again or dropped.
type DecidedLetters struct {
	DeadLetters int `json:"dead_letters"`
}

func (s *Server) decideDead(w http.ResponseWriter, r *http.Request, c Crawler, done string, by func(context.Context, push.Selection) (int, error)) {
	var chosen DeadLetters
	if !s.body(w, r, &chosen) {
		return
	}
	if chosen.All == chosen.some() {
		http.Error(w, "name URLs, a target or a source, or all of them", http.StatusBadRequest)
		return
	}
	n, err := by(r.Context(), chosen.selection())
	if err != nil {
		s.decline(w, err, fmt.Sprintf("%d were decided before", n))
		return
	}
	s.log.Warn(done, "crawler", c.Name(), "named", len(chosen.URLs), "target", chosen.Target, "all", chosen.All, "count", n)
	s.reply(w, DecidedLetters{n})
}

// Orders calls fn for the selected orders of the outbox.
func (c *Client) Orders(ctx context.Context, sel push.Selection, fn func(OutboxOrder) error) error {
	q := url.Values{}
	if sel.State != "" {
		q.Set("state", string(sel.State))
	}
	if sel.Target != "" {
		q.Set("target", sel.Target)
	}
	if sel.Source != nil {
		q.Set("source", *sel.Source)
	}
	for batch := range batches(sel.URLs) {
		q["url"] = batch
		if err := stream(ctx, c, "/api/v1/outbox", q, fn); err != nil {
			return err
		}
	}
	return nil
}

// RetryDead sends the orders of the selected dead letters again, and gives how many
// there were.
func (c *Client) RetryDead(ctx context.Context, d DeadLetters) (int, error) {
	return c.decideDead(ctx, "/api/v1/outbox/retry", d)
}

// DropDead drops them.
func (c *Client) DropDead(ctx context.Context, d DeadLetters) (int, error) {
	return c.decideDead(ctx, "/api/v1/outbox/drop", d)
}

func (c *Client) decideDead(ctx context.Context, path string, d DeadLetters) (int, error) {
	n := 0
	for batch := range batches(d.URLs) {
		d.URLs = batch
		var done DecidedLetters
		if err := c.post(ctx, path, d, &done); err != nil {
			return n, err
		}
		n += done.DeadLetters
	}
	return n, nil
}

// OutboxDetails tell how far the outbox is behind.
type OutboxDetails struct {
	Bytes uint64 `json:"bytes"` // of the bodies that wait
	// Oldest is when the oldest order that waits was made, and Behind the same of what
	// each target does not have safely, by name; those that have all are not there.
	Oldest *time.Time           `json:"oldest,omitempty"`
	Behind map[string]time.Time `json:"behind,omitempty"`
}
