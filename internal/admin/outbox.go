package admin

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// DeadLetters is the body of retry and drop: all, or those that the other fields select.
type DeadLetters struct {
	urlList
	Target string  `json:"target,omitempty"`
	Source *string `json:"source,omitempty"`
	All    bool    `json:"all,omitempty"`
}

func (d *DeadLetters) selection() push.Selection {
	return push.Selection{Target: d.Target, Source: d.Source, URLs: d.URLs}
}

// some reports whether only some are selected.
func (d *DeadLetters) some() bool { return len(d.URLs) > 0 || d.Target != "" || d.Source != nil }

// orders lists orders: the query has state, target, source and url, which may be repeated.
func (s *Server) orders(c *call) (any, error) {
	q := c.query
	state, err := push.ParseState(q.Get("state"))
	if err != nil {
		return nil, wrong("%v", err)
	}
	sel := push.Selection{State: state, Target: q.Get("target"), URLs: q["url"]}
	if q.Has("source") {
		source := q.Get("source")
		sel.Source = &source
	}
	from, err := parseOrderCursor(q.Get("cursor"))
	if err != nil {
		return nil, err
	}
	return list(s, c, "listing the outbox", func(fn func(any, string) error) error {
		var dead uint64
		return c.crawler.Reports().Orders(c.r.Context(), sel, func(l push.Listed) error {
			at := orderCursor{l.State, l.Seq}
			if l.State == push.DeadLetter {
				at.n = dead
				dead++
			}
			var item any
			if !at.before(from) {
				item = l
			}
			return fn(item, at.String())
		})
	})
}

// orderCursor is a position in the list of orders: the number of an order or, for dead letters, which have another
// order, the number of those before.
type orderCursor struct {
	state push.State
	n     uint64
}

func (o orderCursor) String() string { return string(o.state) + "." + strconv.FormatUint(o.n, 10) }

// before reports whether o is listed before other.
func (o orderCursor) before(other orderCursor) bool {
	a, b := slices.Index(push.States(), o.state), slices.Index(push.States(), other.state)
	return a < b || a == b && o.n < other.n
}

// parseOrderCursor parses a cursor; the zero one is before all.
func parseOrderCursor(written string) (o orderCursor, err error) {
	if written == "" {
		return o, nil
	}
	state, number, ok := strings.Cut(written, ".")
	o.state = push.State(state)
	if o.n, err = strconv.ParseUint(number, 10, 64); err != nil || !ok || !slices.Contains(push.States(), o.state) {
		return o, errCursor
	}
	return o, nil
}

// DecidedLetters counts the dead letters that were sent again or dropped.
type DecidedLetters struct {
	DeadLetters int `json:"dead_letters"`
}

func decidesDead(by func(Crawler, context.Context, push.Selection) (int, error)) func(*call) (any, error) {
	return posted(func(c *call, chosen DeadLetters) (any, error) {
		if chosen.All == chosen.some() {
			return nil, wrong("name URLs, a target, a source, or all")
		}
		n, err := by(c.crawler, c.r.Context(), chosen.selection())
		c.result = []any{"count", n}
		return DecidedLetters{n}, soFar(err, "%d were already decided", n)
	})
}

// DecideLetters retries (retry) or drops (drop) the selected dead letters, and returns their number.
func (c *Client) DecideLetters(ctx context.Context, do string, d DeadLetters) (n int, err error) {
	var done DecidedLetters
	err = c.Post(ctx, "/outbox/"+do, nil, d, &done)
	return done.DeadLetters, err
}

// OutboxDetails is the backlog of the outbox.
type OutboxDetails struct {
	Bytes uint64 `json:"bytes"` // of waiting bodies
	// Oldest is the time when the oldest waiting order was made, and Behind the same for each target's unconfirmed orders,
	// by name; targets without any are absent.
	Oldest *time.Time           `json:"oldest,omitempty"`
	Behind map[string]time.Time `json:"behind,omitempty"`
}
