package report

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Broken is a URL whose last visits failed, and pages that link to it.
// The names of the JSON are a contract.
type Broken struct {
	URL    string     `json:"url"`
	Error  string     `json:"error"` // one of ErrorClasses
	Status int        `json:"status"`
	Words  string     `json:"words"`
	Since  time.Time  `json:"since"`             // the first error that is known of
	LastAt *time.Time `json:"last_at,omitempty"` // the last visit
	Visits int        `json:"visits"`            // that gave an error, since it was last good
	// Forgotten is set if the URL is no longer known: it is visited again once a page that
	// links to it changes.
	Forgotten bool `json:"forgotten,omitempty"`
	// Pages is the number of pages that link to it, LinkedFrom lists them. A URL with more than linkedFromMax pages occurs
	// several times, each time with a Part of them.
	Pages      int          `json:"pages"`
	Part       int          `json:"part,omitempty"`
	LinkedFrom []LinkedFrom `json:"linked_from"`
}

// LinkedFrom is a page that links to a URL.
type LinkedFrom struct {
	Page string `json:"page"`
	// Redirect is the URL in the page's link, if that leads to the other by a redirect.
	Redirect string `json:"redirect,omitempty"`
}

const linkedFromMax = 10_000

// brokenPage is a row: a broken URL and one of the pages.
type brokenPage struct {
	*Broken
	from LinkedFrom
}

var brokenColumns = []column[brokenPage]{
	{Column{Name: "url", Title: "URL", Shows: Link, Key: true}, func(b *brokenPage) any { return b.URL }},
	{Column{Name: "error", Shows: Word}, func(b *brokenPage) any { return b.Error }},
	{Column{Name: "status", Shows: Code}, func(b *brokenPage) any { return b.Status }},
	{Column{Name: "words", Title: "Message"}, func(b *brokenPage) any { return b.Words }},
	{Column{Name: "since", Title: "Since", Shows: Time}, func(b *brokenPage) any { return b.Since }},
	{Column{Name: "last_at", Title: "Last visit", Shows: Time}, func(b *brokenPage) any { return orZero(b.LastAt) }},
	{Column{Name: "visits", Title: "Visits", Shows: Count}, func(b *brokenPage) any { return b.Visits }},
	{Column{Name: "forgotten", Shows: Flag}, func(b *brokenPage) any { return b.Forgotten }},
	{Column{Name: "pages", Title: "Pages", Shows: Count}, func(b *brokenPage) any { return b.Pages }},
	{Column{Name: "page", Shows: Link}, func(b *brokenPage) any { return b.from.Page }},
	{Column{Name: "redirect", Shows: Link}, func(b *brokenPage) any { return b.from.Redirect }},
}

// Tables returns a table with a row for each page, or one row without a page if none is known.
func (b Broken) Tables() []Table {
	rows := make([]brokenPage, 0, max(1, len(b.LinkedFrom)))
	for _, l := range b.LinkedFrom {
		rows = append(rows, brokenPage{&b, l})
	}
	if len(rows) == 0 {
		rows = append(rows, brokenPage{Broken: &b})
	}
	return []Table{tableOf("", brokenColumns, rows)}
}

// isBroken reports whether a URL's last visit failed; for a redirect, after follow.
func isBroken(r *scheduler.Record) bool {
	return r.Class == scheduler.Temporary || r.Class == scheduler.Permanent || r.Class == scheduler.Redirect && r.Reason == scheduler.ReasonBadRedirect
}

// EachBroken calls fn for each broken URL that o selects, those that are known first, each in order of keys. It reads
// all stored URLs, and follows redirects; then, for each brokenBatch broken URLs, it reads them again for the redirects
// that lead there, and once the links of all pages. Where these are more than pairsMax, a batch takes several such
// passes. Of a batch and of the links to it the keys are in memory.
func EachBroken(ctx context.Context, store Store, o Options, fn func(Broken) error) error {
	c := newChains(store)
	x := exchange{store: store, batch: brokenBatch, pairs: pairsMax, emit: func(t *linked, pages linkedPages) error {
		return emitBroken(ctx, store, c, &o, t, pages, fn)
	}}
	err := eachRecord(ctx, store, func(r *scheduler.Record) bool {
		return (isBroken(r) || redirects(r)) && isOn(o.Host, r.Origin, r.URL) && !errorSince(r).Before(o.Since)
	}, func(k weburl.Key, r *scheduler.Record) error {
		if err := c.follow(ctx, r); err != nil || !isBroken(r) {
			return err
		}
		return x.add(ctx, linked{key: k})
	})
	if err != nil {
		return err
	}
	err = eachGone(ctx, store, o.Host, func(g *scheduler.Gone) bool { return !g.Since.Before(o.Since) }, func(g *goneURL) error {
		return x.add(ctx, linked{key: g.key, gone: &g.Gone})
	})
	if err != nil {
		return err
	}
	return x.flush(ctx)
}

