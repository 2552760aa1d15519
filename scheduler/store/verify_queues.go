package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// queueWalk is the queue that is being walked over.
type queueWalk struct {
	at    scheduler.Place
	met   bool
	state record.Queue
	count uint64
	first uint64 // lowest number that waits
}

// waits checks that a waiting URL stands in its queue.
func (v *verification) waits(k weburl.Key, rec *scheduler.Record) error {
	b, err := v.view.Get(record.QueueKey(placeOf(rec), rec.Seq))
	if err != nil {
		return err
	}
	q, err := v.s.placeState(v.view, placeOf(rec))
	if err != nil {
		return nil // reported with the state
	}
	var at weburl.Key
	found := false
	if c := record.Chunk(b); c.Valid() {
		at, found = c.At(rec.Seq)
	}
	chunk, bit := record.ChunkOf(rec.Seq)
	switch {
	case !found || q.Done.Of(chunk)&bit != 0:
		v.fault(rec.URL, "is pending in source %d as number %d, but is not in that queue", rec.Source, rec.Seq)
	case at != k:
		v.fault(rec.URL, "is pending in source %d as number %d, but another URL has that place", rec.Source, rec.Seq)
	}
	return nil
}

// queued checks a chunk of a queue.
func (v *verification) queued(key, value []byte) error {
	if len(key) != record.QueueKeyLen {
		return record.ErrLength
	}
	if p, _ := record.SplitQueueKey(key); !v.queue.met || v.queue.at != p {
		v.endQueue()
		state, err := v.s.placeState(v.view, p)
		if state.Count > 0 {
			v.statesMet++
		}
		v.queue = queueWalk{at: p, met: true, state: state}
		if err != nil {
			return err
		}
	}
	all := record.Queue{Done: v.queue.state.Done} // include those below the floor
	return v.s.eachQueued(key, value, &all, v.entry)
}

// entry checks an entry of a queue; they come queue by queue, lowest number first.
func (v *verification) entry(seq uint64, k weburl.Key) error {
	w := &v.queue
	v.report.Queued++
	if seq > v.now().Seq {
		v.fault("", "queue number %d is above the highest one assigned, %d", seq, v.now().Seq)
	}
	if w.count == 0 {
		w.first = seq
	}
	w.count++
	rec, ok := v.known(k, fmt.Sprintf("number %d of source %d", seq, w.at.Source))
	if ok && (rec.State != scheduler.Waiting || placeOf(&rec) != w.at || rec.Seq != seq) {
		v.fault(rec.URL, "is number %d of source %d, but not according to its record (state %d, source %d, number %d)",
			seq, w.at.Source, rec.State, rec.Source, rec.Seq)
	}
	return nil
}

// endQueue compares the queue with its state.
func (v *verification) endQueue() {
	w := v.queue
	v.queue = queueWalk{}
	switch {
	case !w.met:
	case w.state.Count != w.count:
		v.fault("", "the state of source %d of host %x counts %d pending URLs, but there are %d", w.at.Source, w.at.Host, w.state.Count, w.count)
	case w.state.Floor > w.first:
		v.fault("", "the state of source %d of host %x has no pending URL below %d, but number %d is pending", w.at.Source, w.at.Host, w.state.Floor, w.first)
	}
}

// place checks a queue's state. Its chunks must exist.
func (v *verification) place(key, value []byte) error {
	v.states++
	p, q, err := v.s.placeOf(key, value)
	if err != nil {
		return err
	}
	for i := range q.Done.Len() {
		chunk, of := q.Done.At(i)
		b, err := v.view.Get(record.QueueKey(p, chunk*record.ChunkLen))
		if err != nil {
			return err
		}
		if c := record.Chunk(b); !c.Valid() || c.Has()&of != of {
			v.fault("", "the state of source %d of host %x marks URLs from number %d on as done, but they never existed", p.Source, p.Host, chunk*record.ChunkLen)
		}
	}
	return nil
}

// endPlaces looks for states of empty queues, if there are more states than queues that have one.
func (v *verification) endPlaces() error {
	if v.states == v.statesMet {
		return nil
	}
	return v.s.walk(v.ctx, v.view, []byte{record.KindPlace}, []byte{record.KindPlace}, true, func(key, value []byte) error {
		p, _, err := v.s.placeOf(key, value)
		if err != nil {
			return nil // already reported
		}
		prefix := record.QueuePrefix(p)
		err = v.view.Walk(prefix, prefix, false, func(_, _ []byte) error { return errEnough })
		if err == nil {
			v.fault("", "source %d of host %x has a state, but no pending URL", p.Source, p.Host)
		} else if errors.Is(err, errEnough) {
			err = nil
		}
		return err
	})
}

// removal checks a note of a removed URL.
func (v *verification) removal(key, value []byte) error {
	if len(key) != record.RemovalKeyLen {
		return record.ErrLength
	}
	n, k := record.SplitRemovalKey(key)
	if n > v.now().Removals {
		v.fault("", "the note of removal %d is above the number of removals, %d", n, v.now().Removals)
	}
	if v.set == nil || !v.set.Has(k) {
		return nil
	}
	b, err := v.view.Get(record.URLKey(k))
	if err == nil && knowledgeOf(b) != isKnown {
		v.fault("", "the URL with key %s was removed or is gone, but still has the fingerprint of a known URL", k)
	}
	return err
}

// openSet reads the fingerprints as the next process would, if the file belongs to the snapshot; without a file there
// is nothing to check.
func (v *verification) openSet() error {
	saved, err := v.s.savedFile(v.view)
	if err != nil {
		return fmt.Errorf("name of the file of fingerprints: %w", err)
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
	return v.s.applyRemovals(v.view, &l)
}

// fingerprint counts the known URLs that the set holds.
func (v *verification) fingerprint(k weburl.Key, rec *scheduler.Record) {
	if v.set != nil && !rec.Gone && v.set.Has(k) {
		v.hits++
	}
}

// fingerprints reports a fault if the set holds more than the known URLs.
func (v *verification) fingerprints() {
	if v.set == nil {
		return
	}
	if extra := v.set.Len() - v.hits; extra > 0 {
		v.fault("", "%d of %d fingerprints belong to no known URL, or to one that is gone, so links to these URLs would be lost: remove the file fingerprints, and it is built again",
			extra, v.set.Len())
	}
}
