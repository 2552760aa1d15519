package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// outbox is the Store as the relay sees it.
type outbox struct{ s *Store }

// Outbox is the outbox that the store's completions fill. It ends with the store.
func (s *Store) Outbox() push.Outbox { return outbox{s} }

// OutboxBytes is the length of the bodies of all waiting orders.
func (s *Store) OutboxBytes() uint64 { return s.committed.Load().bytes }

// Changed implements push.Outbox.
func (o outbox) Changed() <-chan struct{} { return o.s.changed }

// Cursor implements push.Outbox.
func (o outbox) Cursor(ctx context.Context, target string) (seq uint64, err error) {
	err = o.s.view(ctx, func(txn *badger.Txn) error {
		var known bool
		if seq, known, err = o.s.cursor(txn, target); err == nil && !known {
			return errTarget(target)
		}
		return err
	})
	return seq, err
}

// cursor reads that of a target, if it is known.
func (s *Store) cursor(txn *badger.Txn, target string) (seq uint64, known bool, err error) {
	v, err := read(txn, cursorKey(target))
	if err == nil && v != nil {
		seq, err = decodeSeq(v)
	}
	if err != nil {
		return 0, false, s.damaged("cursor of "+target, err)
	}
	return seq, v != nil, nil
}

func errTarget(target string) error {
	return fmt.Errorf("push target %q is not open: name it in Outbox.Open first", target)
}

// Entries implements push.Outbox.
func (o outbox) Entries(ctx context.Context, after uint64, n, maxBytes int) ([]push.Entry, error) {
	if n <= 0 || after == math.MaxUint64 {
		return nil, ctx.Err()
	}
	var entries []push.Entry
	size := 0
	err := o.s.viewBodies(ctx, func(txn *badger.Txn, r *bodyReader) error {
		return o.s.walk(ctx, txn, []byte{kindOrder}, orderSeek(kindOrder, after+1), false, func(item *badger.Item) error {
			seq, _, stored, err := o.s.order(item)
			if err != nil {
				return err
			}
			if size += int(stored.size()); len(entries) > 0 && size > maxBytes {
				return errEnough
			}
			e := stored.entry(seq)
			if e.Body, e.Damage, err = r.bodyOf(&stored); err != nil {
				return o.s.words(fmt.Errorf("order %d: %w", seq, err))
			}
			if entries = append(entries, e); len(entries) == n {
				return errEnough
			}
			return nil
		})
	})
	return entries, err
}

// order reads an order that is no dead letter. What it gives is valid while item is.
func (s *Store) order(item *badger.Item) (seq uint64, k weburl.Key, o storedOrder, err error) {
	p := orderPlace{kind: kindOrder}
	if item.Key()[0] != kindOrder {
		p, k, err = splitDeletionKey(item.Key())
	} else if err = errLength; len(item.Key()) == orderKeyLen {
		p.seq, k = splitOrderKey(item.Key())
		err = nil
	}
	if err != nil {
		return 0, k, o, s.damaged(fmt.Sprintf("key %x", item.Key()), err)
	}
	seq = p.seq
	err = valueOf(item, func(v []byte) error {
		o, err = decodeOrder(v)
		return err
	})
	if err != nil {
		return seq, k, o, s.damaged(fmt.Sprintf("order %d", seq), err)
	}
	return seq, k, o, nil
}

// Safe implements push.Outbox. Many entries are removed in several steps, the
// cursor moving with them. A seq above the newest order's is taken for that one.
func (o outbox) Safe(ctx context.Context, target string, seq uint64) error {
	return o.s.changeAlone(ctx, func(g *group) error { return g.safe(ctx, target, seq) })
}

// Bury implements push.Outbox. If a newer order of the URL waits, e is of no use to
// anybody any more and is not stored.
func (o outbox) Bury(ctx context.Context, target string, e push.Entry, words string, at time.Time) error {
	u, err := weburl.Parse(e.URL)
	if err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	return o.s.change(ctx, func(g *group) error { return g.bury(u.Key(), target, &e, words, at) })
}

