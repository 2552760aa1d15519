package admin

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// deletionRoutes are about pending deletions.
func (s *Server) deletionRoutes() []route {
	const path = "/api/v1/deletions"
	const filter = "host reason edit up_to url"
	return []route{
		{method: "GET", path: path, role: Reader, crawler: true, query: filter + " limit cursor", answer: s.deletions},
		{method: "GET", path: path + "/counts", role: Reader, crawler: true, query: filter + " by limit", answer: s.deletionCounts},
		{method: "POST", path: path + "/release", role: Operator, crawler: true, change: "release deletions", answer: s.release},
		{method: "POST", path: path + "/drop", role: Operator, crawler: true, change: "drop deletions", answer: s.drop},
	}
}

// chosen walks over the deletions that a request asks for. Of url a part may be asked for.
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

// deletions lists deletions, oldest first: a cursor is the number of the next.
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
	return list(s, c, "listing deletions", func(fn func(any, string) error) error {
		return each(func(d scheduler.StoredDeletion) error {
			if d.Seq < from {
				return nil
			}
			return fn(losses.Deletion(&d, now), strconv.FormatUint(d.Seq, 10))
		})
	})
}

// Decided says how many deletions were released or dropped.
type Decided struct {
	Deletions int `json:"deletions"`
}

func (s *Server) release(c *call) (any, error) { return s.decide(c, c.crawler.Release) }

func (s *Server) drop(c *call) (any, error) { return s.decide(c, c.crawler.DropDeletions) }

func (s *Server) decide(c *call, by func(context.Context, scheduler.DeletionFilter) (int, error)) (any, error) {
	var q DeletionQuery
	if err := c.read(&q); err != nil {
		return nil, err
	}
	c.target = q.String()
	if q.narrowed() == q.All {
		return nil, wrong("name URLs, a host, a reason or an edit, or all of them")
	}
	n, err := q.Decide(c.r.Context(), c.crawler.Reports().PendingDeletions, by)
	c.result = []any{"count", n}
	return Decided{n}, soFar(err, "%d were decided before", n)
}

// Deletions calls fn for each deletion that the query selects. It ignores q.URLs.
func (c *Client) Deletions(ctx context.Context, q DeletionQuery, fn func(Deletion) error) error {
	return stream(ctx, c, "/api/v1/deletions", q.Values(), fn)
}

// Release carries out the selected deletions, and gives how many there were.
func (c *Client) Release(ctx context.Context, q DeletionQuery) (int, error) {
	return c.decide(ctx, "/api/v1/deletions/release", q.URLs, func(batch []string) any { q.URLs = batch; return q })
}

// DropDeletions drops them instead; their URLs are fetched again.
func (c *Client) DropDeletions(ctx context.Context, q DeletionQuery) (int, error) {
	return c.decide(ctx, "/api/v1/deletions/drop", q.URLs, func(batch []string) any { q.URLs = batch; return q })
}

// deletionOf is the deletion of a URL that is stored as having one; nil if it was decided
// about meanwhile.
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

// deletionOf asks the running service for it.
func (c *Client) deletionOf(ctx context.Context, s *report.StoredURL) (found *Deletion, err error) {
	q := DeletionQuery{Host: originOf(s.URL)}
	query := q.Values()
	query.Set("url", s.URL)
	err = stream(ctx, c, "/api/v1/deletions", query, func(d Deletion) error {
		if d.URL == s.URL {
			found = &d
		}
		return nil
	})
	return found, err
}
