// Package kv defines the database interface of the store: ordered keys with values, consistent snapshots, and atomic
// commits.
//
// Read errors wrap scheduler.ErrDamaged if the stored bytes are corrupt.
package kv

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// AdviceDamaged is the advice in errors that wrap scheduler.ErrDamaged.
const AdviceDamaged = "restore the store from a backup, or start with an empty one"

// Damaged returns the error for a part of a database that cannot be read.
func Damaged(name, part string, err error) error {
	if errors.Is(err, scheduler.ErrDamaged) {
		return err // it names its object
	}
	return fmt.Errorf("store %s: %w: %s: %w; %s", name, scheduler.ErrDamaged, part, err, AdviceDamaged)
}

// Engine is a database. View, Version and Stats may be called concurrently, Commit from one goroutine at a time.
type Engine interface {
	// View returns a snapshot of all commits that have returned. It may wait for one that has not.
	View() View
	// Commit stores all changes atomically and returns when they are durable; a nil value removes its key. Keys are
	// distinct. After an error the changes may or may not be stored, and Commit must not be called again.
	Commit(changes iter.Seq2[[]byte, []byte]) error
	Bodies
	// Save calls write to write a file. Load reads it once publish has returned, and the previous one until then. Save
	// and publish are called from one goroutine at a time, Load from any.
	Save(write func(io.Writer) error) (publish func() error, err error)
	// Load opens the last published file. The error wraps fs.ErrNotExist if there is none.
	Load() (io.ReadCloser, error)
	// Room returns an error that wraps scheduler.ErrFull if the disk lacks space for a commit.
	Room() error
	// Limits returns the limits of one commit.
	Limits() Limits
	// Version returns the number of the last commit, which rises with each commit, also across processes; 0 if nothing was
	// ever stored.
	Version() uint64
	// Check reads everything and returns an error if a checksum does not match.
	Check() error
	// Stats returns the disk usage.
	Stats() (Stats, error)
	// Close releases the database. All Views must be closed.
	Close() error
}

// View is a snapshot, for one goroutine at a time.
type View interface {
	// Get returns a copy of a key's value, nil if the key is not stored.
	Get(key []byte) ([]byte, error)
	// Walk calls fn for the keys with a prefix, starting at from, in order, until fn returns an error, which Walk
	// returns. If values is false, value is nil. key and value are valid during the call. fn may read the view.
	Walk(prefix, from []byte, values bool, fn func(key, value []byte) error) error
	Close()
}

// Bodies stores long values in segments, addressed by a segment number and an offset.
type Bodies interface {
	// Append stores a value with the next Commit, or before it. It replaces an earlier value. Only the goroutine
	// that commits calls it.
	Append(segment, offset uint64, value []byte) error
	// Segment opens a segment for reading. Its errors wrap fs.ErrNotExist, io.EOF or syscall.EIO if bytes are lost.
	Segment(n uint64) (Segment, error)
	// Drop removes a segment if it exists.
	Drop(n uint64) error
	// Keep drops all segments except the needed ones and last, and truncates last at offset end. It is called before
	// Append.
	Keep(needed func(n uint64) bool, last, end uint64) error
}

// Segment reads a segment. ReadAt may be called concurrently.
type Segment interface {
	io.ReaderAt
	io.Closer
}

// Limits are the limits of one commit. A value of Long bytes or more is stored separately, and counts as 12 bytes. A
// small commit waits up to Gather for more changes.
type Limits struct {
	Bytes, Keys, Long int64
	Gather            time.Duration
}

// Stats holds a database's disk usage in bytes.
type Stats struct {
	// DiskFree and DiskSize are those of the store's disk. Writes stop when less than DiskNeeded is free. 0: unknown,
	// or no bound.
	DiskFree   int64 `json:"disk_free_bytes"`
	DiskSize   int64 `json:"disk_size_bytes"`
	DiskNeeded int64 `json:"disk_needed_bytes"`
	// TableBytes, LogBytes, ValueBytes and BodyBytes are the disk space of tables, memtable logs, the value log and the
	// outbox's segments.
	TableBytes int64 `json:"table_bytes"`
	LogBytes   int64 `json:"log_bytes"`
	ValueBytes int64 `json:"-"`
	BodyBytes  int64 `json:"body_bytes"`
}
