package copies

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// loadPatience limits the time that Begin reads. It suffices for small stores.
	loadPatience = 500 * time.Millisecond
	// loadBatch is the number of records read before the lock is released.
	loadBatch = 5000
	// recheckEvery is the time between two comparisons of the known frames with the copies found.
	recheckEvery = time.Minute
)

// Begin reads the places of documents for a short time. It must be called before the first page.
func (d *Detector) Begin(ctx context.Context) error {
	if d == nil {
		return nil
	}
	for began := time.Now(); time.Since(began) < loadPatience; {
		if done, err := d.loadBatch(ctx); done || err != nil {
			return err
		}
	}
	return nil
}

// Load reads the rest after Begin. It may be called again after an error, and resumes. Cancelling ctx is not an error.
func (d *Detector) Load(ctx context.Context) error {
	if d == nil || d.isLoaded() {
		return nil
	}
	for began := time.Now(); ; {
		part := time.Now()
		done, err := d.loadBatch(ctx)
		if err != nil {
			return err
		}
		if done {
			d.log.Info("now looking for duplicates among all documents", "documents", d.Len(), "took", time.Since(began).Round(time.Millisecond))
			return nil
		}
		select { // half of the time is the crawl's
		case <-ctx.Done():
			return nil
		case <-time.After(time.Since(part)):
		}
	}
}

// Run calls Load, and then Recheck periodically until ctx ends. It may be called again after an error, and resumes.
func (d *Detector) Run(ctx context.Context) error {
	if d == nil {
		return nil
	}
	if err := d.Load(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := d.Recheck(ctx); err != nil {
			return err
		}
	}
}

// loadBatch reads the places of documents from one batch of records. It refetches copies whose original disappeared or
// changed unseen, which happens when the process is killed.
func (d *Detector) loadBatch(ctx context.Context) (done bool, err error) {
	batch, next, done, err := scheduler.ReadBatch(ctx, d.store, d.next, loadBatch, loadBatch, isCompared)
	if err != nil {
		return false, err
	}
	for i := range batch {
		r := &batch[i].Record
		orphan, err := d.load(ctx, batch[i].Key, r)
		if u, ok := weburl.FromCanonical(r.URL); err == nil && orphan && ok {
			err = d.free(ctx, u)
		}
		if err != nil {
			return false, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next, d.loaded = next, done
	return done, nil
}

// isCompared reports whether a record is of a document, or of a copy of one.
func isCompared(r *scheduler.Record) bool { return r.Indexed && r.DuplicateOf == "" || IsCopy(r) }

// load adds one record. It is an orphan if it is a copy without a document. For a record in flight it adds only the
// reference to its original, which settled removes.
func (d *Detector) load(ctx context.Context, k weburl.Key, r *scheduler.Record) (orphan bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, compared := d.inFlight[k]; r.Indexed && r.DuplicateOf == "" && !compared {
		d.addPage(documentOf(r).place, k, false)
	}
	if !IsCopy(r) {
		return false, nil
	}
	s := d.begin()
	defer d.end(s)
	var original, copied *Content
	if of := originalOf(r); of != (weburl.Key{}) {
		err = d.ask(ctx, s, func() {
			if original = d.document(s, of); original != nil {
				copied = contentOf(r, original.source)
				orphan = !d.isStillOf(s, copied, original, r.Reason)
			}
		})
	}
	_, compared := d.inFlight[k]
	if err != nil || original == nil || orphan {
		return err == nil && !compared, err
	}
	d.copies.Add(keyPlace(originalOf(r)), k)
	if !compared && !copied.IsZero() {
		d.addPage(copied.place, k, true)
	}
	return false, nil
}

// isStillOf reports whether a copy still equals its original, as far as that is known. The mutex
// is held.
func (d *Detector) isStillOf(s *search, copied, original *Content, why scheduler.Reason) bool {
	switch {
	case copied.IsZero(), original.IsZero():
		return why == scheduler.ReasonCopy
	case why == scheduler.ReasonCopy:
		return copied.Signature == original.Signature
	}
	v := near.Judge(&copied.Signature, &original.Signature, d.frame(s, copied.host), d.frame(s, original.host))
	return v.Reason != near.OtherTitle && v.Reason != near.OtherText && v.Reason != near.Long
}

func (d *Detector) isLoaded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loaded
}
