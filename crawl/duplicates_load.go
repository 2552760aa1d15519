package crawl

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// loadPatience is how long the first page waits for the fingerprints of documents:
	// in small stores all are there then.
	loadPatience = 500 * time.Millisecond
	// loadBatch is how many records are read before others have their turn.
	loadBatch = 5000
)

// loadDuplicates reads the fingerprints of documents from their records, and fetches
// copies again whose original has gone, or changed, unseen: it was so when the process
// was killed. It reads one batch.
func (c *Crawl) loadDuplicates(ctx context.Context, from weburl.Key) (next weburl.Key, done bool, err error) {
	batch, next, done, err := scheduler.ReadBatch(ctx, c.store, from, loadBatch, loadBatch, isCompared)
	if err != nil {
		return next, false, err
	}
	for i := range batch {
		r := &batch[i].Record
		orphan, err := c.duplicates.load(ctx, c.store, batch[i].Key, r)
		if u, ok := weburl.FromCanonical(r.URL); err == nil && orphan && ok {
			err = c.requeue(ctx, u)
		}
		if err != nil {
			return next, false, err
		}
	}
	return next, done, nil
}

// isCompared says that a record is of a document, or of a copy of one.
func isCompared(r *scheduler.Record) bool { return r.Indexed && r.DuplicateOf == "" || isCopy(r) }

// load takes one record in. It is an orphan if it is a copy of what is no document. Of
// one in flight only what it is a copy of is taken in, which settled takes out again.
func (d *duplicates) load(ctx context.Context, store scheduler.Store, k weburl.Key, r *scheduler.Record) (orphan bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, compared := d.inFlight[k]
	if r.Indexed && r.DuplicateOf == "" && !compared {
		d.hold(contentOf(r).fingerprint(), k)
	}
	if !isCopy(r) {
		return false, nil
	}
	u, ok := weburl.FromCanonical(r.DuplicateOf)
	if !ok {
		return !compared, nil
	}
	original, err := store.Lookup(ctx, u.Key())
	if err != nil && !errors.Is(err, scheduler.ErrNotFound) {
		return false, err
	}
	if _, flies := d.inFlight[u.Key()]; !flies {
		own := content{simhash: r.Simhash, source: original.PushedSource}
		if _, nearly := own.like(contentOf(&original)); err != nil || !original.Indexed || r.Simhash != 0 && !nearly {
			return !compared, nil
		}
	}
	d.copies.Add(keyPrint(u.Key()), k)
	return false, nil
}

// keepDuplicates loads what is left to load until ctx ends. The first part of it is
// the crawl's wait for small stores.
func (c *Crawl) keepDuplicates(ctx context.Context) error {
	if c.duplicates == nil || c.duplicates.isLoaded() {
		return nil
	}
	began, next := time.Now(), c.unloaded
	for {
		part := time.Now()
		to, done, err := c.loadDuplicates(ctx, next)
		if err != nil {
			if err := c.goesOn(ctx, err, "the fingerprints of documents cannot be read", passRetry); err != nil {
				return ignoreStop(err)
			}
			if !pauseFor(ctx, passRetry) {
				return nil
			}
			continue
		}
		if next = to; done {
			c.duplicates.nowLoaded()
			c.log.Info("duplicates are looked for among all documents", "documents", c.duplicates.Len(), "took", time.Since(began).Round(time.Millisecond))
			return nil
		}
		if !pauseFor(ctx, time.Since(part)) { // half of the time is the crawl's
			return nil
		}
	}
}

func pauseFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// beginDuplicates loads as much as there is patience for, and gives where to go on.
func (c *Crawl) beginDuplicates(ctx context.Context) (next weburl.Key, err error) {
	if c.duplicates == nil {
		return next, nil
	}
	for began := time.Now(); time.Since(began) < loadPatience; {
		var done bool
		if next, done, err = c.loadDuplicates(ctx, next); err != nil {
			return next, err
		}
		if done {
			c.duplicates.nowLoaded()
			return next, nil
		}
	}
	return next, nil
}

func (d *duplicates) isLoaded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loaded
}

func (d *duplicates) nowLoaded() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loaded = true
}

// Len is how many documents can be found.
func (d *duplicates) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.originals.Len()
}

// DuplicatesStatus tells of the detection of duplicates.
type DuplicatesStatus struct {
	Documents int    `json:"documents"` // that are compared with
	Copies    int    `json:"copies"`    // known of them
	Found     uint64 `json:"found"`     // copies since the process started
	Bytes     int64  `json:"bytes"`     // of memory
	Loading   bool   `json:"loading,omitempty"`
}

// status is nil where duplicates are not looked for.
func (d *duplicates) status() *DuplicatesStatus {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return &DuplicatesStatus{
		Documents: d.originals.Len(), Copies: d.copies.Len(), Found: d.found,
		Bytes: d.originals.Bytes() + d.copies.Bytes(), Loading: !d.loaded,
	}
}
