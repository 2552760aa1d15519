package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// Add implements scheduler.Store. More links than fit into one transaction may be stored in part if the process dies.
func (s *Store) Add(ctx context.Context, links []scheduler.Link, requeue bool) ([]scheduler.Place, int, error) {
	var ps places
	var n int
	keys := keysOf(links)
	err := s.change(ctx, func(g *group) (err error) {
		n, err = g.eachOf(keys, func(i int, k weburl.Key) (bool, error) { return g.addLink(k, &links[i], requeue, &ps) })
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return ps.list, n, nil
}

// eachOf changes URLs one after the other, possibly in several transactions, and counts those for which change returns
// true.
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
	changed, err := g.addAlone(k, l, requeue, ps)
	if err != nil || l.Item == nil {
		return changed, err
	}
	rec, err := g.record(k)
	if err != nil {
		return changed, err
	}
	if v := scheduler.ReviseItem(&rec, l); v != nil {
		err = g.applyRevision(k, &rec, v, ps)
	}
	return changed, err
}

// addAlone adds a link without its item.
func (g *group) addAlone(k weburl.Key, l *scheduler.Link, requeue bool, ps *places) (bool, error) {
	// Read, not looked up in the set: a submitted URL must never be taken for known by mistake.
	rec, err := g.record(k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return true, g.addURL(k, l, ps)
	}
	if err != nil || !requeue || rec.State == scheduler.Waiting && rec.Source != scheduler.Refresh {
		return false, err
	}
	if err := g.unplace(k, &rec); err != nil {
		return false, err
	}
	rec.State, rec.Source, rec.Fifo, rec.Root = scheduler.Waiting, l.Fifo, l.Fifo, rec.Root || l.Root
	rec.HostSpelling, rec.Fragment = l.HostSpelling, l.Fragment
	return true, g.place(k, &rec, ps)
}

// Complete implements scheduler.Store. If a page's links do not fit into one transaction, they are stored first and
// everything else last; after a crash between the two the page is fetched again, and its links are known then.
func (s *Store) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	if err := checkOrder(c.Next.URL, c.Order, c.Forget); err != nil {
		return err
	}
	var ps places
	keys := keysOf(c.Links)
	return s.take(ctx, &write{
		apply: func(g *group) error { return g.complete(&c, keys, &ps) },
		settled: func(err error) {
			if err != nil {
				settled(scheduler.Completed{Err: err})
				return
			}
			settled(scheduler.Completed{Places: ps.list})
		},
	})
}

func (g *group) complete(c *scheduler.Completion, keys []weburl.Key, ps *places) error {
	old, err := g.taken(c)
	if err != nil {
		return err
	}
	// Links of a large page are stored before it, except those to the page itself.
	large := g.large(c)
	if large {
		if err := g.links(c, keys, ps, func(k weburl.Key) bool { return k != c.Key }, g.seal); err != nil {
			return err
		}
	}
	g.takeOutlinks(c, keys)
	defer g.outlinks.drop()
	if err := g.finish(c, &old, ps); err != nil {
		return err
	}
	if err := g.links(c, keys, ps, func(k weburl.Key) bool { return !large || k == c.Key }, nil); err != nil {
		return err
	}
	g.notes(c.Notes)
	if err := g.leave(c.Key, c.Gone); err != nil {
		return err
	}
	if c.Host != nil {
		g.set(record.HostKey(c.Taken.Host), record.EncodeHost(c.Host))
		return g.seeHost(c.Taken.Host, old.Origin)
	}
	return nil
}

// links stores the links to the URLs that which selects. after, if not nil, is called after each.
func (g *group) links(c *scheduler.Completion, keys []weburl.Key, ps *places, which func(weburl.Key) bool, after func() error) error {
	for i := range c.Links {
		if c.Links[i].Known != (weburl.Key{}) || !which(keys[i]) {
			continue
		}
		if err := g.link(keys[i], &c.Links[i], c.Levels, ps); err != nil {
			return err
		}
		if after == nil {
			continue
		}
		if err := after(); err != nil {
			return err
		}
	}
	return nil
}

