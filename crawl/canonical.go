package crawl

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

// maxCanonicals bounds a chain of canonicals and redirects that is followed.
const maxCanonicals = 10

// canonical is the URL under which the page wants to be indexed, "" for its own.
// Canonicals outside the space, those that lead back to the page, and those that
// are known to be no document, are ignored, as are traps.
func (v *visit) canonical(ctx context.Context, p extract.Page) (string, scheduler.Link, error) {
	if p.Canonical == "" {
		return "", scheduler.Link{}, nil
	}
	u, err := base(v.lease.URL, p).Resolve(p.Canonical)
	if err != nil {
		return "", scheduler.Link{}, nil //nolint:nilerr // what is no URL is no canonical
	}
	link, verdict, ok := v.link(crawlspace.Link{URL: u, Host: v.spelling(p.Canonical, u), Depth: int(v.lease.Record.Depth) + 1})
	if !ok || link.URL.Key() == v.lease.Key {
		return "", scheduler.Link{}, nil
	}
	if indexed, _ := v.indexes(&verdict); !indexed {
		return "", scheduler.Link{}, nil
	}
	end, err := v.canonicalEnd(ctx, link.URL, v.lease.Key)
	if err != nil || end == noDocument || end == leadsBack {
		return "", scheduler.Link{}, err
	}
	if _, ok, err := v.admits(ctx, v.policy, link.URL); !ok {
		return "", scheduler.Link{}, err
	}
	return link.URL.String(), link, nil
}

// chainEnd is what a chain of canonicals and redirects comes to.
type chainEnd uint8

const (
	isDocument chainEnd = iota
	isOpen              // not known yet: it was not fetched, or not with success
	noDocument
	leadsBack // to the page that it began at
)

// canonicalEnd follows what is stored of u and of what it stands for.
func (c *Crawl) canonicalEnd(ctx context.Context, u weburl.URL, page weburl.Key) (chainEnd, error) {
	for range maxCanonicals {
		if u.Key() == page {
			return leadsBack, nil
		}
		r, err := c.store.Lookup(ctx, u.Key())
		if errors.Is(err, scheduler.ErrNotFound) {
			return isOpen, nil
		}
		if err != nil {
			return 0, err
		}
		next := r.DuplicateOf
		switch {
		case r.Indexed:
			return isDocument, nil
		case r.Class == scheduler.Pending, r.Class == scheduler.Temporary:
			return isOpen, nil
		case next != "":
		case r.RedirectTo != "":
			next = r.RedirectTo
		default:
			return noDocument, nil
		}
		if u, err = weburl.Parse(next); err != nil {
			return noDocument, nil //nolint:nilerr // what is no URL is no document
		}
	}
	return noDocument, nil
}

// reconsider fetches pages again whose canonical came to nothing after they were
// taken for duplicates: this one, if its canonical leads back to it or has come to
// nothing meanwhile, or those that named this one, if this is no document.
func (v *visit) reconsider(ctx context.Context, r *scheduler.Result) error {
	switch {
	case r.DuplicateOf != "":
		return v.reconsiderItself(ctx, r.DuplicateOf)
	case r.Redirect != nil:
		v.namers.move(v.lease.Key, r.Redirect.URL.Key())
		return nil
	case r.Document != nil:
		v.namers.take(v.lease.Key)
		return nil
	}
	pages := v.namers.take(v.lease.Key)
	if !v.lease.Record.Settled && v.lease.Record.Referrer != "" {
		pages = append(pages, v.lease.Record.Referrer) // it may have been named before the process started
	}
	if len(pages) == 0 {
		return nil
	}
	end, err := v.canonicalEnd(ctx, v.lease.URL, weburl.Key{})
	if err == nil && end == noDocument {
		return v.reconsiderAll(ctx, pages)
	}
	for _, page := range pages {
		v.namers.add(v.lease.Key, page)
	}
	return err
}

func (v *visit) reconsiderItself(ctx context.Context, canonical string) error {
	u, err := weburl.Parse(canonical)
	if err != nil {
		return err
	}
	// First, so that either the canonical's outcome is seen here, or it sees this page.
	v.namers.add(u.Key(), v.lease.URL.String())
	end, err := v.canonicalEnd(ctx, u, v.lease.Key)
	if err != nil || end == isOpen {
		return err
	}
	v.namers.remove(u.Key(), v.lease.URL.String())
	if end == isDocument {
		return nil
	}
	return v.requeue(ctx, v.lease.URL)
}

// reconsiderAll fetches those pages again that are duplicates of no document.
func (v *visit) reconsiderAll(ctx context.Context, pages []string) error {
	for _, page := range pages {
		u, err := weburl.Parse(page)
		if err != nil {
			continue // a referrer that is no URL names no page
		}
		r, err := v.store.Lookup(ctx, u.Key())
		if errors.Is(err, scheduler.ErrNotFound) || err == nil && r.DuplicateOf == "" {
			continue
		}
		if err != nil {
			return err
		}
		canonical, err := weburl.Parse(r.DuplicateOf)
		if err != nil {
			continue
		}
		if end, err := v.canonicalEnd(ctx, canonical, u.Key()); err != nil {
			return err
		} else if end != noDocument {
			continue
		}
		if err := v.requeue(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// namersKept bounds how many pages are remembered; others wait for their refresh
// when their canonical comes to nothing, unless they are the one that led to it.
const namersKept = 100_000

// namers are the pages that were taken for duplicates of a URL of which it is not
// known yet whether it becomes a document.
type namers struct {
	mu    sync.Mutex
	pages map[weburl.Key][]string // by the URL that they name
	n     int
}

func (n *namers) add(canonical weburl.Key, page string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.n >= namersKept || slices.Contains(n.pages[canonical], page) {
		return
	}
	if n.pages == nil {
		n.pages = map[weburl.Key][]string{}
	}
	n.pages[canonical] = append(n.pages[canonical], page)
	n.n++
}

// take forgets and returns the pages that name a URL.
func (n *namers) take(canonical weburl.Key) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	pages := n.pages[canonical]
	delete(n.pages, canonical)
	n.n -= len(pages)
	return pages
}

func (n *namers) remove(canonical weburl.Key, page string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	pages := n.pages[canonical]
	i := slices.Index(pages, page)
	if i < 0 {
		return
	}
	n.n--
	if pages = slices.Delete(pages, i, i+1); len(pages) == 0 {
		delete(n.pages, canonical)
		return
	}
	n.pages[canonical] = pages
}

// move lets another URL stand for one that redirects to it.
func (n *namers) move(from, to weburl.Key) {
	for _, page := range n.take(from) {
		n.add(to, page)
	}
}

// requeue sends a known URL through the fifos once more.
func (c *Crawl) requeue(ctx context.Context, u weburl.URL) error {
	link, _, ok := c.judge.current.Load().link(crawlspace.Link{URL: u})
	if !ok {
		return nil
	}
	_, err := c.frontier.Add(ctx, []scheduler.Link{link}, true)
	return err
}
