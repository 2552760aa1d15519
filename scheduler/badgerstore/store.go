// Package badgerstore keeps the frontier and the outbox in Badger.
//
// One goroutine, the committer, makes all changes: it applies the writes that wait, one
// after the other, to a batch, while another, the writer, makes the batch before durable
// as one transaction. So a group of pages costs one sync of the disk, no transaction can
// conflict, and making and writing overlap. A write sees what is stored, the batch that
// the writer has, and its own, in this order; it is answered when its batch is durable: to a
// caller that waits the writer says so, of completions the settler tells, one after the other.
// If the database refuses a batch, that one and the next fail, and nothing is written until
// the store is opened again. The database is a kv.Engine. The one on Badger stands in the files engine*.go; no other file
// refers to them. Keys and encodings are those of package record.
//
// A usual page costs no read: fingerprints in memory tell that its links are known
// (known.go), its own record is what Queue gave if nothing has changed it since
// (touched.go) and says whether a loss is pending (deletions.go),
// and its queue's state and what is kept of its host's documents are remembered
// (queues.go, documents.go). Two unknown links of it cost a read each, because nothing is
// stored as new that was not looked up; so do links to URLs that are gone.
//
// Bodies of documents lie in segments, which the engine keeps in files beside Badger's, see package segments: they are
// written once, before the batch that names them, and a segment is removed when nothing
// in it is needed any more. Deletions are values like any other. Only values longer than Options.longValue (314 KiB by
// default) enter Badger's value log; see collectGarbage for when its files are removed.
//
// Memory: at most five memtables of MemtableBytes and a third, 53 MiB with the default
// and 11 MiB until 8 MiB were written, and tables in the making, see badgerOptions;
// two batches of at most 8 MiB or one page each; 8 MiB of touched, as far as
// it is used; up to 9 MiB for remembered queues, hosts and their documents; 5 to 7 bytes a known
// URL for the fingerprints. Tables are read through the page cache (no compression, no
// block cache), which the kernel takes back when it needs to.
//
// A Store owns its directory, which it locks. Besides committer, writer and settler it has
// goroutines for a while (background): they load and write the fingerprints' file, empty
// segments and remove their files. What only the committer touches needs no mutex; the
// only ones are for closing the store and for its figures.
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

// Durability says when a change counts as stored.
type Durability uint8

// The durabilities (configuration attribute durability).
const (
	Sync Durability = iota // on the disk: outlives a power failure
	OS                     // with the operating system: outlives a crash of the process
)

// String is the value of the attribute durability.
func (d Durability) String() string {
	if d == OS {
		return "os"
	}
	return "sync"
}

// Limits and defaults.
const (
	// DefaultMinFree is the free space, in bytes, below which nothing is written.
	DefaultMinFree = 512 << 20
	// DefaultMemtableBytes is the size of a memtable, MinMemtableBytes the least one.
	DefaultMemtableBytes = 8 << 20
	MinMemtableBytes     = 1 << 20

	// Format is that of stores and backups. No other one is read.
	Format = 1

	groupWrites = 1024    // most writes in a batch
	groupBytes  = 8 << 20 // most bytes of values in a batch, unless one page alone has more
)

// Options of Open; the zero value is good for production.
type Options struct {
	Durability Durability
	// Logger gets Badger's words too, its information at level debug; nil: none.
	Logger *slog.Logger
	// MemtableBytes is the size of a memtable; 0: DefaultMemtableBytes. More lets
	// fewer tables be written and costs memory (see the package comment). Where a crash has left
	// larger ones, it is as large as those.
	MemtableBytes int64
	// Stores is how many stores share the process's memory; 0: one. What is kept beside the memtables is divided by it.
	Stores int
	// MinFree is the free space of the disk, in bytes, below which all writes fail with
	// scheduler.ErrFull; 0: DefaultMinFree; negative: never. Badger maps its files
	// and would die of SIGBUS on a full disk, and it needs room to compact; if that is more
	// than MinFree, so much is asked for.
	MinFree int64
	// Space, if not nil, says how much of the disk of a directory is free, and how large it is, for tests.
	Space func(dir string) (free, size int64, err error)
	// ReadOnly opens a store that no process writes to; all changes fail. It must
	// exist. Any number of processes may read at once.
	ReadOnly bool
	// FirstOrder is what the numbers of new outbox entries begin at, if they are not
	// beyond it yet. Given the wall clock in microseconds, entries of a store that was
	// made again, or restored, are newer than all that were pushed before: indexers
	// that compare versions would refuse them otherwise.
	FirstOrder uint64

	// at, if not nil, is called at named points by the store's own goroutines, so that
	// tests can end the process there: see point.
	at func(point string)
	// saveAfter is for tests too; 0: the constant.
	saveAfter int
	// segmentBytes is for tests too; 0: the constant.
	segmentBytes int64
}

