package visit

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// All workers share namers, the pages that wait for what becomes of their canonical; mu guards
// them, and is not held while the store is read.

// maxCanonicals bounds a chain of canonicals and redirects that is followed.
const maxCanonicals = 10

// canonical returns the page's canonical URL, "" for its own. It ignores canonicals that are out of scope, that lead
// back to the page, that are known not to be documents, or that a trap refuses.
func (v *visit) canonical(ctx context.Context, p extract.Page) (string, scheduler.Link, error) {
	if p.Canonical == "" {
		return "", scheduler.Link{}, nil
	}
	u, err := BaseOf(v.lease.URL, p).Resolve(p.Canonical)
	if err != nil {
		return "", scheduler.Link{}, nil //nolint:nilerr // an invalid URL is no canonical
	}
	link, verdict, ok := v.policy.Link(crawlspace.Link{URL: u, Host: v.spelling(p.Canonical, u), Depth: int(v.lease.Record.Depth) + 1})
	if !ok || link.URL.Key() == v.lease.Key {
		return "", scheduler.Link{}, nil
	}
	if indexed, _, _ := v.policy.Indexes(&verdict); !indexed {
		return "", scheduler.Link{}, nil
	}
	end, _, err := v.canonicalEnd(ctx, link.URL, v.lease.Key)
	if err != nil || end == noDocument || end == leadsBack {
		return "", scheduler.Link{}, err
	}
	if _, ok, err := v.admits(ctx, v.rules(), link.URL); !ok {
		return "", scheduler.Link{}, err
	}
	return link.URL.String(), link, nil
}

// chainEnd is the end of a chain of canonicals and redirects.
type chainEnd uint8

const (
	isDocument chainEnd = iota
	isOpen              // not known yet: it was not fetched, or not with success
	noDocument
	leadsBack // to the page that it began at
)

// canonicalEnd follows the stored canonical URLs from u on, as far as the URL
// of the second result.
func (v *visit) canonicalEnd(ctx context.Context, u weburl.URL, page weburl.Key) (chainEnd, weburl.Key, error) {
	for range maxCanonicals {
		if u.Key() == page {
			return leadsBack, page, nil
		}
		r, err := v.store.Lookup(ctx, u.Key())
		if errors.Is(err, scheduler.ErrNotFound) {
			return isOpen, u.Key(), nil
		}
		if err != nil {
			return 0, u.Key(), err
		}
		next := r.DuplicateOf
		switch {
		case r.Indexed:
			return isDocument, u.Key(), nil
		case r.Class == scheduler.Pending, r.Class == scheduler.Temporary:
			return isOpen, u.Key(), nil
		case next != "":
		case r.RedirectTo != "":
			next = r.RedirectTo
		default:
			return noDocument, u.Key(), nil
		}
		if u, err = weburl.Parse(next); err != nil {
			return noDocument, u.Key(), nil //nolint:nilerr // an invalid URL is no document
		}
	}
	return noDocument, u.Key(), nil
}

// reconsider returns a function that refetches duplicates whose canonical turned out not to be a document: this page,
// if its canonical leads back to it or has failed in the meantime, or the pages that name this one, if it did not
// become a document. It returns nil if there is nothing to check.
func (v *visit) reconsider(r *scheduler.Result) func(context.Context) error {
	if r.DuplicateOf != "" {
		return func(ctx context.Context) error {
			u, err := weburl.Parse(r.DuplicateOf)
			if err != nil {
				return err
			}
			return v.await(ctx, v.lease.URL, u)
		}
	}
	pages := v.visitor.duplicates.take(v.lease.Key)
	if r.Document != nil {
		return nil
	}
	// It may have been named before the process started.
	if r, named := &v.lease.Record, r.Redirect == nil; named && !r.Settled && r.Referrer != "" && !slices.Contains(pages, r.Referrer) {
		pages = append(pages, r.Referrer)
	}
	switch {
	case len(pages) == 0:
		return nil
	case r.Redirect != nil:
		return func(ctx context.Context) error {
			return v.eachPage(pages, func(page weburl.URL) error { return v.await(ctx, page, v.lease.URL) })
		}
	}
	return func(ctx context.Context) error { return v.noCanonical(ctx, pages) }
}