// taken returns the record of a URL that still stands in the completion's place, and whose document has not changed.
func (g *group) taken(c *scheduler.Completion) (scheduler.Record, error) {
	if old := c.Old; old != nil && old.State == scheduler.Waiting && old.Seq == c.Seq && placeOf(old) == c.Taken && g.unchanged(c.Key, c.AsOf) {
		return *old, nil
	}
	old, err := g.record(c.Key)
	if errors.Is(err, scheduler.ErrNotFound) || err == nil && (old.State != scheduler.Waiting || old.Seq != c.Seq || placeOf(&old) != c.Taken) {
		return old, fmt.Errorf("URL %s is no longer in its queue: %w", c.Key, scheduler.ErrNotFound)
	}
	if err == nil && c.Old != nil && (c.Old.Indexed != old.Indexed || c.Old.Hash != old.Hash) {
		return old, fmt.Errorf("the document of %s: %w", old.URL, scheduler.ErrChanged)
	}
	return old, err
}

// large reports whether the links may be too much for one transaction. A link that may change a known URL writes its
// record again, with all of its links.
func (g *group) large(c *scheduler.Completion) bool {
	if 4*int64(len(c.Links)) > g.limits.Keys/2 {
		return true
	}
	var size, known int64 // known: at most, for the links of known URLs
	for i := range c.Links {
		l := &c.Links[i]
		size += 200 + scheduler.LinkPrintLen + 3*int64(len(l.URL.String())) + int64(len(l.Referrer)+len(l.Alias))
		if c.Levels > 0 || l.Alias != "" {
			known += scheduler.MaxOutlinks * scheduler.LinkPrintLen
		}
	}
	return size > g.limits.Bytes/2 || size+known > g.limits.Bytes*7/8
}

// finish replaces the record of a URL that was taken, and updates the outbox.
func (g *group) finish(c *scheduler.Completion, old *scheduler.Record, ps *places) error {
	has, err := g.order(c.Key, old, old.LossPending, c.Order, c.CancelDeletion)
	if err != nil {
		return err
	}
	if err := g.unplace(c.Key, old); err != nil {
		return err
	}
	if err := g.raise(c.Taken, c.Floor); err != nil {
		return err
	}
	if c.Forget {
		return g.erase(c.Key, old, has)
	}
	next := c.Next
	next.LossPending = has
	if next.Nearer(old.Depth, c.Levels) {
		next.State, next.Source = scheduler.Waiting, next.Fifo
	}
	next.Aliases = slices.Clip(old.Aliases) // Queue's caller may hold them too
	for _, a := range c.Next.Aliases {
		next.Aliases = union(next.Aliases, a)
	}
	return g.replace(c.Key, old, &next, ps)
}

// Forget implements scheduler.Store. Without an order, the URL's waiting order stays in the outbox.
func (s *Store) Forget(ctx context.Context, k weburl.Key, order *scheduler.Order) error {
	return s.change(ctx, func(g *group) error {
		rec, err := g.record(k)
		if err == nil {
			err = checkOrder(rec.URL, order, true)
		}
		if err != nil {
			return err
		}
		has, err := g.order(k, &rec, rec.LossPending, order, false)
		if err != nil {
			return err
		}
		if err := g.unplace(k, &rec); err != nil {
			return err
		}
		return g.erase(k, &rec, has)
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
	var next time.Time
	floor := uint64(math.MaxUint64)
	seek := record.OrderSeek(record.KindTimed, g.s.dueFloor)
	err := g.pagesUntil(ctx, []byte{record.KindTimed}, seek, false, func(key, _ []byte) error {
		if len(key) != record.TimedKeyLen {
			return g.s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
		}
		at, k := record.SplitTimedKey(key)
		rec, err := g.record(k)
		if err != nil {
			return g.s.damaged("timed URL "+k.String(), err)
		}
		if rec.State != scheduler.Timed {
			return g.s.damaged("timed URL "+k.String(), errors.New("its record has no due time"))
		}
		if n <= 0 || rec.NextAt.After(now) {
			next, floor = rec.NextAt, at
			return errEnough
		}
		n--
		if err := g.unplace(k, &rec); err != nil {
			return err
		}
		rec.State, rec.Source = scheduler.Waiting, rec.DueSource(refresh)
		if err := g.place(k, &rec, ps); err != nil {
			return err
		}
		return g.seal()
	})
	if err != nil {
		return time.Time{}, err
	}
	g.s.dueFloor = floor
	return next, nil
}
