// Package badgerstore stores the frontier and the outbox in Badger.
//
// One goroutine, the committer, makes all changes: it applies queued writes, one after the other, to a batch, while
// another, the writer, makes the batch before durable as one transaction. So a group of pages costs one sync of the
// disk, no transaction can conflict, and the two overlap. A write sees the stored state, the batch that the writer has,
// and its own batch, in this order. It is answered when its batch is durable: the writer answers callers that wait, and
// the settler answers completions one after the other. If the database refuses a batch, that one and the next fail, and
// nothing is written until the store is opened again. The database is a kv.Engine. The files engine*.go implement it on
// Badger; no other file refers to Badger. Keys and encodings are those of package record.
//
// A usual page costs no read: fingerprints in memory show that its links are known (known.go), its own record is the
// one from Queue if nothing has changed it since (touched.go) and shows whether a loss is pending (deletions.go), and
// its queue's state and its host's documents are cached (queues.go, documents.go). An unknown link costs a read,
// because nothing is stored as new without one; so does a link to a URL that is gone.
//
// Bodies of documents are stored in segments, which the engine keeps in files beside Badger's, see package segments.
// They are written once, before the batch that refers to them, and an unused segment is removed. Deletions are ordinary
// values. Only values longer than Options.longValue (314 KiB by default) enter Badger's value log; see collectGarbage
// for when its files are removed.
//
// Memory: at most five memtables of MemtableBytes and a third, 53 MiB with the default and 11 MiB until 8 MiB were
// written, and tables under construction, see badgerOptions; two batches of at most 8 MiB or one page each; 8 MiB of
// touched, as far as it is used; up to 9 MiB for cached queues, hosts and their documents; 5 to 7 bytes a known URL for
// the fingerprints. Tables are read through the page cache (no compression, no block cache), which the kernel reclaims
// when needed.
//
// A Store owns its directory, which it locks. Besides committer, writer and settler it has temporary goroutines
// (background): they load and write the fingerprints' file, empty segments and remove their files. State that only the
// committer uses needs no mutex; the only mutexes are for closing the store and for its figures.
package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// Durability selects when a change counts as stored.
type Durability uint8

// The durabilities (configuration attribute durability).
const (
	Sync Durability = iota // on the disk: outlives a power failure
	OS                     // with the operating system: outlives a crash of the process
)

// String returns the value of the attribute durability.
func (d Durability) String() string {
	if d == OS {
		return "os"
	}
	return "sync"
}

// Limits and defaults.
const (
	// DefaultMinFree is the free space, in bytes, below which writes fail.
	DefaultMinFree = 512 << 20
	// DefaultMemtableBytes is the size of a memtable, MinMemtableBytes the least one.
	DefaultMemtableBytes = 8 << 20
	MinMemtableBytes     = 1 << 20

	// Format is the version of stores and backups. No other version is read.
	Format = 1

	groupWrites = 1024    // most writes in a batch
	groupBytes  = 8 << 20 // most bytes of values in a batch, unless one page alone has more
)

// Options configures Open; the zero value is suitable for production.
type Options struct {
	Durability Durability
	// Logger also receives Badger's messages, its information at level debug; nil: none.
	Logger *slog.Logger
	// MemtableBytes is the size of a memtable; 0: DefaultMemtableBytes. A larger one writes fewer tables and takes more
	// memory (see the package comment). If a crash has left larger ones, it is as large as those.
	MemtableBytes int64
	// Stores is the number of stores that share the process's memory; 0: one. Memory besides the memtables is divided
	// by it.
	Stores int
	// MinFree is the free space of the disk, in bytes, below which all writes fail with scheduler.ErrFull; 0:
	// DefaultMinFree; negative: no limit. Badger maps its files and would die of SIGBUS on a full disk, and it needs
	// space to compact; if that is more than MinFree, it is the limit.
	MinFree int64
	// Space, if not nil, returns the free space and the size of the disk of a directory, for tests.
	Space func(dir string) (free, size int64, err error)
	// ReadOnly opens a store that no process writes to; all changes fail. It must exist. Any number of processes may
	// read at once.
	ReadOnly bool
	// FirstOrder is the number of the first new outbox entry, unless the numbers are higher already. With the wall
	// clock in microseconds, entries of a rebuilt or restored store are newer than all that were pushed before: targets
	// that compare versions would refuse them otherwise.
	FirstOrder uint64
	// NoCompaction leaves all tables where they are written, for a store that is small and short-lived: one under
	// virtual time, whose clock Badger's compactors would stop at every 50 ms. Writing ends when there are 60 tables.
	NoCompaction bool

	// at, if not nil, is called at named points by the store's own goroutines, so that tests can end the process there:
	// see point.
	at func(point string)
	// saveAfter replaces the constant in tests; 0: the constant.
	saveAfter int
	// segmentBytes replaces the constant in tests; 0: the constant.
	segmentBytes int64
}

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
	failed     error  // of a commit that may be stored: no more writes
	dueFloor   uint64 // no timed URL is due earlier
	touched    touched
	known      known
	saveAfter  int
	stores     int    // Options.Stores
	fileNumber uint64 // of the fingerprints' file; owned by the goroutine that loads the file, then by the one that writes it

	// For an orderly shutdown: callers, then committer, writer and settler, then background goroutines.
	calls      sync.WaitGroup // methods under way
	mu         sync.Mutex     // guards closed, and calls against a late Add
	closed     bool
	quit       chan struct{}  // closed when Close begins
	stop       chan struct{}  // closed when no method is under way
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
var errReadOnly = errors.New("the store is open for reading only")

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

// ended returns why a long method must stop, nil if it need not.
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
func (s *Store) damaged(what string, err error) error { return damaged(s.dir, what, err) }

func damaged(dir, what string, err error) error {
	if errors.Is(err, scheduler.ErrDamaged) {
		return err // it names its object
	}
	return fmt.Errorf("store %s: %w: %s: %w; %s", dir, scheduler.ErrDamaged, what, err, adviceDamaged)
}

const adviceDamaged = "restore the directory from a backup, or move it away and crawl anew"

// ClosedCleanly implements scheduler.Store. A new store counts as closed cleanly.
func (s *Store) ClosedCleanly() bool { return s.clean }

// Close waits for the methods under way (long walks end with ErrClosed), commits queued writes and closes the store. A
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