// noCanonical refetches the pages that named this one as their canonical, if this one leads to no document.
func (v *visit) noCanonical(ctx context.Context, pages []string) error {
	end, _, err := v.canonicalEnd(ctx, v.lease.URL, weburl.Key{})
	if err == nil && end == noDocument {
		return v.eachPage(pages, func(page weburl.URL) error { return v.again(ctx, page) })
	}
	for _, page := range pages {
		v.visitor.duplicates.add(v.lease.Key, page)
	}
	return err
}

// eachPage calls fn for pages that named this one.
func (*visit) eachPage(pages []string, fn func(weburl.URL) error) error {
	for _, page := range pages {
		u, err := weburl.Parse(page)
		if err != nil {
			continue // a referrer that is no URL names no page
		}
		if err := fn(u); err != nil {
			return err
		}
	}
	return nil
}

// await remembers a page that is a duplicate of u until the end of the chain from u is known, and refetches it if that
// is not a document.
func (v *visit) await(ctx context.Context, page, u weburl.URL) error {
	for at := u.Key(); ; {
		// First, so that either the outcome of the awaited page is seen here, or its
		// visit sees this page.
		kept := v.visitor.duplicates.add(at, page.String())
		end, last, err := v.canonicalEnd(ctx, u, page.Key())
		if err != nil || end == isOpen && last == at {
			return err
		}
		switch removed := v.visitor.duplicates.remove(at, page.String()); {
		case kept && !removed:
			return nil // that visit sees to it
		case end == isDocument, end == isOpen && !kept:
			return nil
		case end != isOpen:
			return v.visitor.Requeue(ctx, page)
		}
		at = last
	}
}

// again refetches a page that is no longer the duplicate of a document, unless it is already pending or in flight: its
// visit then notices the change.
func (v *visit) again(ctx context.Context, page weburl.URL) error {
	r, err := v.store.Lookup(ctx, page.Key())
	if errors.Is(err, scheduler.ErrNotFound) || err == nil && (r.DuplicateOf == "" || r.State == scheduler.Waiting) {
		return nil
	}
	if err != nil {
		return err
	}
	canonical, err := weburl.Parse(r.DuplicateOf)
	if err != nil {
		return nil //nolint:nilerr // an invalid URL is no canonical
	}
	if end, _, err := v.canonicalEnd(ctx, canonical, page.Key()); err != nil || end != noDocument {
		return err
	}
	return v.visitor.Requeue(ctx, page)
}

// maxPendingDuplicates limits the number of pages that are remembered; others wait for their refresh if their canonical
// fails, unless they led to it.
const maxPendingDuplicates = 100_000

// pendingDuplicates are the pages that were taken for duplicates of a URL when it was not
// known yet whether it becomes a document.
type pendingDuplicates struct {
	mu    sync.Mutex
	pages map[weburl.Key][]string // by the URL that they name
	n     int
}

// add reports whether the page is remembered.
func (n *pendingDuplicates) add(canonical weburl.Key, page string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Contains(n.pages[canonical], page) {
		return true
	}
	if n.n >= maxPendingDuplicates {
		return false
	}
	if n.pages == nil {
		n.pages = map[weburl.Key][]string{}
	}
	n.pages[canonical] = append(n.pages[canonical], page)
	n.n++
	return true
}

// take forgets and returns the pages that name a URL.
func (n *pendingDuplicates) take(canonical weburl.Key) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	pages := n.pages[canonical]
	delete(n.pages, canonical)
	n.n -= len(pages)
	return pages
}

// remove removes a page, and reports whether it was present.
func (n *pendingDuplicates) remove(canonical weburl.Key, page string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	pages := n.pages[canonical]
	i := slices.Index(pages, page)
	if i < 0 {
		return false
	}
	n.n--
	if pages = slices.Delete(pages, i, i+1); len(pages) == 0 {
		delete(n.pages, canonical)
		return true
	}
	n.pages[canonical] = pages
	return true
}

// Requeue puts a known URL into a fifo again.
func (r *Visitor) Requeue(ctx context.Context, u weburl.URL) error {
	link, _, ok := r.sites.InForce().Policy.Link(crawlspace.Link{URL: u})
	if !ok {
		return nil
	}
	_, err := r.frontier.Add(ctx, []scheduler.Link{link}, true)
	return err
}

// Awaiting returns the number of pages whose canonical URL has not been visited yet.
func (r *Visitor) Awaiting() int {
	r.duplicates.mu.Lock()
	defer r.duplicates.mu.Unlock()
	return r.duplicates.n
}
