package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// URLs are removed by some goroutines at once, since the store commits them together; the
// command waits for them.

// Removed counts the removed URLs and documents.
type Removed struct {
	URLs      int `json:"urls"`
	Deletions int `json:"deletions"` // orders for the indexer among them
	// Unknown is the number of unknown URLs added to the kill list.
	Unknown int `json:"unknown,omitempty"`
	// Roots are the selected roots of the configuration, which stayed.
	Roots []string `json:"roots,omitempty"`
}

// removalReason is the reason sent to the indexer.
const removalReason = "removed by the operator"

// removers is the number of URLs that are removed concurrently; the store commits them together.
const removers = 64

// Remove forgets stored URLs and deletes their documents. The brake does not count these deletions. A URL in flight is
// removed too: its outcome is dropped. URLs that other pages link to are found again when those are next read; rules
// can exclude them, and s.Forever adds them to the kill list before removing any. Roots of the configuration stay,
// because they would come back: naming one as a URL is an error, otherwise they are reported. If ctx ends, or the store
// fails, the counts are those so far.
func (c *Crawl) Remove(ctx context.Context, s Selection) (Removed, error) {
	defer c.frontier.Busy()()
	c.replacing.Lock() // one at a time adds to the kill list
	p := c.policy()
	selector, err := removes(ctx, p, c.store, s)
	c.replacing.Unlock()
	if err != nil {
		return Removed{}, err
	}
	done, err := selector.remove(ctx, p, c.store, c.copies.Free)
	if !s.Forever {
		return done, err
	}
	// After the removal, so that this edit finds nothing to delete.
	return done, errors.Join(err, c.replace(context.WithoutCancel(ctx), true, func(old *policy.Policy) (*policy.Policy, error) {
		return old.WithKilled(selector.killed)
	}))
}

// RemoveStored is Crawl.Remove for a store that no crawl has open.
func RemoveStored(ctx context.Context, settings policy.Settings, store scheduler.Store, s Selection) (Removed, error) {
	p, err := policy.Stored(ctx, settings, store)
	if err != nil {
		return Removed{}, err
	}
	selector, err := removes(ctx, p, store, s)
	if err != nil {
		return Removed{}, err
	}
	return selector.remove(ctx, p, store, func(context.Context, []weburl.Key) error { return nil }) // the next start finds the copies
}

// removes compiles the selection of a removal. The kill list has the URLs if they go forever.
func removes(ctx context.Context, p *policy.Policy, store scheduler.Reader, s Selection) (*selector, error) {
	selector, err := selects(ctx, p, store, s)
	if err == nil {
		err = refuseRoots(selector.keys, p.RootKeys())
	}
	if err == nil && s.Forever {
		err = selector.kill(ctx, p, store)
	}
	return selector, err
}

// kill adds the URLs to the kill list, except roots, and has exactly these selected from then on.
func (s *selector) kill(ctx context.Context, p *policy.Policy, store scheduler.Reader) error {
	if p.Settings.AddKilled == nil {
		return &SelectionError{fmt.Errorf("the Crawler %q has no kill list: write <Kill exact=\"kill_exact.cfg\"/> in it in CrawlConfig.xml, "+
			"create an empty file of that name beside it, and reload", p.Settings.Name)}
	}
	roots := p.RootKeys()
	var keys []weburl.Key
	urls := s.killed // which are not known
	err := s.each(ctx, store, func(batch []scheduler.KeyedRecord) error {
		for i := range batch {
			keys = append(keys, batch[i].Key)
			if _, is := roots[batch[i].Key]; !is {
				urls = append(urls, batch[i].Record.URL)
			}
		}
		return nil
	})
	if err != nil || len(urls) == 0 {
		return err
	}
	slices.Sort(urls) // for whoever reads the list
	urls = slices.Compact(urls)
	*s = selector{Selection: Selection{URLs: urls}, keys: keys, killed: urls, unknown: len(s.killed)}
	return p.Settings.AddKilled(urls)
}

// remove removes the selected URLs, and calls gone for those that had documents.
func (s *selector) remove(ctx context.Context, p *policy.Policy, store scheduler.Store, gone func(context.Context, []weburl.Key) error) (done Removed, err error) {
	roots := p.RootKeys()
	var urls, deletions atomic.Int64
	err = s.each(ctx, store, func(batch []scheduler.KeyedRecord) error {
		var workers errgroup.Group
		workers.SetLimit(removers)
		var documents []weburl.Key
		for i := range batch {
			one := &batch[i]
			if root, is := roots[one.Key]; is {
				done.Roots = append(done.Roots, root)
				continue
			}
			if one.Record.Indexed {
				documents = append(documents, one.Key)
			}
			workers.Go(func() error {
				order := removal(p, &one.Record)
				err := store.Forget(context.WithoutCancel(ctx), one.Key, order)
				if errors.Is(err, scheduler.ErrNotFound) {
					return nil
				}
				if err == nil {
					urls.Add(1)
				}
				if err == nil && order != nil {
					deletions.Add(1)
				}
				return err
			})
		}
		if err := workers.Wait(); err != nil {
			return err
		}
		return gone(ctx, documents)
	})
	done.URLs, done.Deletions, done.Unknown = int(urls.Load()), int(deletions.Load()), s.unknown
	return done, err
}

// refuseRoots returns an error if a root was named.
func refuseRoots(keys []weburl.Key, roots map[weburl.Key]string) error {
	var refused []string
	for _, k := range keys {
		if root, is := roots[k]; is {
			refused = append(refused, root)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return &SelectionError{fmt.Errorf("a root of the configuration would come back: %s; remove it from CrawlConfig.xml, or exclude it with a rule, then remove it here",
		named(refused))}
}

// removal returns the deletion of a URL's document, or nil if it cannot have one. A pending URL may be in flight, and
// its document about to be stored.
func removal(p *policy.Policy, r *scheduler.Record) *scheduler.Order {
	source := r.PushedSource
	switch {
	case r.Indexed:
	case r.State == scheduler.Waiting:
		if u, ok := weburl.FromCanonical(r.URL); ok {
			source = p.Engine.Decide(u).Source
		}
	default:
		return nil
	}
	return &scheduler.Order{Op: scheduler.OrderDelete, Source: source, Reason: scheduler.ReasonRemoved, Body: policy.DeletionBody(r.URL, removalReason, time.Now())}
}

// SelectedCount is the number of stored URLs that a Selection selects. The names are a contract.
type SelectedCount struct {
	URLs      int `json:"urls"`
	Documents int `json:"documents"` // those of them that have a document in the index
	// Roots are the selected roots: a refresh fetches them, but a removal keeps them.
	Roots int `json:"roots"`
}

// CountSelected counts the URLs that Remove would remove with the same selection, without the roots of the
// configuration.
func CountSelected(ctx context.Context, settings policy.Settings, store scheduler.Reader, s Selection) (n SelectedCount, err error) {
	p, err := policy.Stored(ctx, settings, store)
	if err != nil {
		return n, err
	}
	selector, err := selects(ctx, p, store, s)
	if err != nil {
		return n, err
	}
	roots := p.RootKeys()
	err = selector.each(ctx, store, func(batch []scheduler.KeyedRecord) error {
		for i := range batch {
			if _, is := roots[batch[i].Key]; is {
				n.Roots++
				continue
			}
			n.URLs++
			if batch[i].Record.Indexed {
				n.Documents++
			}
		}
		return nil
	})
	return n, err
}
