package copies

import (
	"context"

	"github.com/sextant-crawler/sextant/crawl/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Abandon ends what Original began if the page was not stored.
func (d *Detector) Abandon(key weburl.Key) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inFlight, key)
}

// Settle is called when the outcome of a page is stored. It fetches copies again whose
// original went or changed.
func (d *Detector) Settle(ctx context.Context, l *scheduler.Lease, r *scheduler.Result) error {
	if d == nil {
		return nil
	}
	if again := d.settled(l); again {
		return d.requeue(ctx, l.URL)
	}
	old := &l.Record
	switch {
	case !old.Indexed, r.Document != nil && r.Document.Hash == old.Hash, r.Document == nil && r.Status == 304:
		return nil
	case r.Document == nil:
		record, err := scheduler.Find(ctx, d.store, l.Key)
		if err != nil {
			return err
		}
		if record != nil && record.Indexed && record.DuplicateOf == "" { // its deletion is held, or the error is passing
			return nil
		}
		d.mu.Lock()
		d.drop(old, l.Key)
		d.mu.Unlock()
	}
	return d.Free(ctx, []weburl.Key{l.Key})
}

// settled ends the flight of a document. Again says that its original went or changed
// meanwhile.
func (d *Detector) settled(l *scheduler.Lease) (again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed(l.Key)
	was := originalOf(&l.Record)
	c := d.inFlight[l.Key]
	delete(d.inFlight, l.Key)
	is := weburl.Key{}
	if c != nil {
		is, again = c.copyOf, c.again
	}
	if was != is && was != (weburl.Key{}) {
		d.copies.Remove(keyPrint(was), l.Key)
	}
	if is != (weburl.Key{}) && !again && was != is {
		d.copies.Add(keyPrint(is), l.Key)
	}
	return again
}

// originalOf is the key of the document that a record's page is a copy of, zero if it is none.
func originalOf(r *scheduler.Record) (k weburl.Key) {
	if !IsCopy(r) {
		return k
	}
	if u, ok := weburl.FromCanonical(r.DuplicateOf); ok {
		return u.Key()
	}
	return k
}

// Free fetches the copies of documents again that went or changed.
func (d *Detector) Free(ctx context.Context, originals []weburl.Key) error {
	if d == nil {
		return nil
	}
	for _, original := range originals {
		for _, key := range d.take(original) {
			r, err := scheduler.Find(ctx, d.store, key)
			if err != nil {
				return err
			}
			if r == nil || originalOf(r) != original {
				continue
			}
			copied, ok := weburl.FromCanonical(r.URL)
			if !ok {
				continue
			}
			if err := d.requeue(ctx, copied); err != nil {
				return err
			}
		}
	}
	return nil
}

// take returns the copies of a document, and forgets them. Those in flight are told.
func (d *Detector) take(original weburl.Key) []weburl.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed(original)
	var keys []weburl.Key
	d.copies.Same(keyPrint(original), func(k near.Key) bool { keys = append(keys, k); return true })
	for _, k := range keys {
		d.copies.Remove(keyPrint(original), k)
	}
	for _, c := range d.inFlight {
		c.again = c.again || c.copyOf == original
	}
	return keys
}
