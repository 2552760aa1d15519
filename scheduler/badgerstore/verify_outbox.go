package badgerstore

import (
	"bytes"
	"math"

	"github.com/dgraph-io/badger/v4"

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

// order checks a waiting or held order.
func (v *verification) order(item *badger.Item) error {
	v.report.Orders++
	e, k, err := v.s.entry(item)
	if err != nil {
		return err
	}
	place := orderPlace{kind: item.Key()[0], seq: e.Seq, size: uint64(len(e.Body))}
	if place.kind == kindHeld {
		v.count.held++
	} else {
		v.count.waiting++
		v.count.bytes += place.size
		if v.targets != nil && e.Seq <= v.low {
			v.fault(e.URL, "order %d still waits, but all targets are past it (lowest cursor %d)", e.Seq, v.low)
		}
	}
	if e.Seq > v.now().order {
		v.fault(e.URL, "order %d is above the highest number given out, %d", e.Seq, v.now().order)
	}
	if u, err := weburl.Parse(e.URL); err != nil || u.Key() != k {
		v.fault(e.URL, "order %d is stored under another URL's key %s", e.Seq, k)
	}
	at, err := read(v.txn, byURLKey(k))
	if err == nil && !bytes.Equal(at, place.encode()) {
		v.fault(e.URL, "order %d is not what the URL's entry in the outbox names", e.Seq)
	}
	return err
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
	d, k, err := v.s.deadLetter(item)
	if err != nil {
		return err
	}
	if !v.targets[d.Target] {
		v.fault(d.URL, "dead letter is of target %q, which is not known", d.Target)
	}
	if u, err := weburl.Parse(d.URL); err != nil || u.Key() != k {
		v.fault(d.URL, "dead letter is stored under another URL's key %s", k)
	}
	return nil
}
