package store

import (
	"fmt"
	"math"

	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

func (v *verification) cursor(key, value []byte) error {
	seq, err := record.DecodeSeq(value)
	if err != nil {
		return err
	}
	target := string(key[1:])
	if seq > v.now().Order {
		v.fault("", "cursor of target %q is %d, above the newest order %d", target, seq, v.now().Order)
	}
	if v.targets == nil {
		v.targets, v.low = map[string]bool{}, math.MaxUint64
	}
	v.targets[target] = true
	v.low = min(v.low, seq)
	return nil
}

// order checks a waiting or pending order.
func (v *verification) order(key, value []byte) error {
	v.report.Orders++
	seq, k, o, err := v.s.order(key, value)
	if err != nil {
		return err
	}
	place, _, err := record.SplitPlaceOf(key)
	if err != nil {
		return err
	}
	if place.Pends() {
		v.deletion(k, place, &o)
	}
	place = place.Numbered(seq, &o)
	v.countOrder(place, &o)
	if seq > v.now().Order {
		v.fault(o.URL, "order %d is above the highest number assigned, %d", seq, v.now().Order)
	}
	if u, err := weburl.Parse(o.URL); err != nil || u.Key() != k {
		v.fault(o.URL, "order %d is stored under another URL's key %s", seq, k)
	}
	if err := v.body(&o, fmt.Sprintf("order %d", seq)); err != nil {
		return err
	}
	at, err := v.view.Get(place.IndexKey(k))
	if err != nil {
		return err
	}
	named, err := record.DecodeOrderPlace(at)
	if err != nil || named != place {
		v.fault(o.URL, "order %d is not the one that the URL's entry in the outbox names", seq)
	}
	return nil
}

// countOrder counts an order under its place.
func (v *verification) countOrder(p record.OrderPlace, o *record.Order) {
	if p.Pends() {
		v.count.Pends++
		return
	}
	v.count.Waiting++
	v.count.Bytes += p.Size
	if v.targets != nil && p.Seq <= v.low {
		v.fault(o.URL, "order %d is still pending, but all targets are past it (lowest cursor %d)", p.Seq, v.low)
	}
}

// deletion checks that a pending loss agrees with its URL's record.
func (v *verification) deletion(k weburl.Key, p record.OrderPlace, o *record.Order) {
	rec, ok := v.known(k, fmt.Sprintf("deletion %d", p.Seq))
	switch {
	case ok && !rec.LossPending:
		v.fault(o.URL, "loss %d is pending, but not according to the record of its URL", p.Seq)
	case ok:
		if want := record.PendingPlace(rec.Host, o.Pending.Edit); p.Kind != want.Kind || p.Group != want.Group {
			v.fault(o.URL, "loss %d is pending in the group of another host or edit", p.Seq)
		}
	}
}

// body checks that the body of an order exists, and counts it.
func (v *verification) body(o *record.Order, what string) error {
	if n := o.Place.Segment; n != 0 {
		st := v.segments[n]
		st.Entries++
		st.Live += o.Place.Length
		v.segments[n] = st
		if end := o.Place.Offset + o.Place.Length; end > v.kept[n].Size {
			v.fault(o.URL, "%s has its body up to byte %d of segment %d, which ends at %d", what, end, n, v.kept[n].Size)
		}
	}
	_, damage, err := v.bodies.Body(o)
	if err != nil {
		return err
	}
	if damage != "" && !o.Lost { // a lost one is known
		v.fault(o.URL, "%s: %s; the service turns it into a dead letter and fetches the URL again", what, damage)
	}
	return nil
}

// segment records a segment's stored state.
func (v *verification) segment(key, value []byte) error {
	n, st, err := segmentOf(key, value)
	if err != nil {
		return err
	}
	v.kept[n] = st
	return nil
}

// endSegments compares the segments' stored states with what was found. The current one may be empty.
func (v *verification) endSegments() {
	for n, kept := range v.kept {
		found := v.segments[n]
		if found.Entries != kept.Entries || found.Live != kept.Live {
			v.fault("", "segment %d has the counts %d bodies in use and %d bytes, but there are %d and %d bytes", n, kept.Entries, kept.Live, found.Entries, found.Live)
		}
	}
	for n := range v.segments {
		if _, ok := v.kept[n]; !ok {
			v.fault("", "segment %d has bodies in use, but no record of it", n)
		}
	}
}

// byURL checks that a URL's entry refers to an existing order.
func (v *verification) byURL(key, value []byte) error {
	if len(key) != record.URLKeyLen {
		return record.ErrLength
	}
	k := weburl.Key(key[1:])
	p, err := record.DecodeOrderPlace(value)
	if err != nil {
		return err
	}
	if kind := key[0]; p.IndexKey(k)[0] != kind {
		return fmt.Errorf("it names an order in state %q", p.Kind)
	}
	if o, err := v.view.Get(p.Key(k)); err != nil || o == nil {
		url := ""
		if rec, err := v.s.lookup(v.view, k); err == nil {
			url = rec.URL
		}
		v.fault(url, "the outbox names order %d for key %s, but it is missing", p.Seq, k)
	}
	return nil
}

func (v *verification) dead(key, value []byte) error {
	v.report.Dead++
	v.count.Dead++
	target, k, d, err := v.s.deadLetter(key, value)
	if err != nil {
		return err
	}
	if !v.targets[target] {
		v.fault(d.URL, "a dead letter belongs to the unknown target %q", target)
	}
	if u, err := weburl.Parse(d.URL); err != nil || u.Key() != k {
		v.fault(d.URL, "a dead letter is stored under another URL's key %s", k)
	}
	return v.body(&d.Order, fmt.Sprintf("dead letter of target %q", target))
}
