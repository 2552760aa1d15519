package crawl

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// maxCanonicals bounds a chain of canonicals and redirects that is followed.
const maxCanonicals = 10

// canonical is the URL under which the page wants to be indexed, "" for its own.
// Canonicals outside the space, those that lead back to the page, and those that
// are known to be no document are ignored.
func (c *Crawl) canonical(ctx context.Context, lease *scheduler.Lease, p extract.Page) (string, scheduler.Link, error) {
	if p.Canonical == "" {
		return "", scheduler.Link{}, nil
	}
	u, err := base(lease.URL, p).Resolve(p.Canonical)
	if err != nil || u.Key() == lease.Key {
		return "", scheduler.Link{}, nil
	}
	link, ok := c.judge.link(u)
	if !ok || !c.judge.decide(u).Index {
		return "", scheduler.Link{}, nil
	}
	end, err := c.canonicalEnd(ctx, u, lease.Key)
	if err != nil || end == noDocument || end == leadsBack {
		return "", scheduler.Link{}, err
	}
	return u.String(), link, nil
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
func (c *Crawl) reconsider(ctx context.Context, lease *scheduler.Lease, r *scheduler.Result) error {
	if r.DuplicateOf != "" {
		u, err := weburl.Parse(r.DuplicateOf)
		if err != nil {
			return err
		}
		if end, err := c.canonicalEnd(ctx, u, lease.Key); err != nil || end != leadsBack {
			return err
		}
		return c.requeue(ctx, lease.URL)
	}
	if r.Document != nil || r.Excluded != nil || r.Redirect != nil || lease.Record.Settled || lease.Record.Referrer == "" {
		return nil
	}
	u, err := weburl.Parse(lease.Record.Referrer)
	if err != nil {
		return nil //nolint:nilerr // a referrer that is no URL names no page
	}
	referrer, err := c.store.Lookup(ctx, u.Key())
	if errors.Is(err, scheduler.ErrNotFound) || err == nil && referrer.DuplicateOf != lease.URL.String() {
		return nil
	}
	if err != nil {
		return err
	}
	return c.requeue(ctx, u)
}

// requeue sends a known URL through the fifos once more.
func (c *Crawl) requeue(ctx context.Context, u weburl.URL) error {
	link, ok := c.judge.link(u)
	if !ok {
		return nil
	}
	_, err := c.frontier.Add(ctx, []scheduler.Link{link}, true)
	return err
}