func (g *group) bury(k weburl.Key, target string, e *push.Entry, words string, at time.Time) error {
	if v, err := g.get(cursorKey(target)); err != nil {
		return err
	} else if v == nil {
		return errTarget(target)
	}
	p, ok, err := g.orderPlace(k)
	if err != nil || ok && p.seq > e.Seq {
		return err
	}
	d := storedDead{seq: e.Seq, at: at, words: words}
	if d.storedOrder, err = g.orderOf(k, e, p, ok); err != nil {
		return err
	}
	if err := g.refer(d.place.segment, d.size()); err != nil {
		return err
	}
	if err := g.dropDead(target, k); err != nil {
		return err
	}
	g.nextCount.dead++
	g.set(deadKey(target, k), d.encode())
	if d.lost {
		return g.fetchAgain(k)
	}
	return nil
}

// orderOf is the order of an entry, as a dead letter keeps it: the one at p, if that is
// the same and still there.
func (g *group) orderOf(k weburl.Key, e *push.Entry, p orderPlace, ok bool) (storedOrder, error) {
	o := storedOrder{op: e.Op, moved: e.Moved, lost: e.Damage != "", at: e.At, url: e.URL, source: e.Source}
	if o.lost {
		return o, nil
	}
	if ok && p.seq == e.Seq && p.segment != 0 && e.Op == push.Add {
		v, err := g.get(p.key(k))
		if err != nil {
			return o, err
		}
		if o, err = decodeOrder(v); err != nil {
			return o, g.s.damaged(fmt.Sprintf("order %d", p.seq), err)
		}
		return o, nil
	}
	return o, g.keepBody(&o, e.Body)
}

// cursors are those of all targets. They are not changed by others within a group.
func (g *group) cursors() (map[string]uint64, error) {
	return g.s.cursors(context.Background(), g.stored())
}

func (s *Store) cursors(ctx context.Context, txn *badger.Txn) (map[string]uint64, error) {
	cursors := map[string]uint64{}
	err := s.walk(ctx, txn, []byte{kindCursor}, []byte{kindCursor}, false, func(item *badger.Item) error {
		v, err := copyValue(item)
		if err == nil {
			cursors[string(item.Key()[1:])], err = decodeSeq(v)
		}
		if err != nil {
			return s.damaged(fmt.Sprintf("cursor %q", item.Key()[1:]), err)
		}
		return nil
	})
	return cursors, err
}

func lowest(cursors map[string]uint64) uint64 {
	low := uint64(math.MaxUint64)
	for _, c := range cursors {
		low = min(low, c)
	}
	return low
}

func (g *group) safe(ctx context.Context, target string, seq uint64) error {
	cursors, err := g.cursors()
	if err != nil {
		return err
	}
	old, ok := cursors[target]
	if !ok {
		return errTarget(target)
	}
	if seq = min(seq, g.nextCount.order); seq <= old {
		return nil
	}
	from := lowest(cursors) + 1
	cursors[target] = seq
	if err := g.dropPassed(ctx, from, lowest(cursors), func(passed uint64) {
		if passed > old {
			g.set(cursorKey(target), encodeSeq(passed))
		}
	}); err != nil {
		return err
	}
	g.set(cursorKey(target), encodeSeq(seq))
	return nil
}

// dropPassed removes the waiting orders numbered from to seq. passed is called with
// the number of each before its removal can be committed, to move the cursors along.
func (g *group) dropPassed(ctx context.Context, from, seq uint64, passed func(uint64)) error {
	txn := g.s.db.NewTransaction(false)
	defer txn.Discard()
	return g.s.walk(ctx, txn, []byte{kindOrder}, orderSeek(kindOrder, from), false, func(item *badger.Item) error {
		if len(item.Key()) != orderKeyLen {
			return g.s.damaged(fmt.Sprintf("key %x", item.Key()), errLength)
		}
		at, k := splitOrderKey(item.Key())
		if at > seq {
			return errEnough
		}
		p, ok, err := g.orderPlace(k)
		if err != nil {
			return err
		}
		if !ok || p.kind != kindOrder || p.seq != at {
			return g.s.damaged(fmt.Sprintf("order %d", at), errors.New("it is not the order of its URL"))
		}
		if err := g.dropOrderAt(k, p); err != nil {
			return err
		}
		passed(at)
		return g.seal()
	})
}

