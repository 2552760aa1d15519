package crawl

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/bits"
	"sync"

	"github.com/sextant-crawler/sextant/crawl/near"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// A document whose content another document of its source has, or nearly has, is not
// indexed: it is a copy, and the other its original. The index of fingerprints only
// says where to look: that the original is there, and like it, is asked of its record.
// So what the index lacks costs a copy in the search index, and what it has too much
// costs a read. When the original goes or changes, its copies are fetched again.

// Why a copy is not indexed.
const (
	sameContent = "it has the content of "
	nearContent = "it has nearly the content of "
)

// isCopy tells copies from pages whose canonical is another.
func isCopy(r *scheduler.Record) bool {
	return r.DuplicateOf != "" && (r.Reason == scheduler.ReasonCopy || r.Reason == scheduler.ReasonNearCopy)
}

// copyWords say why a copy is not indexed, before the original's URL.
func copyWords(why scheduler.Reason) string {
	if why == scheduler.ReasonNearCopy {
		return nearContent
	}
	return sameContent
}

// duplicates are the fingerprints of all documents, and which copies they have.
type duplicates struct {
	mu        sync.Mutex
	originals *near.Index
	copies    *near.Index // by the original's key
	inFlight  map[weburl.Key]*content
	found     uint64 // copies since the process started
	loaded    bool
}

// content is what is compared of a document.
type content struct {
	hash    [16]byte
	simhash uint64 // 0: the text is too short
	source  string
	// Of one in flight: the original if it is a copy, and whether that went or changed
	// meanwhile.
	copyOf weburl.Key
	again  bool
}

func newDuplicates() *duplicates {
	return &duplicates{originals: near.New(), copies: near.New(), inFlight: map[weburl.Key]*content{}}
}

// contentOf is what a record says of its document.
func contentOf(r *scheduler.Record) *content {
	return &content{hash: r.Hash, simhash: r.Simhash, source: r.PushedSource}
}

// like says whether two contents are the same, or nearly.
func (c *content) like(o *content) (same, nearly bool) {
	if c.source != o.source {
		return false, false
	}
	nearly = c.simhash != 0 && o.simhash != 0 && bits.OnesCount64(c.simhash^o.simhash) <= near.Distance
	return c.hash == o.hash, nearly
}

// fingerprint is that of the text or, where it is too short, of all that is pushed. It
// keeps sources apart without changing distances.
func (c *content) fingerprint() uint64 {
	if c.simhash == 0 {
		return binary.LittleEndian.Uint64(c.hash[:])
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.source))
	return c.simhash ^ h.Sum64()
}

// keyPrint is the fingerprint under which copies are found by their original's key.
func keyPrint(k weburl.Key) uint64 { return binary.LittleEndian.Uint64(k[:]) }

// original is the document that this one is a copy of, nil if it is none. From then on,
// until settle, it counts as a document for others that come at the same time.
func (v *visit) original(ctx context.Context, c *content) (of *scheduler.Record, why scheduler.Reason, err error) {
	d := v.duplicates
	d.mu.Lock()
	defer d.mu.Unlock()
	var candidates []weburl.Key
	collect := func(key near.Key) bool {
		if key != near.Key(v.lease.Key) {
			candidates = append(candidates, key)
		}
		return len(candidates) < maxCandidates
	}
	exact, at := (&content{hash: c.hash}).fingerprint(), c.fingerprint()
	d.originals.Same(exact, collect) // long texts, too, that were stored without a fingerprint of theirs
	if c.simhash != 0 {
		d.originals.Near(at, func(_ uint64, key near.Key) bool { return collect(key) })
	}
	d.drop(&v.lease.Record, v.lease.Key)
	for _, key := range candidates {
		r, same, err := v.isOriginal(ctx, key, c)
		if err != nil {
			return nil, why, err
		}
		if r == nil {
			continue
		}
		why = scheduler.ReasonNearCopy
		if same {
			why = scheduler.ReasonCopy
		}
		c.copyOf = key
		d.inFlight[v.lease.Key] = c
		d.found++
		return r, why, nil
	}
	d.hold(at, v.lease.Key)
	d.inFlight[v.lease.Key] = c
	return nil, why, nil
}

// maxCandidates bounds how many documents are asked whether they are the original.
const maxCandidates = 32

