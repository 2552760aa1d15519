// Package pushtest contains an in-memory outbox for tests, and suites that every Outbox and every Target must pass.
// Only tests import it.
//
// The doubles have a mutex each, and their servers the goroutines of net/http, which end with the test.
package pushtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// Outbox.mu guards all of it; each method takes it.

// Outbox is an in-memory push.Outbox that fulfils its whole contract except durability.
type Outbox struct {
	changed chan struct{}

	mu      sync.Mutex
	last    uint64
	entries []push.Entry // in order of Seq
	newest  map[string]uint64
	cursors map[string]uint64
	dead    map[string]map[string]push.Dead // by target and URL
	failing error
}

// NewOutbox returns an empty outbox without targets.
func NewOutbox() *Outbox {
	return &Outbox{
		changed: make(chan struct{}, 1),
		newest:  make(map[string]uint64),
		cursors: make(map[string]uint64),
		dead:    make(map[string]map[string]push.Dead),
	}
}

// Put adds an entry, in place of a waiting or dead one of its URL, and returns
// its sequence number. e.Seq is ignored.
func (o *Outbox) Put(e push.Entry) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i, ok := o.find(o.newest[e.URL]); ok {
		e.Moved = e.Op == push.Add && (e.Moved || o.entries[i].Moved || o.entries[i].Op == push.Delete)
		o.entries = slices.Delete(o.entries, i, i+1)
	}
	for _, dead := range o.dead {
		delete(dead, e.URL)
	}
	o.last++
	e.Seq = o.last
	o.newest[e.URL] = e.Seq
	o.entries = append(o.entries, e)
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return e.Seq
}

// PutDocument adds a document with the given text.
func (o *Outbox) PutDocument(source, url, text string) uint64 {
	return o.Put(DocumentEntry(push.Document{URL: url, Source: source, Text: text}))
}

// PutDeletion adds a deletion.
func (o *Outbox) PutDeletion(url string) uint64 {
	return o.Put(DeletionEntry(push.Deletion{URL: url, Reason: "rule"}))
}

// DocumentEntry returns an entry, without a sequence number, that adds d.
func DocumentEntry(d push.Document) push.Entry {
	return push.Entry{Op: push.Add, URL: d.URL, Source: d.Source, Body: mustJSON(d)}
}

// DeletionEntry returns an entry, without a sequence number, that deletes d.URL.
func DeletionEntry(d push.Deletion) push.Entry {
	return push.Entry{Op: push.Delete, URL: d.URL, Body: mustJSON(d)}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs of a test
	}
	return b
}

// Fail makes all methods of push.Outbox fail with err until it is nil again.
func (o *Outbox) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failing = err
}

// Len returns the number of entries that some target still needs.
func (o *Outbox) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries)
}

// Dead returns a target's dead letters in order of Seq.
func (o *Outbox) Dead(target string) []push.Dead {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.SortedFunc(maps.Values(o.dead[target]), func(a, b push.Dead) int {
		return int(a.Seq) - int(b.Seq)
	})
}

func (o *Outbox) find(seq uint64) (int, bool) {
	return sort.Find(len(o.entries), func(i int) int {
		return int(seq) - int(o.entries[i].Seq)
	})
}

func (o *Outbox) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.failing
}

// Open implements push.Outbox.
func (o *Outbox) Open(ctx context.Context, targets []string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.enter(ctx); err != nil {
		return err
	}
	oldest := o.last
	if len(o.entries) > 0 {
		oldest = o.entries[0].Seq - 1
	}
	cursors := make(map[string]uint64, len(targets))
	for _, name := range targets {
		cursor, ok := o.cursors[name]
		if !ok {
			cursor = oldest
		}
		cursors[name] = cursor
	}
	o.cursors = cursors
	maps.DeleteFunc(o.dead, func(name string, _ map[string]push.Dead) bool {
		_, ok := cursors[name]
		return !ok
	})
	o.trim()
	return nil
}

// trim removes entries that all targets have.
func (o *Outbox) trim() {
	if len(o.cursors) == 0 {
		return
	}
	lowest := slices.Min(slices.Collect(maps.Values(o.cursors)))
	n := sort.Search(len(o.entries), func(i int) bool { return o.entries[i].Seq > lowest })
	for _, e := range o.entries[:n] {
		if o.newest[e.URL] == e.Seq {
			delete(o.newest, e.URL)
		}
	}
	clear(o.entries[:n])
	o.entries = o.entries[n:]
}

// Entries implements push.Outbox.
func (o *Outbox) Entries(ctx context.Context, after uint64, n, maxBytes int) ([]push.Entry, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.enter(ctx); err != nil {
		return nil, err
	}
	first := sort.Search(len(o.entries), func(i int) bool { return o.entries[i].Seq > after })
	var found []push.Entry
	size := 0
	for _, e := range o.entries[first:] {
		size += len(e.Body)
		if len(found) == n || (len(found) > 0 && size > maxBytes) {
			break
		}
		found = append(found, e)
	}
	return found, nil
}

// Cursor implements push.Outbox.
func (o *Outbox) Cursor(ctx context.Context, target string) (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.enter(ctx); err != nil {
		return 0, err
	}
	cursor, ok := o.cursors[target]
	if !ok {
		return 0, fmt.Errorf("no target %q is open", target)
	}
	return cursor, nil
}

// Safe implements push.Outbox.
func (o *Outbox) Safe(ctx context.Context, target string, seq uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.enter(ctx); err != nil {
		return err
	}
	cursor, ok := o.cursors[target]
	if !ok {
		return fmt.Errorf("no target %q is open", target)
	}
	o.cursors[target] = max(cursor, seq)
	o.trim()
	return nil
}

// AddDead implements push.Outbox. It drops an entry that a newer one of its URL has replaced.
func (o *Outbox) AddDead(ctx context.Context, target string, e push.Entry, words string, at time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.enter(ctx); err != nil {
		return err
	}
	if o.newest[e.URL] > e.Seq {
		return nil
	}
	if o.dead[target] == nil {
		o.dead[target] = make(map[string]push.Dead)
	}
	o.dead[target][e.URL] = push.Dead{Entry: e, Target: target, Words: words, At: at}
	return nil
}

// Changed implements push.Outbox.
func (o *Outbox) Changed() <-chan struct{} { return o.changed }
