package crawl

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// maxCanonicals bounds a chain of canonicals and redirects that is followed.
const maxCanonicals = 10

// canonical is the URL under which the page wants to be indexed, "" for its own.
// Canonicals outside the space, those that lead back to the page, and those that
// are known to be no document are ignored.
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
	return link.URL.String(), link, nil
}

// chainEnd is what a chain of canonicals and redirects comes to.
type chainEnd uint8

const (
	documentOrOpen chainEnd = iota // an indexed document, or not fetched yet
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
			return documentOrOpen, nil
		}
		if err != nil {
			return 0, err
		}
		next := r.DuplicateOf
		switch {
		case r.Indexed, r.Class == scheduler.Pending, r.Class == scheduler.Temporary:
			return documentOrOpen, nil
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

// reconsider fetches a page again whose canonical came to nothing after it was
// taken for a duplicate: this one, if its canonical leads back to it (both were
// in flight), or the one that named this one, if this is no document.
func (v *visit) reconsider(ctx context.Context, r *scheduler.Result) error {
	if r.DuplicateOf != "" {
		u, err := weburl.Parse(r.DuplicateOf)
		if err != nil {
			return err
		}
		if end, err := v.canonicalEnd(ctx, u, v.lease.Key); err != nil || end != leadsBack {
			return err
		}
		return v.requeue(ctx, v.lease.URL)
	}
	if r.Document != nil || r.Excluded != nil || r.Redirect != nil || v.lease.Record.Settled || v.lease.Record.Referrer == "" {
		return nil
	}
	u, err := weburl.Parse(v.lease.Record.Referrer)
	if err != nil {
		return nil //nolint:nilerr // a referrer that is no URL names no page
	}
	referrer, err := v.store.Lookup(ctx, u.Key())
	if errors.Is(err, scheduler.ErrNotFound) || err == nil && referrer.DuplicateOf != v.lease.URL.String() {
		return nil
	}
	if err != nil {
		return err
	}
	return v.requeue(ctx, u)
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
