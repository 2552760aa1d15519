package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/weburl"
)

// Deletion is the printed form of a pending deletion; the names are a contract.
type Deletion struct {
	Number   uint64    `json:"number"` // rises with each new one
	Since    time.Time `json:"since"`  // time when it was first seen
	LastSeen time.Time `json:"last_seen"`
	Visits   int       `json:"visits"` // that saw it; 0 for those of an edit
	Reason   string    `json:"reason"`
	Class    string    `json:"class"` // few, some, most or edit
	// NotBefore is the time when it can leave by itself, nil if unknown. WaitsFor is its condition until then, a
	// deletion.Need.
	NotBefore *time.Time `json:"not_before,omitempty"`
	WaitsFor  string     `json:"waits_for,omitempty"`
	// Replaces is set if the document stays and gets another text.
	Replaces bool `json:"replaces,omitempty"`
	// Moves is set if the document stays in the index, but leaves a target, since it gets the source Source.
	Moves  bool   `json:"moves,omitempty"`
	Edit   uint64 `json:"edit,omitempty"` // of the rules, that caused it
	Host   string `json:"host"`           // scheme, host and port
	URL    string `json:"url"`
	Source string `json:"source,omitempty"`
	Text   string `json:"text,omitempty"` // the reason for people
}

// Deletion returns the printed form of a stored deletion.
func (l *Losses) Deletion(s *scheduler.StoredDeletion, now time.Time) Deletion {
	f := l.forecast(s, now)
	return Deletion{
		Number: s.Seq, Since: s.First.UTC(), LastSeen: s.Last.UTC(), Visits: int(s.Visits), Reason: s.Reason.String(), Class: l.class(s, now),
		NotBefore: utc(f.Earliest), WaitsFor: string(f.Needs), Replaces: s.Replaces, Moves: s.Reason == scheduler.ReasonTarget, Edit: s.Edit,
		Host: originOf(s.URL), URL: s.URL, Source: s.Source, Text: s.Text,
	}
}

// Waits describes the condition that it waits for.
func (d *Deletion) Waits() string {
	words := map[deletion.Need]string{
		deletion.NeedsNothing: "now",
		deletion.NeedsVisit:   "not before ",
		deletion.NeedsGood:    "when another document of its host has a good response",
		deletion.NeedsHealth:  "when its host is well",
		deletion.NeedsGone:    "when its host is gone",
		deletion.NeedsPass:    fmt.Sprintf("when all stored URLs have been judged by edit %d", d.Edit),
		deletion.NeedsWord:    "not until the operator confirms it",
	}
	if d.NotBefore != nil {
		at := clock.Stamp(*d.NotBefore)
		words[deletion.NeedsVisit] += at
		words[deletion.NeedsHealth] += ", or gone: " + at
		words[deletion.NeedsGone] += ": " + at
	}
	return cmp.Or(words[deletion.Need(d.WaitsFor)], d.WaitsFor)
}

func originOf(canonical string) string {
	u, ok := weburl.FromCanonical(canonical)
	if !ok {
		return ""
	}
	return u.Origin()
}

// DeletionQuery selects deletions; empty fields select all. It is also the body of release and drop.
type DeletionQuery struct {
	URLs   []string `json:"urls,omitempty"`
	Host   string   `json:"host,omitempty"` // a host name, or scheme://host:port
	Reason string   `json:"reason,omitempty"`
	Edit   uint64   `json:"edit,omitempty"`
	// UpTo leaves out deletions with a higher number; 0: none.
	UpTo uint64 `json:"up_to,omitempty"`
	All  bool   `json:"all,omitempty"`
}

// DeletionLister calls fn for the deletions that f selects, like scheduler.Reader.PendingDeletions.
type DeletionLister func(ctx context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error

// filter converts the query to the scheduler's terms. Exact is false if Host is the name of a host, which may have
// several origins: the filter has none then.
func (q *DeletionQuery) filter() (f scheduler.DeletionFilter, exact bool, err error) {
	f.URLs, f.Edit, f.UpTo = q.URLs, q.Edit, q.UpTo
	if q.Reason != "" {
		if f.Reason, err = scheduler.ParseReason(q.Reason); err != nil {
			return f, false, wrong("reason %v", err)
		}
	}
	if !strings.Contains(q.Host, "://") {
		return f, q.Host == "", nil
	}
	u, err := weburl.Parse(q.Host)
	if err != nil {
		return f, true, wrong("host %q: %v", q.Host, err)
	}
	f.Host = u.Origin()
	return f, true, nil
}

// Each calls fn for the selected deletions, oldest first.
func (q *DeletionQuery) Each(ctx context.Context, list DeletionLister, fn func(scheduler.StoredDeletion) error) error {
	f, exact, err := q.filter()
	if err != nil {
		return err
	}
	return list(ctx, f, func(s scheduler.StoredDeletion) error {
		if u, is := weburl.FromCanonical(s.URL); !exact && (!is || u.Host() != q.Host && !strings.HasSuffix(u.Origin(), "://"+q.Host)) {
			return nil
		}
		return fn(s)
	})
}

// Decide releases or drops the selected deletions, origin by origin if Host is a name, and returns their number.
func (q *DeletionQuery) Decide(ctx context.Context, list DeletionLister, by func(context.Context, scheduler.DeletionFilter) (int, error)) (n int, err error) {
	f, exact, err := q.filter()
	if err != nil {
		return 0, err
	}
	origins := []string{f.Host}
	if !exact {
		origins = nil
		err = q.Each(ctx, list, func(s scheduler.StoredDeletion) error {
			if o := originOf(s.URL); !slices.Contains(origins, o) {
				origins = append(origins, o)
			}
			return nil
		})
	}
	for _, f.Host = range origins {
		if err == nil {
			var done int
			if done, err = by(ctx, f); f.Edit != 0 && errors.Is(err, scheduler.ErrNotFound) {
				err = &Declined{Err: fmt.Errorf("edit %d of the rules is unknown: sextant status lists those with pending deletions", f.Edit)}
			}
			n += done
		}
	}
	return n, err
}

// Check returns an error for an invalid query.
func (q *DeletionQuery) Check() error {
	_, _, err := q.filter()
	return err
}

// narrowed reports whether any field other than All and UpTo selects.
func (q *DeletionQuery) narrowed() bool {
	return len(q.URLs) > 0 || q.Host != "" || q.Reason != "" || q.Edit != 0
}

// Values returns the query as parameters of the API, without URLs and All.
func (q *DeletionQuery) Values() url.Values {
	return Query("host", q.Host, "reason", q.Reason, "edit", word(q.Edit), "up_to", word(q.UpTo))
}

// ParseDeletionQuery parses the output of Values.
func ParseDeletionQuery(v url.Values) (q DeletionQuery, err error) {
	q.Host, q.Reason = v.Get("host"), v.Get("reason")
	if written := v.Get("edit"); written != "" {
		if q.Edit, err = strconv.ParseUint(written, 10, 64); err != nil || q.Edit == 0 {
			return q, wrong("edit %q is not the number of an edit: sextant status lists them", written)
		}
	}
	if written := v.Get("up_to"); written != "" {
		if q.UpTo, err = strconv.ParseUint(written, 10, 64); err != nil {
			return q, wrong("up_to %q is not the number of a deletion", written)
		}
	}
	return q, nil
}