// emitBroken passes one broken URL on. A forgotten one counts only while a page links to it.
func emitBroken(ctx context.Context, store Store, c *chains, o *Options, t *linked, pages linkedPages, fn func(Broken) error) error {
	var b Broken
	if t.gone != nil {
		if len(pages) == 0 {
			return nil
		}
		b = brokenGone(t.gone)
	} else {
		r, err := store.Lookup(ctx, t.key)
		if err == nil {
			err = c.follow(ctx, &r)
		}
		if errors.Is(err, scheduler.ErrNotFound) || err == nil && !isBroken(&r) {
			return nil // meanwhile it is not
		}
		if err != nil {
			return err
		}
		left, err := leftOf(ctx, store, t.key)
		if err != nil {
			return err
		}
		b = brokenRecord(&r, left)
		if pages, err = withReferrer(ctx, store, r.Referrer, pages); err != nil {
			return err
		}
	}
	return b.parts(ctx, store, o.Pages, pages, fn)
}

// parts lists the pages, at most limit of them unless that is 0, and calls fn for each part.
func (b *Broken) parts(ctx context.Context, store Store, limit int, pages linkedPages, fn func(Broken) error) error {
	b.Pages = len(pages)
	for first := 0; first == 0 || first < len(pages); first += linkedFromMax {
		b.LinkedFrom = []LinkedFrom{}
		for _, p := range pages[first:min(len(pages), first+linkedFromMax)] {
			from, ok, err := p.name(ctx, store)
			if err != nil {
				return err
			}
			if ok {
				b.LinkedFrom = append(b.LinkedFrom, from)
			}
		}
		slices.SortFunc(b.LinkedFrom, func(x, y LinkedFrom) int {
			return cmp.Or(cmp.Compare(x.Page, y.Page), cmp.Compare(x.Redirect, y.Redirect))
		})
		if len(pages) > linkedFromMax {
			b.Part = first/linkedFromMax + 1
		} else if b.Pages = len(b.LinkedFrom); b.Forgotten && b.Pages == 0 {
			return nil
		}
		if limit > 0 {
			b.LinkedFrom = b.LinkedFrom[:min(len(b.LinkedFrom), limit)]
			b.Part = 0
			return fn(*b)
		}
		if err := fn(*b); err != nil {
			return err
		}
	}
	return nil
}

// leftOf returns the trace of a URL that was forgotten before, or zero.
func leftOf(ctx context.Context, store Store, k weburl.Key) (left scheduler.Gone, err error) {
	err = store.Gone(ctx, k, func(found weburl.Key, g scheduler.Gone) error {
		if found == k {
			left = g
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return left, err
}

func brokenRecord(r *scheduler.Record, left scheduler.Gone) Broken {
	b := Broken{
		URL: r.URL, Error: failureClass(r.Reason), Status: r.Status, Words: r.LastError,
		Since: errorSince(r), LastAt: timeOf(r.FetchedAt.Truncate(time.Second)), Visits: max(r.Errors, int(r.Misses), 1),
	}
	if left.At.After(r.CheckedAt) { // it was not good since
		b.Since, b.Visits = left.Since.UTC(), b.Visits+left.Visits
	}
	b.Since = b.Since.Truncate(time.Second)
	return b
}

func brokenGone(g *scheduler.Gone) Broken {
	return Broken{
		URL: g.URL, Error: failureClass(g.Reason), Status: g.Status, Words: g.Words,
		Since: g.Since.UTC().Truncate(time.Second), LastAt: timeOf(g.At), Visits: g.Visits, Forgotten: true,
	}
}

// withReferrer adds the page on which the URL was first found, if not all links of that page are stored: a sitemap, or
// a page with too many links. For other pages it is known whether they still link to it.
func withReferrer(ctx context.Context, store Store, referrer string, pages linkedPages) (linkedPages, error) {
	u, ok := weburl.FromCanonical(referrer)
	if !ok || slices.ContainsFunc(pages, func(p linkedPage) bool { return p.page == u.Key() }) {
		return pages, nil
	}
	r, err := store.Lookup(ctx, u.Key())
	if errors.Is(err, scheduler.ErrNotFound) {
		return pages, nil
	}
	if err != nil || !reads(&r) {
		return pages, err
	}
	if r.Linked {
		if cut, err := linksCut(ctx, store, u.Key()); err != nil || !cut {
			return pages, err
		}
	}
	return append(pages, linkedPage{page: u.Key()}), nil
}

// linksCut reports whether the page has more links than are stored of one.
func linksCut(ctx context.Context, store Store, page weburl.Key) (cut bool, err error) {
	err = store.Outlinks(ctx, page, func(k weburl.Key, links scheduler.LinkPrints) error {
		cut = k == page && links.Len() >= scheduler.MaxOutlinks
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return cut, err
}

// reads reports whether the stored links of a page are still valid.
func reads(r *scheduler.Record) bool {
	return r.Class == scheduler.OK || r.Class == scheduler.Temporary
}

// EachLink calls fn for each page that links to u, whether u is known or not.
func EachLink(ctx context.Context, store Store, u weburl.URL, fn func(LinkedFrom) error) error {
	x := exchange{store: store, batch: 1, pairs: pairsMax, emit: func(t *linked, pages linkedPages) error {
		r, err := store.Lookup(ctx, t.key)
		if err != nil && !errors.Is(err, scheduler.ErrNotFound) {
			return err
		}
		if pages, err = withReferrer(ctx, store, r.Referrer, pages); err != nil {
			return err
		}
		for _, p := range pages {
			from, ok, err := p.name(ctx, store)
			if err == nil && ok {
				err = fn(from)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}
	if err := x.add(ctx, linked{key: u.Key()}); err != nil {
		return err
	}
	return x.flush(ctx)
}
