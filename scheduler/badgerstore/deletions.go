package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// A deletion that rests or is held stands beside what waits in the outbox: a document
// that no target has yet reaches them nevertheless, and stays there if the deletion is
// cancelled. A URL has one such deletion where its record says so (Record.Deletion), so
// that a page without one costs no read.

// deletionOf reads the deletion of a URL whose record says that it has one.
func (g *group) deletionOf(k weburl.Key) (p record.OrderPlace, o record.Order, err error) {
	return g.s.deletionOf(k, g.get)
}

// deletionOf reads the deletion of a URL. get reads a key, nil if it is not there; the body
// may share memory with what it returns.
func (s *Store) deletionOf(k weburl.Key, get func([]byte) ([]byte, error)) (p record.OrderPlace, o record.Order, err error) {
	v, err := get(record.DeletionKey(k))
	if err != nil {
		return p, o, err
	}
	p, ok, err := s.orderPlace(k, v)
	if err == nil && !ok {
		err = s.damaged("deletion of URL "+k.String(), errors.New("it is missing"))
	}
	if err != nil {
		return p, o, err
	}
	v, err = get(p.Key(k))
	if err != nil {
		return p, o, err
	}
	if v == nil {
		return p, o, s.damaged(fmt.Sprintf("deletion %d", p.Seq), errors.New("it is missing"))
	}
	if o, err = record.DecodeOrder(v); err != nil {
		return p, o, s.damaged(fmt.Sprintf("deletion %d", p.Seq), err)
	}
	return p, o, nil
}

// dropDeletion removes the deletion of a URL whose record says that it has one.
func (g *group) dropDeletion(k weburl.Key) error {
	p, _, err := g.deletionOf(k)
	if err != nil {
		return err
	}
	return g.dropOrderAt(k, p)
}

// putDeletion stores a deletion at a place, under a new number.
func (g *group) putDeletion(k weburl.Key, p record.OrderPlace, o *record.Order) scheduler.Deletion {
	g.nextCount.Order++
	p = p.Numbered(g.nextCount.Order, o)
	g.storeOrder(k, p, o)
	return p.Deletion()
}

// checkOrder returns what is wrong with an order for a URL; forget says that nothing else
// of the URL is stored.
func checkOrder(url string, o *scheduler.Order, forget bool) error {
	switch {
	case o == nil:
		return nil
	case len(o.Body) > record.MaxBody:
		return fmt.Errorf("order for %s has a body of %d bytes, more than %d: store a shorter document", url, len(o.Body), record.MaxBody)
	case o.Deletion == scheduler.NoDeletion:
		return nil
	case o.Op != scheduler.OrderDelete:
		return fmt.Errorf("order for %s adds a document, and only a deletion can rest", url)
	case forget:
		return fmt.Errorf("the deletion of %s cannot rest: its URL is forgotten", url)
	}
	return nil
}

// order changes the outbox as a change of a URL says, and returns the Deletion of its record
// after that; has is the one before.
func (g *group) order(k weburl.Key, old *scheduler.Record, has scheduler.Deletion, o *scheduler.Order, drop bool) (scheduler.Deletion, error) {
	if drop && has != scheduler.NoDeletion {
		if err := g.dropDeletion(k); err != nil {
			return has, err
		}
		has = scheduler.NoDeletion
	}
	if o == nil {
		return has, nil
	}
	stored := record.Order{
		Op: push.Op(o.Op), Moved: o.Moved, At: time.Now(), URL: old.URL, Source: o.Source,
		Rest: record.Rest{Reason: o.Reason, Hold: o.Hold, Edit: o.Edit, Text: o.Text},
	}
	if o.Deletion != scheduler.NoDeletion {
		stored.Body = o.Body
		return g.rest(k, old, has, &stored, o.Deletion)
	}
	if has != scheduler.NoDeletion {
		p, before, err := g.deletionOf(k)
		if err != nil {
			return has, err
		}
		stored.Moved = stored.Moved || before.Source != stored.Source
		if err := g.dropOrderAt(k, p); err != nil {
			return has, err
		}
	}
	if err := g.keepBody(&stored, o.Body); err != nil {
		return has, err
	}
	if o.Op == scheduler.OrderAdd && old.Indexed {
		g.nextCount.Changed++
	}
	return scheduler.NoDeletion, g.putOrder(k, &stored)
}

// rest stores a deletion that does not leave yet, or updates the one that is there.
func (g *group) rest(k weburl.Key, old *scheduler.Record, has scheduler.Deletion, o *record.Order, state scheduler.Deletion) (scheduler.Deletion, error) {
	if has != scheduler.NoDeletion {
		p, before, err := g.deletionOf(k)
		if err != nil {
			return has, err
		}
		if err := g.dropOrderAt(k, p); err != nil {
			return has, err
		}
		if before.Rest.Edit == o.Rest.Edit {
			o.Rest.Hold, o.Rest.Again, o.At = before.Rest.Hold, o.At, before.At
			p = p.Numbered(p.Seq, o)
			g.storeOrder(k, p, o)
			return p.Deletion(), nil
		}
	}
	p := record.OrderPlace{Kind: record.KindHeld}
	if state == scheduler.DeletionResting {
		p, o.Rest.Hold = record.RestingPlace(old.Host, o.Rest.Edit), scheduler.NotHeld
	}
	return g.putDeletion(k, p, o), nil
}