// Store implements scheduler.Store, and push.Outbox through Outbox. Its methods
// may be called at once by any number of goroutines.
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

	// Between the callers and the goroutines.
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
	failed     error  // of a commit that is perhaps stored: no more writes
	dueFloor   uint64 // no timed URL is before
	touched    touched
	known      known
	saveAfter  int
	stores     int    // Options.Stores
	fileNumber uint64 // of the fingerprints' file; owned by the goroutine that loads the file, then by the one that writes it

	// For an end in order: callers, then committer, writer and settler, then what runs in the background.
	calls      sync.WaitGroup // methods under way
	mu         sync.Mutex     // guards closed, and calls against a late Add
	closed     bool
	quit       chan struct{}  // closed when Close begins
	stop       chan struct{}  // closed when no method is under way any more
	running    sync.WaitGroup // committer, writer and settler
	background sync.WaitGroup // reading and writing of the fingerprints' file
}

var _ scheduler.Store = (*Store)(nil)

// The points at which tests may end the process, in Options.at.
const (
	atGathered     = "gathered"      // a group of writes is applied, nothing is written yet
	atBodies       = "bodies"        // its bodies are written, nothing else is
	atBeforeCommit = "before-commit" // the engine is about to get the group
	atCommitted    = "committed"     // it is durable, nobody was answered
	atAnswered     = "answered"      // all of the group's writes are answered

	atSnapshotWritten = "snapshot-written" // the fingerprints' file is there under its first name
	atSnapshotRenamed = "snapshot-renamed" // it has its name
)

// reach tells tests that a point is reached.
func (s *Store) reach(point string) {
	if s.at != nil {
		s.at(point)
	}
}

// errReadOnly is what changes of a store give that was opened read-only.
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

// walk calls fn for each key with the prefix, with its value if values is set, from the key seek on, until fn
// gives an error (errEnough: none) or ctx or the store ends.
func (s *Store) walk(ctx context.Context, view kv.View, prefix, seek []byte, values bool, fn func(key, value []byte) error) error {
	err := view.Walk(prefix, seek, values, func(key, value []byte) error {
		if err := s.ended(ctx); err != nil {
			return err
		}
		return fn(key, value)
	})
	return enough(err)
}

// ended says why a long method has to stop, nil if it has not.
func (s *Store) ended(ctx context.Context) error {
	select {
	case <-s.quit:
		return s.words(scheduler.ErrClosed)
	default:
		return ctx.Err()
	}
}

// words puts the directory before err.
func (s *Store) words(err error) error { return fmt.Errorf("store %s: %w", s.dir, err) }

// damaged is what reading something gives that cannot be.
func (s *Store) damaged(what string, err error) error { return damaged(s.dir, what, err) }

func damaged(dir, what string, err error) error {
	if errors.Is(err, scheduler.ErrDamaged) {
		return err // it names what it is
	}
	return fmt.Errorf("store %s: %w: %s: %w; %s", dir, scheduler.ErrDamaged, what, err, adviceDamaged)
}

const adviceDamaged = "restore the directory from a backup, or move it away and crawl anew"

// ClosedCleanly implements scheduler.Store. A new store counts as closed cleanly.
func (s *Store) ClosedCleanly() bool { return s.clean }

// Close waits for the methods under way (long walks end with ErrClosed), commits
// what waits and closes the store. Another Close gives ErrClosed.
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
