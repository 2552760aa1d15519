package store

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
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
	DefaultMinFree = badgerkv.DefaultMinFree
	// DefaultMemtableBytes is the size of a memtable, MinMemtableBytes the least one.
	DefaultMemtableBytes = badgerkv.DefaultMemtableBytes
	MinMemtableBytes     = badgerkv.MinMemtableBytes
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
	// ReadOnly opens a store that no process writes to; all changes fail. It must exist. Any number of processes may
	// read at once.
	ReadOnly bool
	// FirstOrder is the number of the first new outbox entry, unless the numbers are higher already. With the wall
	// clock in microseconds, entries of a rebuilt or restored store are newer than all that were pushed before: targets
	// that compare versions would refuse them otherwise.
	FirstOrder uint64

	// at, if not nil, is called at named points by the store's own goroutines, so that tests can end the process there:
	// see point.
	at func(point string)
	// saveAfter replaces the constant in tests; 0: the constant.
	saveAfter int
	// segmentBytes replaces the constant in tests; 0: the constant.
	segmentBytes int64
}

// engine returns the options of the database.
func (o Options) engine() badgerkv.Options {
	return badgerkv.Options{
		Sync: o.Durability == Sync, Logger: o.Logger, MemtableBytes: o.MemtableBytes, MinFree: o.MinFree, ReadOnly: o.ReadOnly,
		Expires: record.Expires,
	}
}

// Open opens the store in dir and creates it if needed. If the store was closed, the time does not depend on its size;
// otherwise Open reads all tables to verify them. Errors wrap scheduler.ErrLocked, ErrFormat, ErrDamaged or ErrFull
// where one of them fits. The caller must Close the store.
func Open(dir string, o Options) (*Store, error) {
	e, err := badgerkv.Open(dir, o.engine())
	if err != nil {
		return nil, err
	}
	s, err := On(e, dir, o)
	if err != nil {
		return nil, errors.Join(err, e.Abandon())
	}
	return s, nil
}

// Exists reports whether dir holds a store, without opening it.
func Exists(dir string) bool { return badgerkv.Exists(dir) }

// HalfRestored returns the directory of a running or killed restore to dir, if dir has no store: opening dir would
// silently begin with an empty store.
func HalfRestored(dir string) (half string, ok bool) { return badgerkv.HalfBuilt(dir) }

// Restore creates a store in dir from the output of Backup. dir must be missing or empty; it stays so until the backup
// was read completely, verified and synced. If Restore fails, it removes everything that it created. Of o, only Logger
// and MemtableBytes are used. The store does not count as closed cleanly, since requests were made after the backup
// that it does not record. Errors wrap scheduler.ErrDamaged if r is not a complete backup, ErrFormat if it has another
// version.
func Restore(ctx context.Context, dir string, r io.Reader, o Options) (report BackupReport, err error) {
	o = Options{Logger: o.Logger, MemtableBytes: o.MemtableBytes}
	b := newRestored(ctx, r)
	err = badgerkv.Build(dir, o.engine(), b.next, func(part string) error {
		o.ReadOnly = true
		s, err := Open(part, o)
		if err != nil {
			return err
		}
		return b.verify(s)
	})
	return b.report, err
}
