// Package copies finds documents that another document of the same source repeats, word
// for word or nearly, and learns which forms of URLs lead to such copies.
//
// A Detector holds the fingerprints of all documents in memory. They only say where to
// look: whether a document is there, and like another, is asked of its record. So a
// fingerprint that is missing costs a copy in the search index, and one too many costs a
// read. When an original goes or changes, its copies are fetched again.
//
// The package starts no goroutine: the crawl calls Load in one of its own. Detector and
// Patterns have a mutex each, which is not held while the store is read.
package copies

import (
	"encoding/binary"
	"hash/fnv"
	"log/slog"
	"math/bits"
	"sync"

	"context"

	"github.com/sextant-crawler/sextant/crawl/near"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Detail says why a copy is not indexed; why is ReasonCopy or ReasonNearCopy.
func Detail(why scheduler.Reason, original string) string {
	if why == scheduler.ReasonNearCopy {
		return "it has nearly the content of " + original
	}
	return "it has the content of " + original
}

// IsCopy tells copies from pages whose canonical is another.
func IsCopy(r *scheduler.Record) bool {
	return r.DuplicateOf != "" && (r.Reason == scheduler.ReasonCopy || r.Reason == scheduler.ReasonNearCopy)
}

// Store is what a Detector reads.
type Store interface {
	scheduler.Lookuper
	scheduler.Inspector
}

// Requeue has a known URL fetched once more.
type Requeue func(ctx context.Context, u weburl.URL) error

// Detector knows the fingerprints of all documents, and which copies they have. Its
// methods may be called concurrently, and on a nil Detector, which finds nothing.
type Detector struct {
	store   Store
	requeue Requeue
	log     *slog.Logger
	next    weburl.Key // from here on Load reads; it belongs to the caller of Begin and Load

	mu        sync.Mutex // guards the rest; never held while the store is read
	originals *near.Index
	copies    *near.Index // by the original's key
	inFlight  map[weburl.Key]*Content
	searches  map[*search]struct{}
	found     uint64 // copies since the process started
	loaded    bool
}

// New makes a Detector that has no fingerprints yet.
func New(store Store, requeue Requeue, log *slog.Logger) *Detector {
	return &Detector{
		store: store, requeue: requeue, log: log,
		originals: near.New(), copies: near.New(), inFlight: map[weburl.Key]*Content{}, searches: map[*search]struct{}{},
	}
}

// Content is what is compared of a document.
type Content struct {
	// Simhash is the fingerprint of the text; 0: it is too short to tell.
	Simhash uint64

	hash   [16]byte
	source string
	// Of a document in flight: its original if it is a copy, and whether that went or
	// changed meanwhile.
	copyOf weburl.Key
	again  bool
}

// Compare makes what is compared of a document whose hash is sum.
func Compare(d *push.Document, sum [16]byte) *Content {
	c := &Content{hash: sum, source: d.Source}
	if simhash, words := near.Simhash(d.Text); words >= near.MinWords {
		c.Simhash = simhash
	}
	return c
}

// contentOf is what a record says of its document.
func contentOf(r *scheduler.Record) *Content {
	return &Content{hash: r.Hash, Simhash: r.Simhash, source: r.PushedSource}
}

// like reports whether two contents are the same, or nearly.
func (c *Content) like(o *Content) (same, nearly bool) {
	if c.source != o.source {
		return false, false
	}
	nearly = c.Simhash != 0 && o.Simhash != 0 && bits.OnesCount64(c.Simhash^o.Simhash) <= near.Distance
	return c.hash == o.hash, nearly
}

// fingerprint is that of the text or, if it is too short, of all that is pushed. It keeps
// sources apart without changing distances.
func (c *Content) fingerprint() uint64 {
	if c.Simhash == 0 {
		return binary.LittleEndian.Uint64(c.hash[:])
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.source))
	return c.Simhash ^ h.Sum64()
}

// exact is the fingerprint of the hash alone.
func (c *Content) exact() uint64 { return (&Content{hash: c.hash}).fingerprint() }

// keyPrint is the fingerprint under which copies are found by their original's key.
func keyPrint(k weburl.Key) uint64 { return binary.LittleEndian.Uint64(k[:]) }

// hold enters a document, once. The mutex is held.
func (d *Detector) hold(at uint64, key weburl.Key) {
	held := false
	d.originals.Same(at, func(k near.Key) bool { held = k == key; return !held })
	if !held {
		d.originals.Add(at, key)
	}
}

// drop takes out the document that a record had. The mutex is held.
func (d *Detector) drop(r *scheduler.Record, key weburl.Key) {
	if r.Indexed {
		d.originals.Remove(contentOf(r).fingerprint(), key)
	}
}

// Len returns how many documents can be found.
func (d *Detector) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.originals.Len()
}

// Status tells of the detection of copies.
type Status struct {
	Documents int    `json:"documents"` // that are compared with
	Copies    int    `json:"copies"`    // known of them
	Found     uint64 `json:"found"`     // copies since the process started
	Bytes     int64  `json:"bytes"`     // of memory
	Loading   bool   `json:"loading,omitempty"`
}

// Status is nil if copies are not looked for.
func (d *Detector) Status() *Status {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Status{
		Documents: d.originals.Len(), Copies: d.copies.Len(), Found: d.found,
		Bytes: d.originals.Bytes() + d.copies.Bytes(), Loading: !d.loaded,
	}
}
