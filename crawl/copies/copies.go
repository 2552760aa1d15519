// Package copies finds documents that another document of the same source repeats, word for word or nearly, and learns
// which forms of URLs lead to such copies.
//
// A Detector keeps in memory an index of all documents by text and title, and the common parts of the pages of each
// host. The index only narrows the search: the record of a document decides whether it exists and resembles another. A
// missing entry therefore costs a copy in the search index, and an extra entry costs a read. When an original is
// deleted or changes, its copies are fetched again.
//
// The package starts no goroutine: the crawl calls Load in one of its own. Detector and Patterns have a mutex each,
// which is not held while the store is read.
package copies

import (
	"container/list"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Detail returns the reason text for a copy that is not indexed; why is ReasonCopy or ReasonNearCopy.
func Detail(why scheduler.Reason, original string) string {
	if why == scheduler.ReasonNearCopy {
		return "its content is nearly that of " + original
	}
	return "its content is that of " + original
}

// IsCopy distinguishes copies from pages with another canonical URL.
func IsCopy(r *scheduler.Record) bool {
	return r.DuplicateOf != "" && (r.Reason == scheduler.ReasonCopy || r.Reason == scheduler.ReasonNearCopy)
}

// Store holds the records that a Detector reads, and its knowledge of hosts.
type Store interface {
	scheduler.Lookuper
	scheduler.Inspector
	scheduler.Values
}

// Requeue queues a known URL for another fetch.
type Requeue func(ctx context.Context, u weburl.URL) error

// Detector holds the table of documents and their copies. Its methods are safe for concurrent use, and do nothing on a
// nil Detector.
type Detector struct {
	store   Store
	requeue Requeue
	log     *slog.Logger
	next    weburl.Key // where Load continues; owned by the caller of Begin and Load

	mu       sync.Mutex  // guards the rest; never held while the store is read
	pages    *near.Table // documents and copies: a page similar to one is similar to the other
	copies   *near.Table // by the original's key
	inFlight map[weburl.Key]*Content
	searches map[*search]struct{}
	whole    map[weburl.Key]struct{} // they are refetched for their text
	freed    map[weburl.Key]struct{} // copies that were queued because their original was deleted or changed
	hosts    map[weburl.HostKey]*list.Element
	recent   *list.List // of *host, the one that was used last in front
	unsaved  []*host    // removed from hosts, with frames to be stored
	found    uint64     // copies since the process started
	loaded   bool
}

// New returns an empty Detector.
func New(store Store, requeue Requeue, log *slog.Logger) *Detector {
	return &Detector{
		store: store, requeue: requeue, log: log,
		pages: near.New(), copies: near.New(), inFlight: map[weburl.Key]*Content{}, searches: map[*search]struct{}{},
		whole: map[weburl.Key]struct{}{}, freed: map[weburl.Key]struct{}{}, hosts: map[weburl.HostKey]*list.Element{}, recent: list.New(),
	}
}

// keyPlace returns the place under which copies are found by their original's key.
func keyPlace(k weburl.Key) near.Place { return near.PlaceOf(k) }

// maxSame and maxSameCopies limit the number of pages kept per text.
const (
	maxSame       = 8
	maxSameCopies = 3
)

// addPage adds a page once, unless too many have its text. The mutex is held.
func (d *Detector) addPage(at near.Place, key weburl.Key, isCopy bool) {
	same, held, most := 0, false, maxSame
	if isCopy {
		most = maxSameCopies
	}
	d.pages.Text(at.Body, func(k near.Key) bool { same++; held = k == key; return !held })
	if !held && same < most {
		d.pages.Add(at, key)
	}
}

// drop removes a record's page. The mutex is held.
func (d *Detector) drop(r *scheduler.Record, key weburl.Key) {
	d.pages.Remove(contentOf(r, "").place.Body, key)
}

// NeedsBody reports whether a page's text is required, so that a "not modified" response would not suffice.
func (d *Detector) NeedsBody(key weburl.Key) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, whole := d.whole[key]
	return whole
}

// Len returns the number of pages in the table.
func (d *Detector) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pages.Len()
}

// Status is the state of copy detection.
type Status struct {
	Documents int    `json:"documents"` // that are compared with
	Copies    int    `json:"copies"`    // known of them
	Found     uint64 `json:"found"`     // copies since the process started
	Bytes     int64  `json:"bytes"`     // of memory
	Loading   bool   `json:"loading,omitempty"`
	Freed     int    `json:"freed,omitempty"` // queued because their original was deleted or changed, and not fetched yet
}

// free queues a copy for another fetch because its original was deleted or changed.
func (d *Detector) free(ctx context.Context, u weburl.URL) error {
	if err := d.requeue(ctx, u); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.freed[u.Key()] = struct{}{}
	return nil
}

// Freed returns how many copies wait to be fetched in place of an original.
func (d *Detector) Freed(ctx context.Context) (waiting int, err error) {
	d.mu.Lock()
	keys := slices.Collect(maps.Keys(d.freed))
	d.mu.Unlock()
	for _, key := range keys {
		r, err := scheduler.Find(ctx, d.store, key)
		switch {
		case err != nil:
			return waiting, err
		case r != nil && r.State == scheduler.Waiting:
			waiting++
		}
	}
	return waiting, nil
}

// Status returns nil if copies are not detected.
func (d *Detector) Status() *Status {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Status{
		Documents: d.pages.Len(), Copies: d.copies.Len(), Found: d.found,
		Bytes: d.pages.Bytes() + d.copies.Bytes(), Loading: !d.loaded,
	}
}
