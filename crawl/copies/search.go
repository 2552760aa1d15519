package copies

import (
	"context"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// maxCandidates bounds how many documents are asked whether they are the original.
const maxCandidates = 32

// search is one look for an original. The records that it needs are read without the
// mutex: those that change meanwhile are read again.
type search struct {
	records map[weburl.Key]*scheduler.Record // nil: not known
	reads   weburl.Key                       // is being read, or was
	stale   bool                             // it changed meanwhile
}

// begin makes a search that hears of changes until end. The mutex is held.
func (d *Detector) begin() *search {
	s := &search{records: map[weburl.Key]*scheduler.Record{}}
	d.searches[s] = struct{}{}
	return s
}

func (d *Detector) end(s *search) { delete(d.searches, s) }

// changed tells searches that a record is another. The mutex is held.
func (d *Detector) changed(key weburl.Key) {
	for s := range d.searches {
		delete(s.records, key)
		s.stale = s.stale || s.reads == key
	}
}

// read reads a record that a search lacks. The mutex, which is held, is let go meanwhile:
// what the caller knows may be outdated then, and the record may still be lacking.
func (d *Detector) read(ctx context.Context, s *search, key weburl.Key) error {
	s.stale = false
	s.reads = key
	d.mu.Unlock()
	r, err := scheduler.Find(ctx, d.store, key)
	d.mu.Lock()
	if err == nil && !s.stale {
		s.records[key] = r
	}
	return err
}

// Original returns the document that the lease's is a copy of, nil if it is none. From
// then on, until Settle or Abandon, the lease's counts as a document for others that come
// at the same time.
func (d *Detector) Original(ctx context.Context, l *scheduler.Lease, c *Content) (of *scheduler.Record, why scheduler.Reason, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.begin()
	defer d.end(s)
	at, why, lacking := d.original(s, l.Key, c)
	for ; lacking; at, why, lacking = d.original(s, l.Key, c) {
		if err := d.read(ctx, s, at); err != nil {
			return nil, scheduler.NoReason, err
		}
	}
	d.drop(&l.Record, l.Key)
	d.inFlight[l.Key] = c
	if why == scheduler.NoReason {
		d.hold(c.fingerprint(), l.Key)
		return nil, why, nil
	}
	c.copyOf = at
	d.found++
	return s.records[at], why, nil
}

// original looks for the original among the candidates, by the records that the search
// has read; why is NoReason if there is none. Lacking says that the record of a key must be
// read first. The mutex is held.
func (d *Detector) original(s *search, own weburl.Key, c *Content) (key weburl.Key, why scheduler.Reason, lacking bool) {
	for _, key := range d.candidates(own, c) {
		r, read := s.records[key]
		if !read {
			return key, why, true
		}
		switch is, same := d.isOriginal(key, r, c); {
		case is && same:
			return key, scheduler.ReasonCopy, false
		case is:
			return key, scheduler.ReasonNearCopy, false
		}
	}
	return key, scheduler.NoReason, false
}

// candidates are the documents whose fingerprints are like the content's. The mutex is held.
func (d *Detector) candidates(own weburl.Key, c *Content) (keys []weburl.Key) {
	collect := func(key near.Key) bool {
		if key != near.Key(own) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		return len(keys) < maxCandidates
	}
	d.originals.Same(c.exact(), collect) // also long texts that were stored without a fingerprint of the text
	if c.Simhash != 0 {
		d.originals.Near(c.fingerprint(), func(_ uint64, key near.Key) bool { return collect(key) })
	}
	return keys
}

// isOriginal reports whether a candidate, whose record may be nil, is a document that a
// content is like. If not, its fingerprint is forgotten. The mutex is held.
func (d *Detector) isOriginal(key weburl.Key, r *scheduler.Record, c *Content) (is, same bool) {
	other, flies := d.inFlight[key]
	if flies {
		is = r != nil && other.copyOf == weburl.Key{}
	} else if r != nil {
		other, is = contentOf(r), r.Indexed && r.DuplicateOf == ""
	}
	if is {
		var nearly bool
		same, nearly = other.like(c)
		is = same || nearly
	}
	if !is && !flies {
		d.forget(key, c)
	}
	return is, same
}

// forget takes out the entries that lead from a content to a key that has none like it.
// The mutex is held.
func (d *Detector) forget(key weburl.Key, c *Content) {
	stale := []uint64{c.exact()}
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
