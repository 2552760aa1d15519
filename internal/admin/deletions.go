package admin

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// chosen iterates over the deletions that a request selects; url can be a part of a URL.
func (c *call) chosen() (each func(fn func(scheduler.StoredDeletion) error) error, err error) {
	q, err := ParseDeletionQuery(c.query)
	if err != nil {
		return nil, err
	}
	part := c.query.Get("url")
	return func(fn func(scheduler.StoredDeletion) error) error {
		return q.Each(c.r.Context(), c.crawler.Reports().PendingDeletions, func(d scheduler.StoredDeletion) error {
			if !strings.Contains(d.URL, part) {
				return nil
			}
			return fn(d)
		})
	}, nil
}

// deletions lists deletions: a page has the newest first, and a cursor is the number of the next; JSON Lines have the
// oldest first.
func (s *Server) deletions(c *call) (any, error) {
	from, err := parseSeq(c.query.Get("cursor"))
	if err != nil {
		return nil, err
	}
	each, err := c.chosen()
	if err != nil {
		return nil, err
	}
	losses, err := c.crawler.Losses(c.r.Context())
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if wantsLines(c.r) {
		return s.lines(c, "listing deletions", c.number("limit"), func(fn func(any, string) error) error {
			return each(func(d scheduler.StoredDeletion) error { return fn(losses.Deletion(&d, now), "") })
		})
	}
	page, limit := Page{Items: []any{}}, cmp.Or(c.number("limit"), defaultLimit)
	var last []scheduler.StoredDeletion // of the walk, one more than the page has
	err = each(func(d scheduler.StoredDeletion) error {
		if from == 0 || d.Seq <= from {
			last = append(last[max(len(last)-limit, 0):], d)
		}
		return nil
	})
	if len(last) > limit {
		page.Next, last = strconv.FormatUint(last[0].Seq, 10), last[1:]
	}
	for _, d := range slices.Backward(last) {
		page.Items = append(page.Items, losses.Deletion(&d, now))
	}
	return page, err
}

// Decided counts the released or dropped deletions, and among them the new texts of documents that stay. OfEdits counts
// those that a drop left, since the rules would cause them again; it then includes Moves.
type Decided struct {
	Deletions int `json:"deletions"`
	NewTexts  int `json:"new_texts,omitempty"`
	Moves     int `json:"moves,omitempty"` // off a target
	OfEdits   int `json:"of_edits,omitempty"`
}

// Stay describes the losses that a drop left, with the reason; "" if there are none.
func (n *Decided) Stay() string {
	if n.OfEdits == 0 {
		return ""
	}
	words := LossWords(n.OfEdits, 0, n.Moves)
	if n.OfEdits == 1 {
		return words + " by an edit of the rules stays: reverting the edit cancels it"
	}
	return words + " by an edit of the rules stay: reverting the edit cancels them"
}

func (s *Server) release(c *call) (any, error) {
	q, err := c.decision()
	if err != nil {
		return nil, err
	}
	out, err := confirmedRelease(c, &q)
	if err != nil {
		return nil, err
	}
	out.Deletions, err = q.Decide(c.r.Context(), c.crawler.Reports().PendingDeletions, c.crawler.Release)
	answer, err := decided(c, out, err)
	c.nothing = c.nothing && q.Edit == 0 // a release closes the edit
	return answer, err
}

// ReleasedUnasked is the maximum number of deletions that are released without confirmation.
const ReleasedUnasked = RemovedUnasked

// confirmedRelease counts what would be released, and refuses a large release that the caller has not confirmed.
func confirmedRelease(c *call, q *DeletionQuery) (n Decided, err error) {
	n, err = q.count(c.r.Context(), c.crawler.Reports().PendingDeletions)
	n.OfEdits = 0 // they are released, too
	if err != nil || c.says("yes") || n.Deletions <= ReleasedUnasked {
		return n, err
	}
	return n, newProblem(http.StatusConflict, codeUnconfirmed, "this releases %s: if that is intended, send it with yes=true in the query", n.Words())
}

// count counts the deletions that the query selects.
func (q *DeletionQuery) count(ctx context.Context, list DeletionLister) (n Decided, err error) {
	var all LossCounts
	err = q.Each(ctx, list, func(d scheduler.StoredDeletion) error {
		all.add(&d)
		if d.Edit != 0 {
			n.OfEdits++
		}
		return nil
	})
	n.Deletions, n.NewTexts, n.Moves = int(all.Pending), int(all.NewTexts), int(all.Moves) //nolint:gosec // none is so large
	return n, err
}

// drop skips the deletions of edits: their URLs would be fetched, excluded, and deleted again. Reverting the edit
// cancels them.
func (s *Server) drop(c *call) (any, error) {
	q, err := c.decision()
	if err != nil {
		return nil, err
	}
	ctx, list := c.r.Context(), c.crawler.Reports().PendingDeletions
	out, err := q.count(ctx, list)
	if err == nil {
		out.Deletions, err = q.Decide(ctx, list, c.crawler.DropDeletions)
	}
	return decided(c, out, err)
}

// decision reads the selection of a request to release or drop.
func (c *call) decision() (q DeletionQuery, err error) {
	if err := c.read(&q); err != nil {
		return q, err
	}
	if q.narrowed() == q.All {
		return q, wrong("name URLs, a host, a reason, an edit, or all")
	}
	return q, nil
}

// decided returns the response. Without any change there is no event.
func decided(c *call, done Decided, err error) (any, error) {
	c.result = []any{"count", done.Deletions}
	c.nothing = done.Deletions == 0 && err == nil
	return done, soFar(err, "%d were already decided", done.Deletions)
}

// DecideDeletions releases or drops the selected deletions, however many, and returns their number. Those of edits are
// not dropped. URLs of dropped ones are fetched again.
func (c *Client) DecideDeletions(ctx context.Context, do string, q DeletionQuery) (done Decided, err error) {
	var word url.Values
	if do == "release" {
		word = withYes()
	}
	err = c.Post(ctx, "/deletions/"+do, word, q, &done)
	return done, err
}

// deletionOf returns the deletion of a URL whose record has one; nil if it was decided in the meantime.
func deletionOf(ctx context.Context, store report.Store, losses func(context.Context) (*Losses, error), s *report.StoredURL) (found *Deletion, err error) {
	l, err := losses(ctx)
	if err != nil {
		return nil, err
	}
	q := DeletionQuery{URLs: []string{s.URL}}
	err = q.Each(ctx, store.PendingDeletions, func(d scheduler.StoredDeletion) error {
		one := l.Deletion(&d, time.Now())
		found = &one
		return nil
	})
	return found, err
}

// deletionOf reads it from the running service.
func (c *Client) deletionOf(ctx context.Context, s *report.StoredURL) (found *Deletion, err error) {
	q := DeletionQuery{Host: originOf(s.URL)}
	query := q.Values()
	query.Set("url", s.URL)
	err = Each(ctx, c, "/deletions", query, func(d Deletion) error {
		if d.URL == s.URL {
			found = &d
		}
		return nil
	})
	return found, err
}
