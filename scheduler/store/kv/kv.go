// Package kv defines what the store needs of a database: ordered keys with values, consistent
// snapshots, and commits that are stored whole or not at all.
//
// Errors of reading wrap scheduler.ErrDamaged if what is stored cannot be read.
package kv

import (
	"io"
	"iter"
	"time"
)

// Engine is a database. View, Version and Stats may be called at once by any number of
// goroutines, Commit by one at a time.
type Engine interface {
	// View returns a snapshot of all commits that have returned. It may wait for one that has not.
	View() View
	// Commit stores changes, all of them or none, and returns when they are durable; a nil value removes
	// its key. Keys are distinct. After an error the changes may be stored or not, and no other Commit
	// is allowed.
	Commit(changes iter.Seq2[[]byte, []byte]) error
	Bodies
	// Save has write write what Load reads once publish has returned; until then Load reads what was published before.
	// One goroutine at a time calls Save, Load and publish.
	Save(write func(io.Writer) error) (publish func() error, err error)
	// Load opens what was published last. The error wraps fs.ErrNotExist if nothing was.
	Load() (io.ReadCloser, error)
	// Room returns an error that wraps scheduler.ErrFull if there is no room for a commit.
	Room() error
	// Limits returns what one commit may hold.
	Limits() Limits
	// Version returns the number of a commit, which rises from commit to commit and from process to
	// process; 0 if nothing was ever stored.
	Version() uint64
	// Check reads all that is stored and returns an error if checksums do not fit.
	Check() error
	// Stats measures.
	Stats() (Stats, error)
	// Close releases the database. No View may be open.
	Close() error
}

// View is a snapshot, for one goroutine at a time.
type View interface {
	// Get returns a copy of a key's value, nil if the key is not stored.
	Get(key []byte) ([]byte, error)
	// Walk calls fn for the keys with a prefix, from the key from on, in order, until fn returns an
	// error, which it returns. Without values, value is nil. key and value are valid during the call.
	// fn may read the view.
	Walk(prefix, from []byte, values bool, fn func(key, value []byte) error) error
	Close()
}

// Bodies are long values, which stand in segments: they have a number, a segment and an offset in place of a key.
type Bodies interface {
	// Append stores a value with the next Commit, or before it. What was stored there before is replaced. The goroutine
	// that commits calls it.
	Append(segment, offset uint64, value []byte) error
	// Segment opens a segment for reading. Its errors wrap fs.ErrNotExist, io.EOF or syscall.EIO where bytes are lost.
	Segment(n uint64) (Segment, error)
	// Drop removes a segment if it is there.
	Drop(n uint64) error
	// Keep drops all segments but the needed ones and the last, and what the last has from offset end on. It is called
	// before Append.
	Keep(needed func(n uint64) bool, last, end uint64) error
}

// Segment reads a segment. Any number of goroutines may call ReadAt at once.
type Segment interface {
	io.ReaderAt
	io.Closer
}

// Limits are those of one commit. A value of Long bytes or more is stored elsewhere, and
// counts as 12 bytes. A commit that would be small waits up to Gather for more changes.
type Limits struct {
	Bytes, Keys, Long int64
	Gather            time.Duration
}

// Stats tell how a database uses its disk, in bytes.
type Stats struct {
	// DiskFree and DiskSize are those of the disk that the store lies on;
	// MinFree must stay free, or nothing is written. 0: not known, or no bound.
	DiskFree, DiskSize, MinFree int64
	// TableBytes, LogBytes, ValueBytes and BodyBytes are the disk space of tables, memtable
	// logs, the value log and the outbox's segments.
	TableBytes, LogBytes, ValueBytes, BodyBytes int64
}
