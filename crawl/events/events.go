// Package events stores the actions of operators and the service on a crawl: starts, reloads, pauses, released
// deletions, hosts that fell ill. The last Kept events are in the crawl's store, so that they survive restarts and are
// part of backups.
//
// It starts no goroutine. The lock of a Log guards the number of the next event; it is held while that is stored.
package events

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/sextant-crawler/sextant/scheduler"
)

// A value of the store, in the form of the JSON of Event, is one event. Its name ends with
// the event's number modulo Kept.

// Kept is the number of stored events.
const Kept = 1000

// The kinds of the service's own events. Those of operators are named like the change in the log, such as pause.
const (
	Start       = "start"
	Stop        = "stop"
	Upgrade     = "upgrade" // it starts with another version than before
	Reload      = "reload"
	Refused     = "reload refused"
	Edit        = "edit" // of the rules: all stored URLs were judged by it
	Ill         = "host ill"
	Well        = "host well"
	Gone        = "host gone" // it gave no good response for so long that its documents were deleted
	IndexerDown = "indexer down"
	IndexerUp   = "indexer up"
	Round       = "round" // of discovery, a schedule or a run that ended by itself: nothing is pending
)

// Event is one event. The JSON names are a contract.
type Event struct {
	Number uint64    `json:"number"` // rising
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Who    string    `json:"who,omitempty"` // the operator; empty: the service itself
	Text   string    `json:"text,omitempty"`
	Host   string    `json:"host,omitempty"`
	Edit   uint64    `json:"edit,omitempty"` // of the rules
	// Version is the program's version, for a start. Rules identifies the rules by which all stored URLs were judged, for
	// a start or an edit.
	Version string `json:"version,omitempty"`
	Rules   string `json:"rules,omitempty"`
	// Made contains the results of a round, nil for other events.
	Made *Made `json:"made,omitempty"`
}

// Made contains the results of a round. The counts include everything that happened during it.
type Made struct {
	Of      string `json:"of"` // discovery, a schedule, run --once
	Added   uint64 `json:"added"`
	Changed uint64 `json:"changed"`
	Gone    uint64 `json:"gone"`
	Failed  uint64 `json:"failed"` // visits
	TookS   int64  `json:"took_s"`
}

// String describes it, as in "discovery: 1,203 added, 14 changed, 9 gone, 3 failed, 8m0s".
func (m *Made) String() string {
	words := m.Of + ": "
	for _, part := range []struct {
		n    uint64
		word string
	}{{m.Added, "added"}, {m.Changed, "changed"}, {m.Gone, "gone"}, {m.Failed, "failed"}} {
		words += humanize.Comma(int64(part.n)) + " " + part.word + ", " //nolint:gosec // no count is so large
	}
	return words + (time.Duration(m.TookS) * time.Second).String()
}

// Reader reads events.
type Reader interface {
	Value(ctx context.Context, name scheduler.ValueName) ([]byte, error)
}

// Store stores events.
type Store interface {
	Reader
	SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error
}

// Log adds events to a store. It is the only one to do so.
type Log struct {
	store Store
	mu    sync.Mutex
	next  uint64 // 0: not known yet
}

// NewLog returns a Log.
func NewLog(s Store) *Log { return &Log{store: s} }

func nameOf(number uint64) scheduler.ValueName {
	return scheduler.CrawlValue(fmt.Sprintf("event.%03d", number%Kept))
}

// Add stores an event, and sets its number. It removes the oldest one.
func (l *Log) Add(ctx context.Context, e Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == 0 {
		all, err := List(ctx, l.store)
		if err != nil {
			return err
		}
		if l.next = 1; len(all) > 0 {
			l.next = all[0].Number + 1
		}
	}
	e.Number, e.At = l.next, e.At.UTC().Truncate(time.Millisecond)
	e.Text, e.Who = short(e.Text), short(e.Who)
	b, err := json.Marshal(e)
	if err == nil {
		err = l.store.SetValue(ctx, nameOf(e.Number), b)
	}
	if err != nil {
		return fmt.Errorf("storing an event: %w", err)
	}
	l.next++
	return nil
}

// textMax limits a text in bytes: it may come from the network.
const textMax = 500

func short(s string) string {
	if len(s) <= textMax {
		return s
	}
	for end := textMax; ; end-- {
		if utf8.RuneStart(s[end]) {
			return s[:end] + "…"
		}
	}
}

// List returns the events of a store, the latest first.
func List(ctx context.Context, s Reader) ([]Event, error) {
	var all []Event
	for n := range uint64(Kept) {
		b, err := s.Value(ctx, nameOf(n))
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		var e Event
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, fmt.Errorf("reading event %d: %w", n, err)
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Event) int { return cmp.Compare(b.Number, a.Number) })
	return all, nil
}
