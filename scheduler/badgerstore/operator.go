package badgerstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Held calls fn for each held deletion, oldest first.
func (s *Store) Held(ctx context.Context, fn func(push.Entry) error) error {
	return s.viewBodies(ctx, func(txn *badger.Txn, r *bodyReader) error {
		return s.walk(ctx, txn, []byte{kindHeld}, []byte{kindHeld}, false, func(item *badger.Item) error {
			seq, _, o, err := s.order(item)
			if err != nil {
				return err
			}
			e := o.entry(seq)
			if e.Body, e.Damage, err = r.bodyOf(&o); err != nil {
				return s.words(fmt.Errorf("held deletion %d: %w", seq, err))
			}
			return fn(e)
		})
	})
}

// Release sends the held deletions of the URLs, or all if none is named, to the
// indexers, and returns how many there were. Their documents no longer count as indexed.
func (s *Store) Release(ctx context.Context, urls ...string) (int, error) {
	n := 0
	err := s.eachHeld(ctx, urls, func(g *group, k weburl.Key, p orderPlace) error {
		v, err := g.get(p.key(k))
		if err == nil && v == nil {
			err = s.damaged("held deletion of URL "+k.String(), errors.New("it is missing"))
		}
		if err != nil {
			return err
		}
		o, err := decodeOrder(v)
		if err != nil {
			return s.damaged("held deletion of URL "+k.String(), err)
		}
		if err := g.putOrder(k, kindOrder, &o); err != nil {
			return err
		}
		n++
		rec, err := g.record(k)
		if errors.Is(err, scheduler.ErrNotFound) {
			return nil // forgotten since
		}
		if err != nil || !rec.Indexed {
			return err
		}
		g.setIndexed(k, &rec, false)
		return nil
	})
	return counted(&n, err)
}

// counted gives a count of the committer's, which may still be at it after an error
// of the context.
func counted(n *int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return *n, nil
}

// setIndexed changes what a record says of its document, wherever its URL stands.
func (g *group) setIndexed(k weburl.Key, rec *scheduler.Record, indexed bool) {
	g.touch(k)
	g.nextCount.remove(rec)
	rec.Indexed = indexed
	g.nextCount.add(rec)
	g.setRecord(k, rec)
}

// HoldHost implements scheduler.Store. It looks at all waiting orders that a target
// still needs. One that the relay has read already may be sent nevertheless.
func (s *Store) HoldHost(ctx context.Context, h weburl.HostKey) (int, error) {
	n := 0
	err := s.changeAlone(ctx, func(g *group) error {
		cursors, err := g.cursors()
		if err != nil {
			return err
		}
		from := uint64(0) // what all are past was removed, and would only be walked over
		if len(cursors) > 0 {
			from = lowest(cursors) + 1
		}
		txn := s.db.NewTransaction(false)
		defer txn.Discard()
		return s.walk(ctx, txn, []byte{kindOrder}, orderSeek(kindOrder, from), false, func(item *badger.Item) error {
			_, k, o, err := s.order(item)
			if err != nil || o.op != push.Delete || !ofHost(o.url, h) {
				return err
			}
			n++
			if err := g.holdOrder(k, &o); err != nil {
				return err
			}
			return g.seal()
		})
	})
	return counted(&n, err)
}

func ofHost(url string, h weburl.HostKey) bool {
	u, ok := weburl.FromCanonical(url)
	return ok && u.HostKey() == h
}

// holdOrder holds a waiting deletion; the document stays.
func (g *group) holdOrder(k weburl.Key, o *storedOrder) error {
	if err := g.putOrder(k, kindHeld, o); err != nil {
		return err
	}
	rec, err := g.record(k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return nil // forgotten with its document
	}
	if err != nil {
		return err
	}
	rec.Hash = [16]byte{}
	g.setIndexed(k, &rec, true)
	return nil
}

// DropHeld drops the held deletions of the URLs, or all if none is named, and
// queues the URLs in the refresh source, but for those that wait already. It
// returns the places that got work and how many deletions were dropped.
func (s *Store) DropHeld(ctx context.Context, urls ...string) ([]scheduler.Place, int, error) {
	n := 0
	var ps places
	err := s.eachHeld(ctx, urls, func(g *group, k weburl.Key, p orderPlace) error {
		if err := g.dropOrderAt(k, p); err != nil {
			return err
		}
		n++
		rec, err := g.record(k)
		if errors.Is(err, scheduler.ErrNotFound) {
			return nil // forgotten since
		}
		if err != nil || rec.State == scheduler.Waiting {
			return err
		}
		if err := g.unplace(k, &rec); err != nil {
			return err
		}
		rec.State, rec.Source = scheduler.Waiting, scheduler.Refresh
		return g.place(k, &rec, &ps)
	})
	if err != nil {
		return nil, 0, err
	}
	return ps.list, n, nil
}

