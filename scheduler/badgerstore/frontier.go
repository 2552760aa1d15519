package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Add implements scheduler.Store. More links than one transaction holds may be
// stored in part if the process dies.
func (s *Store) Add(ctx context.Context, links []scheduler.Link, requeue bool) ([]scheduler.Place, int, error) {
	var ps places
	var n int
	keys := keysOf(links)
	err := s.do(ctx, &write{links: keys, apply: func(g *group) (err error) {
		n, err = g.eachOf(keys, func(i int, k weburl.Key) (bool, error) { return g.addLink(k, &links[i], requeue, &ps) })
		return err
	}})
	if err != nil {
		return nil, 0, err
	}
	return ps.list, n, nil
}

// eachOf changes URLs one after the other, each of which may be stored without
// those behind it, and counts those that change says it changed.
func (g *group) eachOf(keys []weburl.Key, change func(i int, k weburl.Key) (bool, error)) (n int, err error) {
	for i, k := range keys {
		changed, err := change(i, k)
		if err != nil {
			return n, err
		}
		if changed {
			n++
		}
		if err := g.seal(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (g *group) addLink(k weburl.Key, l *scheduler.Link, requeue bool, ps *places) (bool, error) {
	if _, known, err := g.depth(k); err != nil {
		return false, err
	} else if !known {
		return true, g.addURL(k, l, ps)
	}
	if !requeue {
		return false, nil
	}
	rec, err := g.record(k)
	if err != nil || rec.State == scheduler.Waiting && rec.Source != scheduler.Refresh {
		return false, err
	}
	g.unplace(k, &rec)
	rec.State, rec.Source, rec.Fifo, rec.Root = scheduler.Waiting, l.Fifo, l.Fifo, rec.Root || l.Root
	g.place(k, &rec, ps)
	return true, nil
}

// Complete implements scheduler.Store. A page whose links do not fit into one
// transaction has its links stored first and all else last; after a crash between
// the two it is fetched again and its links are known then. c must not be changed
// before the committer is done with it, which may be after ctx has ended.
func (s *Store) Complete(ctx context.Context, c scheduler.Completion) ([]scheduler.Place, error) {
	if c.Order != nil && len(c.Order.Body) > MaxBody {
		return nil, fmt.Errorf("order for %s has a body of %d bytes, more than %d: store a shorter document", c.Next.URL, len(c.Order.Body), MaxBody)
	}
	var ps places
	keys := keysOf(c.Links)
	err := s.do(ctx, &write{links: keys, apply: func(g *group) error { return g.complete(&c, keys, &ps) }})
	if err != nil {
		return nil, err
	}
	return ps.list, nil
}

func (g *group) complete(c *scheduler.Completion, keys []weburl.Key, ps *places) error {
	old, err := g.taken(c)
	if err != nil {
		return err
	}
	links := c.Links
	if g.large(links) {
		for i := range links {
			if err := g.link(keys[i], &links[i], ps); err != nil {
				return err
			}
			if err := g.seal(); err != nil {
				return err
			}
		}
		links = nil
		if old, err = g.taken(c); err != nil { // it may link to itself
			return err
		}
	}
	g.finish(c, &old, ps)
	if err := g.links(keys, links, ps); err != nil {
		return err
	}
	if c.CancelHeld {
		if err := g.cancelHeld(c.Key); err != nil {
			return err
		}
	}
	if c.Order != nil {
		if err := g.addOrder(c.Key, old.URL, c.Order); err != nil {
			return err
		}
	}
	if c.Host != nil {
		g.set(hostKey(c.Taken.Host), encodeHost(c.Host))
		return g.seeHost(c.Taken.Host, old.Origin)
	}
	return nil
}

// taken gives the record of a URL that still stands where the completion took it from.
func (g *group) taken(c *scheduler.Completion) (scheduler.Record, error) {
	v, err := g.get(queueKey(c.Taken.Source, c.Taken.Host, c.Seq))
	if err != nil {
		return scheduler.Record{}, err
	}
	if len(v) != keyLen || weburl.Key(v) != c.Key {
		return scheduler.Record{}, fmt.Errorf("URL %s does not stand in its queue any more: %w", c.Key, scheduler.ErrNotFound)
	}
	return g.record(c.Key)
}

// large says whether links may be too much for one transaction.
func (g *group) large(links []scheduler.Link) bool {
	if 3*int64(len(links)) > g.maxCount/2 {
		return true
	}
	var size int64
	for i := range links {
		size += 200 + 3*int64(len(links[i].URL.String())) + int64(len(links[i].Referrer)+len(links[i].Alias))
	}
	return size > g.maxSize/2
}

// finish replaces the record of a URL that was taken.
func (g *group) finish(c *scheduler.Completion, old *scheduler.Record, ps *places) {
	g.unplace(c.Key, old)
	if c.Forget {
		g.remove(urlKey(c.Key))
		return
	}
	next := c.Next
	next.Depth = min(next.Depth, old.Depth)
	next.Aliases = old.Aliases
	for _, a := range c.Next.Aliases {
		next.Aliases = union(next.Aliases, a)
	}
	g.place(c.Key, &next, ps)
}

// Forget implements scheduler.Store. Without an order, what the outbox holds of
// the URL stays there.
func (s *Store) Forget(ctx context.Context, k weburl.Key, order *scheduler.Order) error {
	return s.change(ctx, func(g *group) error {
		rec, err := g.record(k)
		if err != nil {
			return err
		}
		g.unplace(k, &rec)
		g.remove(urlKey(k))
		if order == nil {
			return nil
		}
		return g.addOrder(k, rec.URL, order)
	})
}

// Due implements scheduler.Store.
func (s *Store) Due(ctx context.Context, now time.Time, refresh scheduler.Source, n int) ([]scheduler.Place, time.Time, error) {
	var ps places
	var next time.Time
	err := s.changeAlone(ctx, func(g *group) (err error) {
		next, err = g.due(ctx, now, refresh, n, &ps)
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return ps.list, next, nil
}

func (g *group) due(ctx context.Context, now time.Time, refresh scheduler.Source, n int, ps *places) (time.Time, error) {
	txn := g.s.db.NewTransaction(false)
	defer txn.Discard()
	var next time.Time
	floor := uint64(math.MaxUint64)
	seek := orderSeek(kindTimed, g.s.dueFloor)
	err := g.s.walk(ctx, txn, []byte{kindTimed}, seek, false, func(item *badger.Item) error {
		if len(item.Key()) != timedKeyLen {
			return g.s.damaged(fmt.Sprintf("key %x", item.Key()), errLength)
		}
		at, k := splitTimedKey(item.Key())
		rec, err := g.record(k)
		if err != nil {
			return g.s.damaged("timed URL "+k.String(), err)
		}
		if rec.State != scheduler.Timed {
			return g.s.damaged("timed URL "+k.String(), errors.New("its record does not wait for a time"))
		}
		if n <= 0 || rec.NextAt.After(now) {
			next, floor = rec.NextAt, at
			return errEnough
		}
		n--
		g.unplace(k, &rec)
		rec.State, rec.Source = scheduler.Waiting, rec.DueSource(refresh)
		g.place(k, &rec, ps)
		return g.seal()
	})
	if err != nil {
		return time.Time{}, err
	}
	g.s.dueFloor = floor
	return next, nil
}
