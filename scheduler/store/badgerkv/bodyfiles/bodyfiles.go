// Package bodyfiles stores the segments of a store as files in a directory: the bodies one after the other, without any
// framing.
//
// A Files belongs to one goroutine, except for Segment and Drop, which may be called concurrently. The package starts
// no goroutine.
package bodyfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// Ext is the suffix of segment files.
const Ext = ".seg"

const (
	prefix = "outbox-"
	digits = 10
)

// Name returns the file name of a segment.
func Name(n uint64) string {
	return fmt.Sprintf("%s%0*d%s", prefix, digits, n, Ext)
}

// Number returns the inverse of Name, 0 for other names.
func Number(name string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(name, prefix), Ext), 10, 64)
	if err != nil || Name(n) != name {
		return 0
	}
	return n
}

// Files implements kv.Bodies with files in Dir.
type Files struct {
	Dir string
	// SyncNames makes the names of the files in Dir durable. If it is nil, nothing is synced.
	SyncNames func() error

	number  uint64
	file    *os.File // written last; nil: none
	changed bool     // since the last Sync
}

var _ kv.Bodies = (*Files)(nil)

// Append implements kv.Bodies.
func (f *Files) Append(segment, offset uint64, value []byte) error {
	if err := f.turn(segment); err != nil {
		return err
	}
	f.changed = true
	_, err := f.file.WriteAt(value, int64(offset))
	return err
}

// Sync makes the appended values durable.
func (f *Files) Sync() error {
	if !f.changed || f.SyncNames == nil {
		return nil
	}
	f.changed = false
	return f.file.Sync()
}

// turn opens or creates a segment, after it has synced the one before.
func (f *Files) turn(n uint64) error {
	if f.file != nil && f.number == n {
		return nil
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(f.Dir, Name(n)), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	f.file, f.number = file, n
	if f.SyncNames == nil {
		return nil
	}
	return f.SyncNames() // before any order refers to a body in it
}

// Close closes the file that was written last.
func (f *Files) Close() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	return file.Close()
}

// Segment implements kv.Bodies.
func (f *Files) Segment(n uint64) (kv.Segment, error) { return os.Open(filepath.Join(f.Dir, Name(n))) }

// Drop implements kv.Bodies.
func (f *Files) Drop(n uint64) error {
	err := os.Remove(filepath.Join(f.Dir, Name(n)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Keep implements kv.Bodies.
func (f *Files) Keep(needed func(n uint64) bool, last, end uint64) error {
	list, err := os.ReadDir(f.Dir)
	if err != nil {
		return err
	}
	for _, file := range list {
		switch n := Number(file.Name()); {
		case n == 0:
		case n == last:
			if info, err := file.Info(); err != nil || info.Size() <= int64(end) {
				continue
			}
			err = os.Truncate(filepath.Join(f.Dir, file.Name()), int64(end))
		case !needed(n):
			err = f.Drop(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