// isOriginal says whether a candidate is a document that a content is like.
func (v *visit) isOriginal(ctx context.Context, key weburl.Key, c *content) (r *scheduler.Record, same bool, err error) {
	record, err := v.store.Lookup(ctx, key)
	if err != nil && !errors.Is(err, scheduler.ErrNotFound) {
		return nil, false, err
	}
	other, flies := v.duplicates.inFlight[key]
	if !flies {
		other = contentOf(&record)
	}
	same, nearly := other.like(c)
	is := err == nil && (same || nearly)
	if flies {
		is = is && other.copyOf == weburl.Key{}
	} else {
		is = is && record.Indexed && record.DuplicateOf == ""
	}
	if !is {
		if !flies {
			v.duplicates.forget(key, c)
		}
		return nil, false, nil
	}
	return &record, same, nil
}

// forget takes entries out that lead from a content to a key that has none like it.
func (d *duplicates) forget(key weburl.Key, c *content) {
	stale := []uint64{(&content{hash: c.hash}).fingerprint()}
	d.originals.Near(c.fingerprint(), func(h uint64, k near.Key) bool {
		if k == key {
			stale = append(stale, h)
		}
		return true
	})
	for _, h := range stale {
		d.originals.Remove(h, key)
	}
}

// hold enters a document, once.
func (d *duplicates) hold(at uint64, key weburl.Key) {
	held := false
	d.originals.Same(at, func(k near.Key) bool { held = k == key; return !held })
	if !held {
		d.originals.Add(at, key)
	}
}

// drop takes out what a record says that its document was.
func (d *duplicates) drop(r *scheduler.Record, key weburl.Key) {
	if r.Indexed {
		d.originals.Remove(contentOf(r).fingerprint(), key)
	}
}

// abandon ends what original began, where the page was not stored.
func (v *visit) abandon() {
	if v.duplicates == nil {
		return
	}
	v.duplicates.mu.Lock()
	defer v.duplicates.mu.Unlock()
	delete(v.duplicates.inFlight, v.lease.Key)
}

// settle is called when the outcome of a page is stored.
func (v *visit) settle(ctx context.Context, r *scheduler.Result) error {
	if v.duplicates == nil {
		return nil
	}
	if again := v.duplicates.settled(v.lease); again {
		return v.requeue(ctx, v.lease.URL)
	}
	old := &v.lease.Record
	switch {
	case !old.Indexed, r.Document != nil && r.Document.Hash == old.Hash, r.Document == nil && r.Status == 304:
		return nil
	case r.Document == nil:
		record, err := v.store.Lookup(ctx, v.lease.Key)
		if err == nil && record.Indexed && record.DuplicateOf == "" { // its deletion is held, or the error is passing
			return nil
		}
		if err != nil && !errors.Is(err, scheduler.ErrNotFound) {
			return err
		}
		v.duplicates.mu.Lock()
		v.duplicates.drop(old, v.lease.Key)
		v.duplicates.mu.Unlock()
	}
	return v.freeCopies(ctx, []weburl.Key{v.lease.Key})
}

// settled ends the flight of a document, and says whether its original went or changed
// meanwhile.
func (d *duplicates) settled(l *scheduler.Lease) (again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := weburl.Key{}
	if isCopy(&l.Record) {
		if u, ok := weburl.FromCanonical(l.Record.DuplicateOf); ok {
			was = u.Key()
		}
	}
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

// freeCopies fetches the copies of documents again that went or changed.
func (c *Crawl) freeCopies(ctx context.Context, originals []weburl.Key) error {
	if c.duplicates == nil {
		return nil
	}
	for _, original := range originals {
		for _, key := range c.duplicates.take(original) {
			r, err := c.store.Lookup(ctx, key)
			if errors.Is(err, scheduler.ErrNotFound) || err == nil && !isCopy(&r) {
				continue
			}
			if err != nil {
				return err
			}
			u, ok := weburl.FromCanonical(r.DuplicateOf)
			copied, known := weburl.FromCanonical(r.URL)
			if !ok || !known || u.Key() != original {
				continue
			}
			if err := c.requeue(ctx, copied); err != nil {
				return err
			}
		}
	}
	return nil
}

// take gives the copies of a document, and forgets them. Those in flight are told.
func (d *duplicates) take(original weburl.Key) []weburl.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
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

// compare gives what is compared of a document, with the fingerprint of its text.
func compare(d *push.Document, sum [16]byte) *content {
	c := &content{hash: sum, source: d.Source}
	if simhash, words := near.Simhash(d.Text); words >= near.MinWords {
		c.simhash = simhash
	}
	return c
}
