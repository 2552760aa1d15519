package badgerstore

import (
	"fmt"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

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
