package admin

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

// deletionRoutes are about deletions that rest or are held.
func (s *Server) deletionRoutes() []route {
	const path = "/api/v1/deletions"
	const filter = "state host reason edit url"
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
		return q.Each(c.r.Context(), c.crawler.Reports().HeldDeletions, func(d scheduler.StoredDeletion) error {
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
	return list(s, c, "listing deletions", func(fn func(any, string) error) error {
		return each(func(d scheduler.StoredDeletion) error {
			if d.Seq < from {
				return nil
			}
			return fn(NewDeletion(&d), strconv.FormatUint(d.Seq, 10))
		})
	})
}

func (s *Server) deletionCounts(c *call) (any, error) {
	limit, err := limitOf(c)
	if err != nil {
		return nil, err
	}
	each, err := c.chosen()
	if err != nil {
		return nil, err
	}
	var by []string
	if written := c.query.Get("by"); written != "" {
		by = strings.Split(written, ",")
	}
	return CountDeletions(by, limit, each)
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
	n, err := q.Decide(c.r.Context(), c.crawler.Reports().HeldDeletions, by)
	c.result = []any{"count", n}
	return Decided{n}, soFar(err, "%d were decided before", n)
}

// Deletions calls fn for each deletion that the query selects. It ignores q.URLs.
func (c *Client) Deletions(ctx context.Context, q DeletionQuery, fn func(Deletion) error) error {
	return stream(ctx, c, "/api/v1/deletions", q.Values(), fn)
}

// DeletionCounts counts them by some of DeletionGroupings.
func (c *Client) DeletionCounts(ctx context.Context, q DeletionQuery, by []string) (*DeletionCounts, error) {
	query := q.Values()
	query.Set("by", strings.Join(by, ","))
	return get[*DeletionCounts](ctx, c, "/api/v1/deletions/counts", query)
}

// Release has the selected deletions leave, and gives how many there were.
func (c *Client) Release(ctx context.Context, q DeletionQuery) (int, error) {
	return c.decide(ctx, "/api/v1/deletions/release", q)
}

// DropDeletions drops them instead; their URLs are fetched again.
func (c *Client) DropDeletions(ctx context.Context, q DeletionQuery) (int, error) {
	return c.decide(ctx, "/api/v1/deletions/drop", q)
}

func (c *Client) decide(ctx context.Context, path string, q DeletionQuery) (int, error) {
	n := 0
	for batch := range batches(q.URLs) {
		q.URLs = batch
		var done Decided
		if err := c.post(ctx, path, q, &done); err != nil {
			return n, err
		}
		n += done.Deletions
	}
	return n, nil
}

// deletionOf is the deletion of a URL that is stored as having one; nil if it was decided
// about meanwhile.
func deletionOf(ctx context.Context, store report.Store, s *report.StoredURL) (found *Deletion, err error) {
	q := DeletionQuery{URLs: []string{s.URL}, State: s.Deletion}
	err = q.Each(ctx, store.HeldDeletions, func(d scheduler.StoredDeletion) error {
		one := NewDeletion(&d)
		found = &one
		return nil
	})
	return found, err
}

// deletionOf asks the running service for it.
func (c *Client) deletionOf(ctx context.Context, s *report.StoredURL) (found *Deletion, err error) {
	q := DeletionQuery{State: s.Deletion, Host: originOf(s.URL)}
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

// DeletionCounts count deletions that rest or are held.
type DeletionCounts struct {
	Resting uint64 `json:"resting"`
	Held    uint64 `json:"held"`
	// Groups is how many groups there are, Items the largest of them.
	Groups int             `json:"groups"`
	Items  []DeletionGroup `json:"items"`
}

// DeletionGroup are the deletions that have in common by what they were counted: the
// other fields are empty.
type DeletionGroup struct {
	Host    string `json:"host,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Edit    uint64 `json:"edit,omitempty"`
	Resting uint64 `json:"resting"`
	Held    uint64 `json:"held"`
}

// groupKey is by what deletions are counted.
type groupKey struct {
	host, reason string
	edit         uint64
}

// DeletionGroupings are what deletions may be counted by.
func DeletionGroupings() []string { return []string{"host", "reason", "edit"} }

// CheckGroupings says which of by are none of DeletionGroupings.
func CheckGroupings(by []string) error {
	for _, name := range by {
		if !slices.Contains(DeletionGroupings(), name) {
			return wrong("by %q: write %s, or some of them with commas between", name, strings.Join(DeletionGroupings(), ", "))
		}
	}
	return nil
}

// CountDeletions counts the deletions that each walks over by some of DeletionGroupings,
// the largest groups first, and names the first most groups, all for 0.
func CountDeletions(by []string, most int, each func(fn func(scheduler.StoredDeletion) error) error) (*DeletionCounts, error) {
	if err := CheckGroupings(by); err != nil {
		return nil, err
	}
	out := &DeletionCounts{}
	groups := map[groupKey]*DeletionGroup{}
	err := each(func(s scheduler.StoredDeletion) error {
		var k groupKey
		for _, name := range by {
			switch name {
			case "host":
				k.host = originOf(s.URL)
			case "reason":
				k.reason = s.Reason.String()
			case "edit":
				k.edit = s.Edit
			}
		}
		g := groups[k]
		if g == nil {
			g = &DeletionGroup{Host: k.host, Reason: k.reason, Edit: k.edit}
			groups[k] = g
		}
		if s.State == scheduler.DeletionHeld {
			out.Held++
			g.Held++
		} else {
			out.Resting++
			g.Resting++
		}
		return nil
	})
	out.Items = []DeletionGroup{}
	if len(by) == 0 {
		return out, err
	}
	for _, g := range groups {
		out.Items = append(out.Items, *g)
	}
	slices.SortFunc(out.Items, func(a, b DeletionGroup) int {
		return cmp.Or(cmp.Compare(b.Held+b.Resting, a.Held+a.Resting), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Edit, b.Edit))
	})
	if out.Groups = len(out.Items); most > 0 && len(out.Items) > most {
		out.Items = out.Items[:most]
	}
	return out, err
}
