package crawl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// ErrNoRoot means that a crawl with --once could fetch none of its roots.
var ErrNoRoot = errors.New("no root could be fetched")

// ErrNothing means that a crawl with --once had nothing to crawl.
var ErrNothing = errors.New("nothing was crawled")

const (
	// rootsLooked is the number of roots that a status examines, rootsNamed the number that an error names.
	rootsLooked = 1000
	rootsNamed  = 3
	// redirectSteps limits the number of stored redirects that are followed.
	redirectSteps = 10
)

// RootStatus is a root of the configuration that cannot be crawled.
type RootStatus struct {
	URL    string     `json:"url"`
	Status int        `json:"status"`           // of the last response, 760 if rules exclude it, 0 without one
	Reason string     `json:"reason,omitempty"` // a scheduler.Reason
	Words  string     `json:"words,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Next   *time.Time `json:"next,omitempty"` // time of the next request, nil if none is due
}

// String returns a line for people.
func (r RootStatus) String() string {
	var b strings.Builder
	b.WriteString(r.URL)
	if r.Words != "" {
		b.WriteString(": " + r.Words)
	}
	if r.Since != nil {
		b.WriteString(", since " + clock.Stamp(*r.Since))
	}
	if r.Next != nil {
		b.WriteString(", retried from " + clock.Stamp(*r.Next) + " on")
	}
	return b.String()
}

// failingRoot judges a root by its record. It returns nil if the root was fetched, or was not requested yet and nothing
// is known to prevent it. pending means that it was not requested.
func failingRoot(ctx context.Context, store scheduler.Reader, r *scheduler.Record) (fails *RootStatus, pending bool, err error) {
	s := &RootStatus{URL: r.URL, Status: r.Status, Reason: r.Reason.String(), Words: r.LastError}
	if !r.ClassAt.IsZero() {
		since := r.ClassAt.UTC()
		s.Since = &since
	}
	if r.State == scheduler.Timed {
		next := r.NextAt.UTC()
		s.Next = &next
	}
	switch r.Class {
	case scheduler.OK:
		return nil, false, nil
	case scheduler.Pending:
		if r.Reason == scheduler.NoReason {
			s = nil
		}
		return s, true, nil
	case scheduler.Permanent, scheduler.Temporary, scheduler.Ignored:
		return s, false, nil
	case scheduler.Redirect:
	}
	u, ok := weburl.FromCanonical(r.RedirectTo)
	for range redirectSteps {
		if !ok {
			return s, false, nil
		}
		t, err := scheduler.Find(ctx, store, u.Key())
		switch {
		case err != nil || t == nil:
			return s, false, err
		case t.Class == scheduler.OK || t.Class == scheduler.Pending:
			return nil, t.Class == scheduler.Pending, nil
		case t.RedirectTo == "":
			s.Words += ": " + t.URL + ": " + t.LastError
			return s, false, nil
		}
		u, ok = weburl.FromCanonical(t.RedirectTo)
	}
	return s, false, nil
}

// storedFailing returns the stored roots that fail.
func storedFailing(ctx context.Context, store scheduler.Reader) (failing []RootStatus, err error) {
	keys, err := storedRoots(ctx, store)
	if err != nil {
		return nil, err
	}
	for _, k := range keys[:min(len(keys), rootsLooked)] {
		r, err := scheduler.Find(ctx, store, k)
		if err != nil {
			return failing, err
		}
		if r == nil || !r.Root {
			continue
		}
		s, _, err := failingRoot(ctx, store, r)
		if err != nil {
			return failing, err
		}
		if s != nil {
			failing = append(failing, *s)
		}
	}
	return failing, nil
}

// refusedRoots returns the roots that the rules in force exclude.
func refusedRoots(p *policy.Policy) (refused []RootStatus) {
	p.RootLinks(func(root weburl.URL, v *policy.Verdict) {
		if len(refused) < rootsLooked {
			refused = append(refused, RootStatus{URL: root.String(), Status: v.Status, Reason: p.Reason(v).String(), Words: p.Detail(v)})
		}
	})
	return refused
}

// roots is the state of a crawl's roots.
type roots struct {
	had     bool         // at least one root
	failed  []RootStatus // the first of those that could not be fetched
	more    int          // that are not named
	others  bool         // at least one failed, and does not merely redirect
	pages   int64        // that the process fetched
	known   uint64       // URLs
	fetched bool         // whether any of these was ever fetched
	sources uint64       // sitemaps, feeds and files that are configured
}

func (r *roots) fails(s RootStatus) {
	r.others = r.others || s.Reason != scheduler.ReasonRedirect.String()
	if len(r.failed) < rootsNamed {
		r.failed = append(r.failed, s)
	} else {
		r.more++
	}
}

func (r *roots) err() error {
	switch {
	case r.had:
		return nil
	case len(r.failed) == 0:
		return r.nothing()
	case r.pages > 0 && !r.others:
		return nil
	}
	var words []string
	for _, s := range r.failed {
		words = append(words, s.URL+": "+s.Words)
	}
	if r.more > 0 {
		words = append(words, fmt.Sprintf("and %d more", r.more))
	}
	return fmt.Errorf("%w: %s", ErrNoRoot, strings.Join(words, "; "))
}

func (r *roots) nothing() error {
	switch {
	case r.fetched && r.known > r.sources:
		return nil
	case r.known > 0 && r.known <= r.sources:
		return fmt.Errorf("%w: no rule accepts the URLs that the sitemaps, feeds and files list; write a <Root>, a rule with <Accept/>, or <Discovery enabled=\"false\"/>", ErrNothing)
	}
	return fmt.Errorf("%w: there is no start URL, and no known page; write <Root url=\"http://...\"/>, or add URLs with sextant add", ErrNothing)
}

// roots returns the state of the roots.
func (c *Crawl) roots(ctx context.Context) (r roots, err error) {
	p := c.policy()
	for _, s := range refusedRoots(p) {
		r.fails(s)
	}
	for _, l := range p.RootLinks(nil) {
		if err := c.addRoot(ctx, &r, l.URL); err != nil || r.had {
			return r, err
		}
	}
	counts, err := c.store.Counts(ctx)
	r.pages, r.known, r.sources = c.meter.Pages.Load(), counts.Known, uint64(len(p.Sources))
	for class, n := range counts.ByClass {
		r.fetched = r.fetched || class != scheduler.Pending && class != scheduler.Ignored && n > 0
	}
	return r, err
}

// addRoot judges a root.
func (c *Crawl) addRoot(ctx context.Context, r *roots, u weburl.URL) error {
	known, err := scheduler.Find(ctx, c.store, u.Key())
	if err != nil {
		return err
	}
	if known == nil {
		r.fails(RootStatus{URL: u.String(), Words: "not known"})
		return nil
	}
	s, pending, err := failingRoot(ctx, c.store, known)
	switch {
	case err != nil:
		return err
	case s != nil:
		r.fails(*s)
	case pending:
		r.fails(RootStatus{URL: u.String(), Words: "not requested yet"})
	default:
		r.had = true
	}
	return nil
}

// RootsFailed returns ErrNoRoot, with reasons, if there are roots and none could be fetched, unless they only redirect
// out of the crawl space and other pages were fetched. It returns ErrNothing if no home page was fetched and no page is
// stored.
func (c *Crawl) RootsFailed(ctx context.Context) error {
	r, err := c.roots(ctx)
	if err != nil {
		return err
	}
	return r.err()
}
