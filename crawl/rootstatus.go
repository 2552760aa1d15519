package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// ErrNoRoot says that a crawl that was to run once could fetch none of its roots.
var ErrNoRoot = errors.New("no root could be fetched")

// ErrNothing says that a crawl that was to run once had nothing to crawl.
var ErrNothing = errors.New("nothing was crawled")

const (
	// rootsLooked is how many roots a status looks at, and rootsNamed how many an error names.
	rootsLooked = 1000
	rootsNamed  = 3
	// redirectSteps bounds how far redirects are followed through the store.
	redirectSteps = 10
)

// RootStatus is a root of the configuration that cannot be crawled.
type RootStatus struct {
	URL    string     `json:"url"`
	Status int        `json:"status"`           // of the last answer, 760 where rules exclude it, 0 if there was none
	Reason string     `json:"reason,omitempty"` // the word of a scheduler.Reason
	Words  string     `json:"words,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Next   *time.Time `json:"next,omitempty"` // when it is asked for again, nil if nothing is waited for
}

// String is a line for a person.
func (r RootStatus) String() string {
	var b strings.Builder
	b.WriteString(r.URL)
	if r.Words != "" {
		b.WriteString(": " + r.Words)
	}
	if r.Since != nil {
		b.WriteString(", since " + r.Since.Local().Format(time.DateTime))
	}
	if r.Next != nil {
		b.WriteString(", tried again from " + r.Next.Local().Format(time.DateTime) + " on")
	}
	return b.String()
}

// failingRoot judges a root by its record; nil if it was had, or was not asked for yet and
// nothing is known that keeps it from being. pending says that it was not asked for.
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

// failingHere are the roots of the partitions that are here, as far as they fail.
func (c *Crawl) failingHere(ctx context.Context) (failing []RootStatus, err error) {
	for n := range c.partitions.Number {
		some, err := storedFailing(ctx, c.store, rootsOf(n))
		if err != nil && !errors.Is(err, scheduler.ErrElsewhere) {
			return failing, err
		}
		failing = append(failing, some...)
	}
	return failing, nil
}

// storedFailing are the roots that a store remembers under a name, as far as they fail.
func storedFailing(ctx context.Context, store scheduler.Reader, name string) (failing []RootStatus, err error) {
	keys, err := storedRoots(ctx, store, name)
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

// refusedRoots are the roots that the rules in force exclude.
func refusedRoots(p *policy.Policy) (refused []RootStatus) {
	p.RootLinks(func(root weburl.URL, v *policy.Verdict) {
		if len(refused) < rootsLooked {
			refused = append(refused, RootStatus{URL: root.String(), Status: v.Status, Reason: p.Reason(v).String(), Words: p.Detail(v)})
		}
	})
	return refused
}

// Roots are how a process found the roots of its part of a crawl.
type Roots struct {
	Had     bool         `json:"had,omitempty"`     // one, at least
	Failed  []RootStatus `json:"failed,omitempty"`  // the first of those that could not be fetched
	More    int          `json:"more,omitempty"`    // that are not named
	Others  bool         `json:"others,omitempty"`  // one failed, at least, and does not just redirect
	Pages   int64        `json:"pages,omitempty"`   // that the process fetched
	Known   uint64       `json:"known,omitempty"`   // URLs
	Fetched bool         `json:"fetched,omitempty"` // one of these, at least, ever
	Sources uint64       `json:"sources,omitempty"` // sitemaps, feeds and files that are configured
}

// Add adds those of another process's part.
func (r *Roots) Add(o Roots) {
	r.Had, r.Others, r.Fetched = r.Had || o.Had, r.Others || o.Others, r.Fetched || o.Fetched
	r.Failed = append(slices.Clone(r.Failed), o.Failed...)
	r.More += o.More
	r.cut()
	r.Pages += o.Pages
	r.Known += o.Known
	r.Sources = max(r.Sources, o.Sources)
}

func (r *Roots) fails(s RootStatus) {
	r.Failed = append(r.Failed, s)
	r.Others = r.Others || s.Reason != scheduler.ReasonRedirect.String()
	r.cut()
}

func (r *Roots) cut() {
	if more := len(r.Failed) - rootsNamed; more > 0 {
		r.Failed, r.More = r.Failed[:rootsNamed], r.More+more
	}
}

// Err is ErrNoRoot, with why, if there are roots and none of them could be fetched; but not if they only redirect out of the crawl space
// and other pages were fetched. It is ErrNothing if there are none, and no page is stored.
func (r *Roots) Err() error {
	switch {
	case r.Had:
		return nil
	case len(r.Failed) == 0:
		return r.nothing()
	case r.Pages > 0 && !r.Others:
		return nil
	}
	var words []string
	for _, s := range r.Failed {
		words = append(words, s.URL+": "+s.Words)
	}
	if r.More > 0 {
		words = append(words, fmt.Sprintf("and %d more", r.More))
	}
	return fmt.Errorf("%w: %s", ErrNoRoot, strings.Join(words, "; "))
}

func (r *Roots) nothing() error {
	switch {
	case r.Fetched && r.Known > r.Sources:
		return nil
	case r.Known > 0 && r.Known <= r.Sources:
		return fmt.Errorf("%w: nothing that the sitemaps, feeds and files list is accepted by a rule; write a <Root>, a rule with <Accept/>, or <Discovery enabled=\"false\"/>", ErrNothing)
	}
	return fmt.Errorf("%w: there is no start URL, and no page is known; write <Root url=\"http://...\"/>, or give the crawl URLs by sextant add", ErrNothing)
}

// Roots says how the roots were found that are here.
func (c *Crawl) Roots(ctx context.Context) (r Roots, err error) {
	p := c.policy()
	for _, s := range refusedRoots(p) {
		if u, err := weburl.Parse(s.URL); c.partitions == nil || err == nil && c.partitions.Store.Owns(u) {
			r.fails(s)
		}
	}
	for _, l := range c.here(p.RootLinks(nil)) {
		if err := c.addRoot(ctx, &r, l.URL); err != nil || r.Had {
			return r, err
		}
	}
	counts, err := c.store.Counts(ctx)
	r.Pages, r.Known, r.Sources = c.meter.Pages.Load(), counts.Known, uint64(len(p.Sources))
	for class, n := range counts.ByClass {
		r.Fetched = r.Fetched || class != scheduler.Pending && class != scheduler.Ignored && n > 0
	}
	return r, err
}

// addRoot judges a root.
func (c *Crawl) addRoot(ctx context.Context, r *Roots, u weburl.URL) error {
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
	case s != nil && c.leadsAway(known):
		s.Reason = scheduler.ReasonRedirect.String() // whether it was had the owner of what it leads to knows
		r.fails(*s)
	case s != nil:
		r.fails(*s)
	case pending:
		r.fails(RootStatus{URL: u.String(), Words: "not asked for yet"})
	default:
		r.Had = true
	}
	return nil
}

// leadsAway reports whether a URL redirects to a host that is not here.
func (c *Crawl) leadsAway(r *scheduler.Record) bool {
	u, ok := weburl.FromCanonical(r.RedirectTo)
	return ok && c.partitions != nil && !c.partitions.Store.Owns(u)
}

// RootsFailed is Roots.Err of a crawl that is all here.
func (c *Crawl) RootsFailed(ctx context.Context) error {
	r, err := c.Roots(ctx)
	if err != nil {
		return err
	}
	return r.Err()
}
