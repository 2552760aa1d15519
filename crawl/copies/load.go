package copies

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// loadPatience is how long Begin reads: in small stores it reads all in that time.
	loadPatience = 500 * time.Millisecond
	// loadBatch is how many records are read before others have their turn.
	loadBatch = 5000
)

// Begin reads the fingerprints of documents for a short while. It is called before the
// first page.
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

// Load reads what Begin has left. After an error it goes on where it was if it is called
// again. The end of ctx is no error.
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
			d.log.Info("duplicates are looked for among all documents", "documents", d.Len(), "took", time.Since(began).Round(time.Millisecond))
			return nil
		}
		select { // half of the time is the crawl's
		case <-ctx.Done():
			return nil
		case <-time.After(time.Since(part)):
		}
	}
}

// loadBatch reads one batch of fingerprints from their records, and fetches copies again
// whose original went or changed unseen, as it does when the process is killed.
func (d *Detector) loadBatch(ctx context.Context) (done bool, err error) {
	batch, next, done, err := scheduler.ReadBatch(ctx, d.store, d.next, loadBatch, loadBatch, isCompared)
	if err != nil {
		return false, err
	}
	for i := range batch {
		r := &batch[i].Record
		orphan, err := d.load(ctx, batch[i].Key, r)
		if u, ok := weburl.FromCanonical(r.URL); err == nil && orphan && ok {
			err = d.requeue(ctx, u)
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

// load takes one record in. It is an orphan if it is a copy of no document. Of one in
// flight only what it is a copy of is taken in, which settled takes out again.
func (d *Detector) load(ctx context.Context, k weburl.Key, r *scheduler.Record) (orphan bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, compared := d.inFlight[k]; r.Indexed && r.DuplicateOf == "" && !compared {
		d.hold(contentOf(r).fingerprint(), k)
	}
	if !IsCopy(r) {
		return false, nil
	}
	of := originalOf(r)
	s := d.begin()
	defer d.end(s)
	for _, read := s.records[of]; !read && of != (weburl.Key{}); _, read = s.records[of] {
		if err := d.read(ctx, s, of); err != nil {
			return false, err
		}
	}
	_, compared := d.inFlight[k]
	if _, flies := d.inFlight[of]; !flies && !isOriginalOf(s.records[of], r) {
		return !compared, nil
	}
	d.copies.Add(keyPrint(of), k)
	return false, nil
}

// isOriginalOf reports whether a stored URL is still the document that a copy was like.
func isOriginalOf(original, copied *scheduler.Record) bool {
	if original == nil || !original.Indexed {
		return false
	}
	own := Content{Simhash: copied.Simhash, source: original.PushedSource}
	_, nearly := own.like(contentOf(original))
	return nearly || copied.Simhash == 0
}

func (d *Detector) isLoaded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loaded
}