// moveDeletion moves a deletion as the caller of ReviseDeletions wants.
func (g *group) moveDeletion(k weburl.Key, old *scheduler.Record, m scheduler.DeletionMove, hold scheduler.Hold) (scheduler.Deletion, error) {
	has := old.Deletion
	if m == scheduler.KeepDeletion || m == scheduler.RestDeletion && has == scheduler.DeletionResting {
		return has, nil
	}
	p, o, err := g.deletionOf(k)
	if err != nil {
		return has, err
	}
	if err := g.dropOrderAt(k, p); err != nil {
		return has, err
	}
	o.Rest.Hold = scheduler.NotHeld
	switch m {
	case scheduler.SendDeletion:
		return scheduler.NoDeletion, g.putOrder(k, &o)
	case scheduler.HoldDeletion:
		o.Rest.Hold = hold
		p.Kind, p.Group = record.KindHeld, record.Group{}
		g.storeOrder(k, p, &o)
		return p.Deletion(), nil
	case scheduler.KeepDeletion, scheduler.RestDeletion:
	}
	return g.putDeletion(k, record.RestingPlace(old.Host, o.Rest.Edit), &o), nil
}

// Deletions implements scheduler.Store.
func (s *Store) Deletions(ctx context.Context, group scheduler.DeletionGroup, fn func(scheduler.StoredDeletion) error) error {
	prefix := record.RestingPrefix(record.RestingPlace(group.Host, group.Edit))
	return s.view(ctx, func(txn *badger.Txn) error {
		return s.walk(ctx, txn, prefix, prefix, true, func(item *badger.Item) error {
			d, err := s.storedDeletion(item)
			if err != nil {
				return err
			}
			return fn(d)
		})
	})
}

// storedDeletion reads a deletion that rests or is held.
func (s *Store) storedDeletion(item *badger.Item) (scheduler.StoredDeletion, error) {
	_, k, o, err := s.order(item)
	if err != nil {
		return scheduler.StoredDeletion{}, err
	}
	p, _, err := record.SplitDeletionKey(item.Key())
	return o.Listed(k, p), err
}

// DeletionGroups implements scheduler.Store. It goes over all that rests, without reading it.
func (s *Store) DeletionGroups(ctx context.Context, fn func(g scheduler.DeletionGroup, resting uint64) error) error {
	return s.view(ctx, func(txn *badger.Txn) error {
		var at record.OrderPlace
		var count uint64
		end := func() error {
			if count == 0 {
				return nil
			}
			n := count
			count = 0
			return fn(at.DeletionGroup(), n)
		}
		for _, kind := range []byte{record.KindResting, record.KindEdit} {
			if err := s.walk(ctx, txn, []byte{kind}, []byte{kind}, false, func(item *badger.Item) error {
				p, _, err := record.SplitDeletionKey(item.Key())
				if err != nil {
					return s.damaged(fmt.Sprintf("key %x", item.Key()), err)
				}
				if p.Kind != at.Kind || p.Group != at.Group {
					if err := end(); err != nil {
						return err
					}
					at = p
				}
				count++
				return nil
			}); err != nil {
				return err
			}
		}
		return end()
	})
}

// HeldDeletions implements scheduler.Store: those that are held and those that rest,
// unless f.State says which. It holds their keys in memory, but not what they are.
func (s *Store) HeldDeletions(ctx context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	named, err := parseKeys(f.URLs)
	if err != nil {
		return err
	}
	return s.view(ctx, func(txn *badger.Txn) error {
		keys, err := s.deletionKeys(ctx, txn, &f, named)
		if err != nil {
			return err
		}
		return s.eachOrder(ctx, txn, keys, func(item *badger.Item) error {
			d, err := s.storedDeletion(item)
			if err != nil || !selectsDeletion(&f, &d) {
				return err
			}
			return fn(d)
		})
	})
}

// deletionKeys are the keys of the deletions among which a filter chooses, oldest first.
func (s *Store) deletionKeys(ctx context.Context, txn *badger.Txn, f *scheduler.DeletionFilter, named []weburl.Key) (keys [][]byte, err error) {
	for _, k := range named {
		v, err := read(txn, record.DeletionKey(k))
		if err != nil {
			return nil, s.damaged("deletion of URL "+k.String(), err)
		}
		p, ok, err := s.orderPlace(k, v)
		if err != nil {
			return nil, err
		}
		if ok {
			keys = append(keys, p.Key(k))
		}
	}
	for _, prefix := range deletionPrefixes(f) {
		err := s.walk(ctx, txn, prefix, prefix, false, func(item *badger.Item) error {
			keys = append(keys, item.KeyCopy(nil))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return byNumber(keys), nil
}

// deletionPrefixes are those of the keys among which a filter without URLs chooses.
func deletionPrefixes(f *scheduler.DeletionFilter) (list [][]byte) {
	if len(f.URLs) > 0 {
		return nil
	}
	if f.State != scheduler.DeletionResting {
		list = append(list, []byte{record.KindHeld})
	}
	if f.State == scheduler.DeletionHeld {
		return list
	}
	if f.Edit != 0 {
		return append(list, record.RestingPrefix(record.RestingPlace(weburl.HostKey{}, f.Edit)))
	}
	if u, err := weburl.Parse(f.Host); f.Host != "" && err == nil {
		return append(list, record.RestingPrefix(record.RestingPlace(u.HostKey(), 0)), []byte{record.KindEdit})
	}
	return append(list, []byte{record.KindResting}, []byte{record.KindEdit})
}

func selectsDeletion(f *scheduler.DeletionFilter, d *scheduler.StoredDeletion) bool {
	if f.Host != "" {
		if u, ok := weburl.FromCanonical(d.URL); !ok || u.Origin() != f.Host {
			return false
		}
	}
	return (f.State == scheduler.NoDeletion || f.State == d.State) &&
		(f.Reason == scheduler.NoReason || f.Reason == d.Reason) &&
		(f.Edit == 0 || f.Edit == d.Edit)
}
