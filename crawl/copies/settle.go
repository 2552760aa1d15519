package copies

import (
	"context"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Abandon undoes Original if the page was not stored.
func (d *Detector) Abandon(key weburl.Key) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inFlight, key)
}

// Settle is called when the outcome of a page is stored. It returns a function that refetches copies whose original
// disappeared or changed, for which it needs the store; nil if there are none.
func (d *Detector) Settle(l *scheduler.Lease, r *scheduler.Result) func(context.Context) error {
	if d == nil {
		return nil
	}
	old := &l.Record
	same := !old.Indexed || r.Document != nil && hashOf(r.Document.Hash) == hashOf(old.Hash) || r.Document == nil && r.Status == 304
	again, review := d.settled(l)
	switch {
	case again:
		return func(ctx context.Context) error { return d.free(ctx, l.URL) }
	case same && len(review) == 0:
		return nil
	}
	return func(ctx context.Context) error {
		if _, err := d.review(ctx, review); err != nil || same {
			return err
		}
		return d.replaced(ctx, l, r)
	}
}

// replaced refetches the copies of a page whose document was deleted or changed.
func (d *Detector) replaced(ctx context.Context, l *scheduler.Lease, r *scheduler.Result) error {
	if r.Document == nil {
		record, err := scheduler.Find(ctx, d.store, l.Key)
		if err != nil {
			return err
		}
		if record != nil && record.Indexed && record.DuplicateOf == "" { // its deletion is held, or the error is passing
			return nil
		}
		d.mu.Lock()
		d.drop(&l.Record, l.Key)
		d.mu.Unlock()
	}
	return d.Free(ctx, []weburl.Key{l.Key})
}

// settled ends the flight of a document. again reports that its original disappeared or changed meanwhile; review lists
// the titles to compare again.
func (d *Detector) settled(l *scheduler.Lease) (again bool, review []uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed(l.Key)
	delete(d.whole, l.Key)
	delete(d.freed, l.Key)
	was := originalOf(&l.Record)
	c := d.inFlight[l.Key]
	delete(d.inFlight, l.Key)
	is := weburl.Key{}
	if c != nil {
		is, again, review = c.copyOf, c.again, c.review
	}
	if was != is && was != (weburl.Key{}) {
		d.copies.Remove(keyPlace(was).Body, l.Key)
	}
	if is != (weburl.Key{}) && !again && was != is {
		d.copies.Add(keyPlace(is), l.Key)
	}
	return again, review
}

// Free refetches the copies of documents that were deleted or changed.
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
			if r == nil {
				continue
			}
			if of := originalOf(r); of != original {
				d.keepCopy(of, key)
				continue
			}
			copied, ok := weburl.FromCanonical(r.URL)
			if !ok {
				continue
			}
			if err := d.free(ctx, copied); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepCopy takes back a copy of another document than the one for which it was taken.
func (d *Detector) keepCopy(of, key weburl.Key) {
	if of == (weburl.Key{}) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.copies.Add(keyPlace(of), key)
}

// take returns the copies of a document, and forgets them. It notifies those in flight.
func (d *Detector) take(original weburl.Key) []weburl.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed(original)
	var keys []weburl.Key
	at := keyPlace(original).Body
	d.copies.Text(at, func(k near.Key) bool { keys = append(keys, weburl.Key(k)); return true })
	for _, k := range keys {
		d.copies.Remove(at, k)
	}
	for _, c := range d.inFlight {
		c.again = c.again || c.copyOf == original
	}
	return keys
}
