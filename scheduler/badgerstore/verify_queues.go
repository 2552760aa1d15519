package badgerstore

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// queueWalk is the queue that the walk over the queues' entries is in.
type queueWalk struct {
	at    scheduler.Place
	count uint64
	first uint64 // lowest number
}

// enterQueue counts an entry of a queue; entries come queue by queue, lowest number first.
func (v *verification) enterQueue(p scheduler.Place, seq uint64) error {
	if v.queue.count > 0 && v.queue.at != p {
		if err := v.endQueue(); err != nil {
			return err
		}
	}
	if v.queue.count == 0 {
		v.queue = queueWalk{at: p, first: seq}
	}
	v.queue.count++
	return nil
}

// endQueue compares the queue with its state.
func (v *verification) endQueue() error {
	w := v.queue
	v.queue = queueWalk{}
	if w.count == 0 {
		return nil
	}
	q, err := v.s.placeState(v.txn, w.at)
	if q.Count > 0 {
		v.statesMet++
	}
	switch {
	case err != nil:
		return err
	case q.Count != w.count:
		v.fault("", "state of source %d of host %x says that %d URLs wait, but there are %d", w.at.Source, w.at.Host, q.Count, w.count)
	case q.Floor > w.first:
		v.fault("", "state of source %d of host %x says that none waits below %d, but number %d does", w.at.Source, w.at.Host, q.Floor, w.first)
	}
	return nil
}

// place reads a queue's state.
func (v *verification) place(item *badger.Item) error {
	v.states++
	_, _, err := v.s.placeOf(item)
	return err
}

// endPlaces looks for states of queues that are empty, if there are more states than
// queues that have one.
func (v *verification) endPlaces() error {
	if v.states == v.statesMet {
		return nil
	}
	return v.s.walk(v.ctx, v.txn, []byte{record.KindPlace}, []byte{record.KindPlace}, false, func(item *badger.Item) error {
		p, _, err := v.s.placeOf(item)
		if err != nil {
			return nil // told before
		}
		it := v.txn.NewIterator(badger.IteratorOptions{Prefix: record.QueuePrefix(p)})
		defer it.Close()
		if it.Rewind(); !it.Valid() {
			v.fault("", "source %d of host %x has a state, but nothing waits there", p.Source, p.Host)
		}
		return nil
	})
}

// removal checks a note of a removed URL.
func (v *verification) removal(item *badger.Item) error {
	if len(item.Key()) != record.RemovalKeyLen {
		return record.ErrLength
	}
	n, k := record.SplitRemovalKey(item.Key())
	if n > v.now().Removals {
		v.fault("", "note of removal %d is above the number of removals, %d", n, v.now().Removals)
	}
	if v.set == nil || !v.set.Has(k) {
		return nil
	}
	b, err := read(v.txn, record.URLKey(k))
	if err == nil && knowledgeOf(b) != isKnown {
		v.fault("", "URL with key %s was removed or is gone, but its fingerprint says that it is known", k)
	}
	return err
}

// openSet reads the fingerprints as the next process would, if the file is that of the
// snapshot; without one there is nothing that could be wrong.
func (v *verification) openSet() error {
	saved, err := v.s.savedFile(v.txn)
	if err != nil {
		return fmt.Errorf("name of the fingerprints' file: %w", err)
	}
	l, number, err := v.s.loadFile(saved)
	if errors.Is(err, fs.ErrNotExist) || err == nil && number != saved.Number {
		return nil
	}
	if err != nil {
		v.s.log.Info("cannot use the file of fingerprints", "reason", err)
		return nil
	}
	v.set = l.set
	return v.s.applyRemovals(v.txn, &l)
}

// fingerprint counts the known URLs that the set holds.
func (v *verification) fingerprint(k weburl.Key, rec *scheduler.Record) {
	if v.set != nil && !rec.Gone && v.set.Has(k) {
		v.hits++
	}
}

// fingerprints reports whether the set holds more than what is known.
func (v *verification) fingerprints() {
	if v.set == nil {
		return
	}
	if extra := v.set.Len() - v.hits; extra > 0 {
		v.fault("", "%d of %d fingerprints are of no URL that is known and not gone: links to them would be lost; remove the file %s, it is made anew",
			extra, v.set.Len(), knownFile)
	}
}
