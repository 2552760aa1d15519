package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// A deletion that rests or is held stands beside what waits in the outbox: a document
// that no target has yet reaches them nevertheless, and stays there if the deletion is
// cancelled. A URL has one such deletion where its record says so (Record.Deletion), so
// that a page without one costs no read.

// deletionOf reads the deletion of a URL whose record says that it has one.
func (g *group) deletionOf(k weburl.Key) (p orderPlace, o storedOrder, err error) {
	return g.s.deletionOf(k, g.get)
}

// deletionOf reads the deletion of a URL, with what reads a key: nil if there is none. The
// body may share memory with what that gives.
func (s *Store) deletionOf(k weburl.Key, get func([]byte) ([]byte, error)) (p orderPlace, o storedOrder, err error) {
	v, err := get(deletionKey(k))
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
	v, err = get(p.key(k))
	if err != nil {
		return p, o, err
	}
	if v == nil {
		return p, o, s.damaged(fmt.Sprintf("deletion %d", p.seq), errors.New("it is missing"))
	}
	if o, err = decodeOrder(v); err != nil {
		return p, o, s.damaged(fmt.Sprintf("deletion %d", p.seq), err)
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
func (g *group) putDeletion(k weburl.Key, p orderPlace, o *storedOrder) scheduler.Deletion {
	g.nextCount.order++
	p = p.numbered(g.nextCount.order, o)
	g.storeOrder(k, p, o)
	return p.deletion()
}

// checkOrder says what is wrong with an order for a URL; forget says that nothing else
// is stored of that.
func checkOrder(url string, o *scheduler.Order, forget bool) error {
	switch {
	case o == nil:
		return nil
	case len(o.Body) > MaxBody:
		return fmt.Errorf("order for %s has a body of %d bytes, more than %d: store a shorter document", url, len(o.Body), MaxBody)
	case o.Deletion == scheduler.NoDeletion:
		return nil
	case o.Op != scheduler.OrderDelete:
		return fmt.Errorf("order for %s adds a document, and only a deletion can rest", url)
	case forget:
		return fmt.Errorf("the deletion of %s cannot rest: its URL is forgotten", url)
	}
	return nil
}

// order does with the outbox what a change of a URL says, and gives what its record then
// says of a deletion. has is what it said before.
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
	stored := storedOrder{
		op: push.Op(o.Op), moved: o.Moved, at: time.Now(), url: old.URL, source: o.Source,
		rest: rest{reason: o.Reason, hold: o.Hold, edit: o.Edit, text: o.Text},
	}
	if o.Deletion != scheduler.NoDeletion {
		stored.body = o.Body
		return g.rest(k, old, has, &stored, o.Deletion)
	}
	if has != scheduler.NoDeletion {
		p, before, err := g.deletionOf(k)
		if err != nil {
			return has, err
		}
		stored.moved = stored.moved || before.source != stored.source
		if err := g.dropOrderAt(k, p); err != nil {
			return has, err
		}
	}
	if err := g.keepBody(&stored, o.Body); err != nil {
		return has, err
	}
	return scheduler.NoDeletion, g.putOrder(k, &stored)
}

// rest stores a deletion that does not leave yet, or what is new of the one that there is.
func (g *group) rest(k weburl.Key, old *scheduler.Record, has scheduler.Deletion, o *storedOrder, state scheduler.Deletion) (scheduler.Deletion, error) {
	if has != scheduler.NoDeletion {
		p, before, err := g.deletionOf(k)
		if err != nil {
			return has, err
		}
		if err := g.dropOrderAt(k, p); err != nil {
			return has, err
		}
		if before.rest.edit == o.rest.edit {
			o.rest.hold, o.rest.again, o.at = before.rest.hold, o.at, before.at
			p = p.numbered(p.seq, o)
			g.storeOrder(k, p, o)
			return p.deletion(), nil
		}
	}
	p := orderPlace{kind: kindHeld}
	if state == scheduler.DeletionResting {
		p, o.rest.hold = restingPlace(old.Host, o.rest.edit), scheduler.NotHeld
	}
	return g.putDeletion(k, p, o), nil
}

// moveDeletion does with a deletion what ReviseDeletions was told.
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
	o.rest.hold = scheduler.NotHeld
	switch m {
	case scheduler.SendDeletion:
		return scheduler.NoDeletion, g.putOrder(k, &o)
	case scheduler.HoldDeletion:
		o.rest.hold = hold
		p.kind, p.group = kindHeld, groupID{}
		g.storeOrder(k, p, &o)
		return p.deletion(), nil
	case scheduler.KeepDeletion, scheduler.RestDeletion:
	}
	return g.putDeletion(k, restingPlace(old.Host, o.rest.edit), &o), nil
}

// listed is a deletion as a scheduler.Store lists it.
func (o *storedOrder) listed(k weburl.Key, p orderPlace) scheduler.StoredDeletion {
	return scheduler.StoredDeletion{
		Key: k, Seq: p.seq, URL: o.url, Source: o.source, State: p.deletion(), Hold: o.rest.hold,
		Reason: o.rest.reason, Edit: o.rest.edit, At: o.at, Again: o.rest.again, Text: o.rest.text,
	}
}

// Deletions implements scheduler.Store.
func (s *Store) Deletions(ctx context.Context, group scheduler.DeletionGroup, fn func(scheduler.StoredDeletion) error) error {
	prefix := restingPrefix(restingPlace(group.Host, group.Edit))
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
	p, _, err := splitDeletionKey(item.Key())
	return o.listed(k, p), err
}

// DeletionGroups implements scheduler.Store. It goes over all that rests, without reading it.
func (s *Store) DeletionGroups(ctx context.Context, fn func(g scheduler.DeletionGroup, resting uint64) error) error {
	return s.view(ctx, func(txn *badger.Txn) error {
		var at orderPlace
		var count uint64
		end := func() error {
			if count == 0 {
				return nil
			}
			n := count
			count = 0
			return fn(at.deletionGroup(), n)
		}
		for _, kind := range []byte{kindResting, kindEdit} {
			if err := s.walk(ctx, txn, []byte{kind}, []byte{kind}, false, func(item *badger.Item) error {
				p, _, err := splitDeletionKey(item.Key())
				if err != nil {
					return s.damaged(fmt.Sprintf("key %x", item.Key()), err)
				}
				if p.kind != at.kind || p.group != at.group {
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

// deletionGroup is the group of a deletion that rests.
func (p orderPlace) deletionGroup() scheduler.DeletionGroup {
	if p.kind == kindEdit {
		return scheduler.DeletionGroup{Edit: p.group.edit()}
	}
	return scheduler.DeletionGroup{Host: weburl.HostKey(p.group)}
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
		v, err := read(txn, deletionKey(k))
		if err != nil {
			return nil, s.damaged("deletion of URL "+k.String(), err)
		}
		p, ok, err := s.orderPlace(k, v)
		if err != nil {
			return nil, err
		}
		if ok {
			keys = append(keys, p.key(k))
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
		list = append(list, []byte{kindHeld})
	}
	if f.State == scheduler.DeletionHeld {
		return list
	}
	if f.Edit != 0 {
		return append(list, restingPrefix(restingPlace(weburl.HostKey{}, f.Edit)))
	}
	if u, err := weburl.Parse(f.Host); f.Host != "" && err == nil {
		return append(list, restingPrefix(restingPlace(u.HostKey(), 0)), []byte{kindEdit})
	}
	return append(list, []byte{kindResting}, []byte{kindEdit})
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
