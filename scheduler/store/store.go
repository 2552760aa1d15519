// Package store stores the frontier and the outbox in a database of ordered keys, see package kv. Open opens one on
// Badger, in a directory; no other file refers to it.
//
// One goroutine, the committer, makes all changes: it applies queued writes, one after the other, to a batch, while
// another, the writer, makes the batch before durable as one transaction. So a group of pages costs one sync of the
// disk, no transaction can conflict, and the two overlap. A write sees the stored state, the batch that the writer has,
// and its own batch, in this order. It is acknowledged when its batch is durable: by the writer to waiting callers, and
// by the settler to completions, one after the other. If the database refuses a batch, that one and the next fail, and
// nothing is written until the store is opened again. Keys and encodings are those of package record.
//
// A usual page costs no read: fingerprints in memory show that its links are known (known.go), its own record is the
// one from Queue if nothing has changed it since (touched.go) and shows whether a loss is pending (deletions.go), and
// its queue's state and its host's documents are cached (queues.go, documents.go). An unknown link costs a read,
// because nothing is stored as new without one; so does a link to a URL that is gone.
//
// Bodies of documents are stored in segments, see package segments.
// They are written once, before the batch that refers to them, and an unused segment is removed. Deletions are ordinary
// values. Values that kv.Limits.Long calls long are stored apart by the engine.
//
// Memory: two batches of at most 8 MiB or one page each; 2 MiB of touched, as far as it is used; 4 MiB of bodies for
// their readers; up to 9 MiB for cached queues, hosts and their documents; 5 to 7 bytes a known URL for the
// fingerprints.
//
// Besides committer, writer and settler, a Store has temporary goroutines
// (background): they load and write the fingerprints' file, empty segments and remove their files. State that only the
// committer uses needs no mutex; the only mutexes are for closing the store and for its figures.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
)

// Format is the version of stores and backups. No other version is read.
const Format = 1

const (
	groupWrites = 1024    // most writes in a batch
	groupBytes  = 8 << 20 // most bytes of values in a batch, unless one page alone has more
)

// Store implements scheduler.Store, and push.Outbox through Outbox. Its methods
// may be called concurrently.
type Store struct {
	kv         kv.Engine
	dir        string
	segments   *segments.Files
	log        *slog.Logger
	readOnly   bool
	firstOrder uint64 // Options.FirstOrder
	clean      bool   // closed by the last writer, as found at Open
	at         func(point string)
	sync       bool // commits are synced

	// Shared by callers and the store's goroutines.
	committed atomic.Pointer[record.Counters]
	commits   atomic.Uint64 // number of the last durable batch
	changed   chan struct{}
	writes    chan *write
	batches   chan *batch
	loaded    chan loaded
	settler   settler
	timing    timing
	onWork    func([]scheduler.Place) // see OnWork

	// Owned by the committer.
	failed     error  // the error of a commit that may be stored: no more writes
	dueFloor   uint64 // no timed URL is due earlier
	touched    touched
	known      known
	saveAfter  int
	stores     int    // Options.Stores
	fileNumber uint64 // of the fingerprints' file; owned by the goroutine that loads the file, then by the one that writes it

	// For an orderly shutdown: callers, then committer, writer and settler, then background goroutines.
	calls      sync.WaitGroup // running methods
	mu         sync.Mutex     // guards closed, and calls against a late Add
	closed     bool
	quit       chan struct{}  // closed when Close begins
	stop       chan struct{}  // closed when no method is running
	running    sync.WaitGroup // committer, writer and settler
	background sync.WaitGroup // reading and writing of the fingerprints' file
}

var _ scheduler.Store = (*Store)(nil)

// The points at which tests may end the process, in Options.at.
const (
	atGathered     = "gathered"      // a group of writes is applied, nothing is written yet
	atBodies       = "bodies"        // its bodies are written, nothing else is
	atBeforeCommit = "before-commit" // the engine is about to receive the group
	atCommitted    = "committed"     // it is durable, no write is answered
	atAnswered     = "answered"      // all of the group's writes are answered

	atSnapshotWritten = "snapshot-written" // the fingerprints' file exists under its first name
	atSnapshotRenamed = "snapshot-renamed" // it has its name
)

// reach reports to tests that a point is reached.
func (s *Store) reach(point string) {
	if s.at != nil {
		s.at(point)
	}
}

// errReadOnly is returned by changes of a store that was opened read-only.
var errReadOnly = errors.New("the store is open only for reading")

// enter begins a method; leave ends it.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.words(scheduler.ErrClosed)
	}
	s.calls.Add(1)
	return nil
}

func (s *Store) leave() { s.calls.Done() }

// view calls fn with a consistent snapshot.
func (s *Store) view(ctx context.Context, fn func(kv.View) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	view := s.kv.View()
	defer view.Close()
	return fn(view)
}

// walk calls fn for each key with the prefix, with its value if values is set, from the key seek on, until fn returns
// an error (errEnough: none) or ctx or the store ends.
func (s *Store) walk(ctx context.Context, view kv.View, prefix, seek []byte, values bool, fn func(key, value []byte) error) error {
	err := view.Walk(prefix, seek, values, func(key, value []byte) error {
		if err := s.ended(ctx); err != nil {
			return err
		}
		return fn(key, value)
	})
	return enough(err)
}

// ended returns the error with which a long method must stop, or nil.
func (s *Store) ended(ctx context.Context) error {
	select {
	case <-s.quit:
		return s.words(scheduler.ErrClosed)
	default:
		return ctx.Err()
	}
}

// words adds the directory to err.
func (s *Store) words(err error) error { return fmt.Errorf("store %s: %w", s.dir, err) }

// damaged returns the error for a stored value that cannot be read.
func (s *Store) damaged(part string, err error) error { return kv.Damaged(s.dir, part, err) }

// ClosedCleanly implements scheduler.Store. A new store counts as closed cleanly.
func (s *Store) ClosedCleanly() bool { return s.clean }

// Close waits for running methods (long walks end with ErrClosed), commits queued writes and closes the store. A
// second Close returns ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return s.words(scheduler.ErrClosed)
	}
	s.closed = true
	close(s.quit)
	s.mu.Unlock()
	s.calls.Wait()
	close(s.stop)
	s.running.Wait()
	var err error
	if !s.readOnly && s.failed == nil {
		err = s.markClean(true)
	}
	if err = errors.Join(err, s.kv.Close()); err != nil {
		return s.words(err)
	}
	return nil
}