// eachHeld calls fn in the committer for the held deletions of the URLs, or for
// all. URLs without one are passed over.
func (s *Store) eachHeld(ctx context.Context, urls []string, fn func(*group, weburl.Key, orderPlace) error) error {
	keys, err := parseKeys(urls)
	if err != nil {
		return err
	}
	one := func(g *group, k weburl.Key) error {
		p, ok, err := g.orderPlace(k)
		if err != nil || !ok || p.kind != kindHeld {
			return err
		}
		if err := fn(g, k, p); err != nil {
			return err
		}
		return g.seal()
	}
	return s.changeAlone(ctx, func(g *group) error {
		if len(keys) > 0 {
			return each(keys, func(k weburl.Key) error { return one(g, k) })
		}
		txn := g.s.db.NewTransaction(false)
		defer txn.Discard()
		return s.walk(ctx, txn, []byte{kindHeld}, []byte{kindHeld}, false, func(item *badger.Item) error {
			if len(item.Key()) != orderKeyLen {
				return s.damaged(fmt.Sprintf("key %x", item.Key()), errLength)
			}
			_, k := splitOrderKey(item.Key())
			return one(g, k)
		})
	})
}

// Dead calls fn for each dead letter, target by target.
func (s *Store) Dead(ctx context.Context, fn func(push.Dead) error) error {
	return s.viewBodies(ctx, func(txn *badger.Txn, r *bodyReader) error {
		return s.walk(ctx, txn, []byte{kindDead}, []byte{kindDead}, false, func(item *badger.Item) error {
			target, _, stored, err := s.deadLetter(item)
			if err != nil {
				return err
			}
			d := stored.letter(target)
			if d.Body, d.Damage, err = r.bodyOf(&stored.storedOrder); err != nil {
				return s.words(fmt.Errorf("dead letter of %s: %w", d.URL, err))
			}
			return fn(d)
		})
	})
}

// deadLetter reads a dead letter. What it gives is valid while item is.
func (s *Store) deadLetter(item *badger.Item) (target string, k weburl.Key, d storedDead, err error) {
	target, k, err = splitDeadKey(item.Key())
	if err == nil {
		err = valueOf(item, func(v []byte) error {
			d, err = decodeDead(v)
			return err
		})
	}
	if err != nil {
		return target, k, d, s.damaged(fmt.Sprintf("dead letter %q", item.Key()), err)
	}
	return target, k, d, nil
}

func splitDeadKey(b []byte) (target string, k weburl.Key, err error) {
	n := len(b) - keyLen - 1
	if n < 2 || b[n] != 0 {
		return "", k, errLength
	}
	return string(b[1:n]), weburl.Key(b[n+1:]), nil
}

// RetryDead sends the orders of the selected dead letters to the indexers again, and
// returns how many dead letters there were. All targets get them: the order is a new one.
// None is sent of which a newer order waits. A URL whose document is lost is fetched again.
func (s *Store) RetryDead(ctx context.Context, sel push.Selection) (int, error) {
	return s.takeDead(ctx, sel, func(g *group, k weburl.Key, d *storedDead) error {
		p, ok, err := g.orderPlace(k)
		if err != nil || ok && p.seq > d.seq {
			return err // the same order, dead at another target, or a newer one waits
		}
		if d.lost {
			return g.fetchAgain(k)
		}
		return g.putOrder(k, kindOrder, &d.storedOrder)
	})
}

// DropDead drops the selected dead letters, and returns how many there were.
func (s *Store) DropDead(ctx context.Context, sel push.Selection) (int, error) {
	return s.takeDead(ctx, sel, func(*group, weburl.Key, *storedDead) error { return nil })
}

// takeDead removes dead letters and calls fn in the committer for each.
func (s *Store) takeDead(ctx context.Context, selection push.Selection, fn func(*group, weburl.Key, *storedDead) error) (int, error) {
	sel, err := newSelected(selection)
	if err != nil {
		return 0, err
	}
	n := 0
	err = s.changeAlone(ctx, func(g *group) error {
		txn := g.s.db.NewTransaction(false)
		defer txn.Discard()
		prefix := sel.deadPrefix()
		return s.walk(ctx, txn, prefix, prefix, false, func(item *badger.Item) error {
			_, k, d, err := s.deadLetter(item)
			if err != nil || !sel.takes(k, &d.storedOrder) {
				return err
			}
			n++
			// Another dead letter of the URL may have been taken for this one.
			key := item.KeyCopy(nil)
			if v, err := g.get(key); err != nil || v == nil {
				return err
			}
			g.remove(key)
			g.nextCount.dead--
			if err := fn(g, k, &d); err != nil {
				return err
			}
			if err := g.release(d.place.segment, d.size()); err != nil { // after a new order refers to it
				return err
			}
			return g.seal()
		})
	})
	return counted(&n, err)
}

// dropDeadOf removes a target's dead letters.
func (g *group) dropDeadOf(ctx context.Context, target string) error {
	txn := g.s.db.NewTransaction(false)
	defer txn.Discard()
	prefix := deadPrefix(target)
	return g.s.walk(ctx, txn, prefix, prefix, false, func(item *badger.Item) error {
		_, k, d, err := g.s.deadLetter(item)
		if err != nil {
			return err
		}
		g.remove(deadKey(target, k))
		g.nextCount.dead--
		if err := g.release(d.place.segment, d.size()); err != nil {
			return err
		}
		return g.seal()
	})
}

func parseKeys(urls []string) ([]weburl.Key, error) {
	keys := make([]weburl.Key, 0, len(urls))
	for _, raw := range urls {
		u, err := weburl.Parse(raw)
		if err != nil {
			return nil, err
		}
		keys = append(keys, u.Key())
	}
	return keys, nil
}

func each[T any](list []T, fn func(T) error) error {
	for _, v := range list {
		if err := fn(v); err != nil {
			return err
		}
	}
	return nil
}