// orderPlace finds the waiting order of a URL.
func (g *group) orderPlace(k weburl.Key) (orderPlace, bool, error) {
	v, err := g.get(byURLKey(k))
	if err != nil {
		return orderPlace{}, false, err
	}
	return g.s.orderPlace(k, v)
}

// orderPlace reads what is stored of where a URL's order is; nil: it has none.
func (s *Store) orderPlace(k weburl.Key, v []byte) (orderPlace, bool, error) {
	if v == nil {
		return orderPlace{}, false, nil
	}
	p, err := decodeOrderPlace(v)
	if err != nil {
		return p, false, s.damaged("order of URL "+k.String(), err)
	}
	return p, true, nil
}

// dropOrderAt removes an order of a URL.
func (g *group) dropOrderAt(k weburl.Key, p orderPlace) error {
	g.remove(p.key(k))
	g.remove(p.named(k))
	g.countOrder(p, ^uint64(0))
	if p.segment == 0 {
		g.s.garbage.Add(int64(p.size))
	}
	return g.release(p.segment, p.size)
}

// countOrder counts an order that is new, or gone if by is ^0.
func (g *group) countOrder(p orderPlace, by uint64) {
	switch p.deletion() {
	case scheduler.DeletionHeld:
		g.nextCount.held += by
	case scheduler.DeletionResting:
		g.nextCount.resting += by
	case scheduler.NoDeletion:
		g.nextCount.waiting += by
		g.nextCount.bytes += by * p.size
	}
}

// dropDead removes a dead letter of a URL, if there is one.
func (g *group) dropDead(target string, k weburl.Key) error {
	key := deadKey(target, k)
	v, err := g.get(key)
	if err != nil || v == nil {
		return err
	}
	d, err := decodeDead(v)
	if err != nil {
		return g.s.damaged(fmt.Sprintf("dead letter %q", key), err)
	}
	g.remove(key)
	g.nextCount.dead--
	return g.release(d.place.segment, d.size())
}

// dropOrders removes what waits in the outbox of a URL, and its dead letters. elsewhere
// says that a target may have its document under another source: what tells so is dropped.
func (g *group) dropOrders(k weburl.Key) (elsewhere bool, err error) {
	p, ok, err := g.orderPlace(k)
	if err == nil && ok {
		elsewhere = p.moved || p.delete
		err = g.dropOrderAt(k, p)
	}
	if err != nil || g.nextCount.dead == 0 {
		return elsewhere, err
	}
	cursors, err := g.cursors()
	if err != nil {
		return elsewhere, err
	}
	dead := g.nextCount.dead
	for t := range cursors {
		if err := g.dropDead(t, k); err != nil {
			return elsewhere, err
		}
	}
	return elsewhere || g.nextCount.dead < dead, nil
}

// putOrder stores an order that waits, under a new number, in the place of an older one.
func (g *group) putOrder(k weburl.Key, o *storedOrder) error {
	if err := g.refer(o.place.segment, o.size()); err != nil {
		return err
	}
	elsewhere, err := g.dropOrders(k)
	if err != nil {
		return err
	}
	o.moved = o.op == push.Add && (o.moved || elsewhere)
	g.nextCount.order++
	g.storeOrder(k, orderPlace{kind: kindOrder}.numbered(g.nextCount.order, o), o)
	g.stepOrders = true
	return nil
}

// storeOrder stores an order in a place where there is none.
func (g *group) storeOrder(k weburl.Key, p orderPlace, o *storedOrder) {
	g.set(p.key(k), o.append(nil))
	g.scratch = p.append(g.scratch[:0])
	g.set(p.named(k), g.scratch)
	g.countOrder(p, 1)
}
