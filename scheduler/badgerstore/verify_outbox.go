package badgerstore

import (
	"fmt"
	"math"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func (v *verification) cursor(item *badger.Item) error {
	b, err := copyValue(item)
	if err != nil {
		return err
	}
	seq, err := decodeSeq(b)
	if err != nil {
		return err
	}
	target := string(item.Key()[1:])
	if seq > v.now().order {
		v.fault("", "cursor of target %q is %d, above the newest order %d", target, seq, v.now().order)
	}
	if v.targets == nil {
		v.targets, v.low = map[string]bool{}, math.MaxUint64
	}
	v.targets[target] = true
	v.low = min(v.low, seq)
	return nil
}

// order checks an order that is no dead letter.
func (v *verification) order(item *badger.Item) error {
	v.report.Orders++
	seq, k, o, err := v.s.order(item)
	if err != nil {
		return err
	}
	place := orderPlace{kind: kindOrder}
	if item.Key()[0] != kindOrder {
		if place, _, err = splitDeletionKey(item.Key()); err != nil {
			return err
		}
		v.deletion(k, place, &o)
	}
	place = place.numbered(seq, &o)
	v.countOrder(place, &o)
	if seq > v.now().order {
		v.fault(o.url, "order %d is above the highest number given out, %d", seq, v.now().order)
	}
	if u, err := weburl.Parse(o.url); err != nil || u.Key() != k {
		v.fault(o.url, "order %d is stored under another URL's key %s", seq, k)
	}
	if err := v.body(&o, fmt.Sprintf("order %d", seq)); err != nil {
		return err
	}
	at, err := read(v.txn, place.named(k))
	if err != nil {
		return err
	}
	named, err := decodeOrderPlace(at)
	named.moved, named.delete = place.moved, place.delete // format 2 does not know
	if err != nil || named != place {
		v.fault(o.url, "order %d is not what the URL's entry in the outbox names", seq)
	}
	return nil
}

// countOrder counts an order where it stands.
func (v *verification) countOrder(p orderPlace, o *storedOrder) {
	switch p.deletion() {
	case scheduler.DeletionHeld:
		v.count.held++
	case scheduler.DeletionResting:
		v.count.resting++
	case scheduler.NoDeletion:
		v.count.waiting++
		v.count.bytes += p.size
		if v.targets != nil && p.seq <= v.low {
			v.fault(o.url, "order %d still waits, but all targets are past it (lowest cursor %d)", p.seq, v.low)
		}
	}
}

// deletion checks that a deletion that rests or is held stands where it and its URL's
// record say.
func (v *verification) deletion(k weburl.Key, p orderPlace, o *storedOrder) {
	rec, ok := v.known(k, fmt.Sprintf("deletion %d", p.seq))
	switch {
	case o.op != push.Delete:
		v.fault(o.url, "order %d rests or is held, but is no deletion", p.seq)
	case ok && rec.Deletion != p.deletion():
		v.fault(o.url, "deletion %d is %s, but the record of its URL says %q", p.seq, p.deletion(), rec.Deletion)
	case ok && p.rests():
		if want := restingPlace(rec.Host, o.rest.edit); p.kind != want.kind || p.group != want.group {
			v.fault(o.url, "deletion %d rests in the group of another host or edit", p.seq)
		}
	}
}

// body checks that the body of an order is there, and counts it.
func (v *verification) body(o *storedOrder, what string) error {
	if n := o.place.segment; n != 0 {
		st := v.segments[n]
		st.entries++
		st.live += o.place.length
		v.segments[n] = st
		if end := o.place.offset + o.place.length; end > v.kept[n].size {
			v.fault(o.url, "%s has its body up to byte %d of segment %d, which ends at %d", what, end, n, v.kept[n].size)
		}
	}
	_, damage, err := v.bodies.bodyOf(o)
	if err != nil {
		return err
	}
	if damage != "" && !o.lost { // a lost one is known
		v.fault(o.url, "%s: %s; the service makes it a dead letter and fetches the URL again", what, damage)
	}
	return nil
}

// segment notes what is kept of a segment.
func (v *verification) segment(item *badger.Item) error {
	n, st, err := segmentOf(item)
	if err != nil {
		return err
	}
	v.kept[n] = st
	return nil
}

// endSegments compares what is kept of the segments with what was found. The current
// one may be without entries.
func (v *verification) endSegments() {
	for n, kept := range v.kept {
		found := v.segments[n]
		if found.entries != kept.entries || found.live != kept.live {
			v.fault("", "segment %d is said to have %d bodies that are needed, of %d bytes, but it has %d, of %d bytes", n, kept.entries, kept.live, found.entries, found.live)
		}
	}
	for n := range v.segments {
		if _, ok := v.kept[n]; !ok {
			v.fault("", "segment %d has bodies that are needed, but nothing is kept of it", n)
		}
	}
}

// byURL checks that a URL's entry names an order that is there.
func (v *verification) byURL(item *badger.Item) error {
	if len(item.Key()) != urlKeyLen {
		return errLength
	}
	k := weburl.Key(item.Key()[1:])
	b, err := copyValue(item)
	if err != nil {
		return err
	}
	p, err := decodeOrderPlace(b)
	if err != nil {
		return err
	}
	if kind := item.Key()[0]; p.named(k)[0] != kind {
		return fmt.Errorf("it names an order in state %q", p.kind)
	}
	if _, err := v.txn.Get(p.key(k)); err != nil {
		url := ""
		if rec, err := v.s.lookup(v.txn, k); err == nil {
			url = rec.URL
		}
		v.fault(url, "outbox names order %d for key %s, but it is missing", p.seq, k)
	}
	return nil
}

func (v *verification) dead(item *badger.Item) error {
	v.report.Dead++
	v.count.dead++
	target, k, d, err := v.s.deadLetter(item)
	if err != nil {
		return err
	}
	if !v.targets[target] {
		v.fault(d.url, "dead letter is of target %q, which is not known", target)
	}
	if u, err := weburl.Parse(d.url); err != nil || u.Key() != k {
		v.fault(d.url, "dead letter is stored under another URL's key %s", k)
	}
	return v.body(&d.storedOrder, fmt.Sprintf("dead letter of target %q", target))
}
