package store

import (
	"fmt"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// orderPlace returns the place of a URL's waiting order.
func (g *group) orderPlace(k weburl.Key) (record.OrderPlace, bool, error) {
	v, err := g.get(record.WaitingKey(k))
	if err != nil {
		return record.OrderPlace{}, false, err
	}
	return g.s.orderPlace(k, v)
}

// orderPlace decodes the place of a URL's order; there is no order if v is nil.
func (s *Store) orderPlace(k weburl.Key, v []byte) (record.OrderPlace, bool, error) {
	if v == nil {
		return record.OrderPlace{}, false, nil
	}
	p, err := record.DecodeOrderPlace(v)
	if err != nil {
		return p, false, s.damaged("order of URL "+k.String(), err)
	}
	return p, true, nil
}

// dropOrderAt removes an order of a URL.
func (g *group) dropOrderAt(k weburl.Key, p record.OrderPlace) error {
	g.remove(p.Key(k))
	g.remove(p.IndexKey(k))
	g.countOrder(p, ^uint64(0))
	return g.release(p.Segment, p.Size)
}

// countOrder counts an order as new, or as removed if by is ^0.
func (g *group) countOrder(p record.OrderPlace, by uint64) {
	if p.Pends() {
		g.nextCount.Pends += by
		return
	}
	g.nextCount.Waiting += by
	g.nextCount.Bytes += by * p.Size
}

// dropDead removes a dead letter of a URL, if there is one.
func (g *group) dropDead(target string, k weburl.Key) error {
	key := record.DeadKey(target, k)
	v, err := g.get(key)
	if err != nil || v == nil {
		return err
	}
	d, err := record.DecodeDead(v)
	if err != nil {
		return g.s.damaged(fmt.Sprintf("dead letter %q", key), err)
	}
	g.remove(key)
	g.nextCount.Dead--
	return g.release(d.Place.Segment, d.Size())
}

// dropOrders removes a URL's waiting order and its dead letters. It returns elsewhere if that removes the only trace of
// a document that a target may have under another source.
func (g *group) dropOrders(k weburl.Key) (elsewhere bool, err error) {
	p, ok, err := g.orderPlace(k)
	if err == nil && ok {
		elsewhere = p.Moved || p.Delete
		err = g.dropOrderAt(k, p)
	}
	if err != nil || g.nextCount.Dead == 0 {
		return elsewhere, err
	}
	cursors, err := g.cursors()
	if err != nil {
		return elsewhere, err
	}
	dead := g.nextCount.Dead
	for t := range cursors {
		if err := g.dropDead(t, k); err != nil {
			return elsewhere, err
		}
	}
	return elsewhere || g.nextCount.Dead < dead, nil
}

// putOrder stores a waiting order, under a new number, in the place of an older one.
func (g *group) putOrder(k weburl.Key, o *record.Order) error {
	if err := g.refer(o.Place.Segment, o.Size()); err != nil {
		return err
	}
	elsewhere, err := g.dropOrders(k)
	if err != nil {
		return err
	}
	o.Moved = o.Op == push.Add && (o.Moved || elsewhere)
	g.nextCount.Order++
	g.storeOrder(k, record.OrderPlace{Kind: record.KindOrder}.Numbered(g.nextCount.Order, o), o)
	g.stepOrders = true
	return nil
}

// storeOrder stores an order in an empty place.
func (g *group) storeOrder(k weburl.Key, p record.OrderPlace, o *record.Order) {
	g.set(p.Key(k), o.Append(nil))
	g.scratch = p.Append(g.scratch[:0])
	g.set(p.IndexKey(k), g.scratch)
	g.countOrder(p, 1)
}
