// Package badgerfiles looks at the files of a store before Badger opens them.
//
// Badger trusts its files: a length that cannot be ends the process, in a goroutine of
// Badger's where nobody can recover, or lets it allocate gigabytes; a log is cut at the
// first byte that is wrong; a table with another checksum is left out. So a store with a
// file that is not as it was written is refused:
//
//   - All that has changed since the store was closed, by its length or time of change, is
//     read to its end (closed.go, tables.go, logs.go). If the store was not closed, that
//     is all of it.
//   - What Badger reads to open the store is looked at each time: which files there are,
//     the manifest, the indexes and last blocks of tables, the last file of the value log.
//   - A block that decays without a trace, and is met later, is an error where the store
//     reads it, and may end the process only where Badger merges tables.
//
// The caller has the directory locked. Nothing here runs beyond the call, and there is no
// lock; only the tables are read by several goroutines at once. The package knows the form of
// Badger's files, of the version that go.mod names, and has one of its own: the file
// CLOSED, which says in JSON how they were when the store was closed.
package badgerfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Check looks at the files of a store, and returns the logs whose last entry is half there.
// Files whose names end in other must be files, too, but are not read. It must not be
// called while a process writes to them.
func Check(dir, other string) ([]Torn, error) {
	if err := checkRegular(dir, other); err != nil {
		return nil, err
	}
	if err := checkKeys(dir); err != nil {
		return nil, err
	}
	closed, err := readClosed(dir)
	if err != nil {
		return nil, err
	}
	if err := closed.check(dir); err != nil {
		return nil, err
	}
	if err := checkTables(dir, closed); err != nil {
		return nil, err
	}
	return checkLogs(dir, closed)
}

// checkKeys looks at Badger's file of keys, which holds none: Badger believes whatever
// length it finds behind.
func checkKeys(dir string) error {
	const (
		name   = badger.KeyRegistryFileName
		vector = 16 // bytes by chance, of no use without keys
		behind = "Hello Badger"
	)
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Badger makes it
	}
	if err != nil {
		return err
	}
	if len(b) != vector+len(behind) || string(b[vector:]) != behind {
		return fmt.Errorf("the file %s is damaged", name)
	}
	return nil
}

// checkRegular sees to it that the files of a store are files: Badger ends the process
// where some are not.
func checkRegular(dir, other string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range list {
		switch filepath.Ext(f.Name()) {
		case ".sst", ".vlog", ".mem", other:
		default:
			if !slices.Contains([]string{badger.ManifestFilename, DiscardName, badger.KeyRegistryFileName, "LOCK", ClosedName}, f.Name()) {
				continue
			}
		}
		if !f.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", f.Name())
		}
	}
	return nil
}

// Leftovers are what a killed process left: memtables, which Badger writes to tables when
// it is closed, and log files of no bytes. A process that is killed between making or
// emptying such a file and the next step leaves one, and Badger refuses to open it.
type Leftovers struct {
	Memtables bool
	Empty     []string // names of files
}

// Any reports whether anything is left.
func (l Leftovers) Any() bool { return l.Memtables || len(l.Empty) > 0 }

// Repair cuts off what is half there, and removes Badger's count of garbage: nobody asks
// for it, and one that is too short ends the process.
func Repair(dir string, torn []Torn) error {
	for _, l := range torn {
		if err := l.cut(); err != nil {
			return err
		}
	}
	err := os.Remove(filepath.Join(dir, DiscardName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Left looks for leftovers.
func Left(dir string) (l Leftovers, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return l, fmt.Errorf("store: %w", err)
	}
	for _, f := range files {
		ext := filepath.Ext(f.Name())
		if ext != ".vlog" && ext != ".mem" {
			continue
		}
		l.Memtables = l.Memtables || ext == ".mem"
		if info, err := f.Info(); err == nil && info.Size() == 0 {
			l.Empty = append(l.Empty, filepath.Join(dir, f.Name()))
		}
	}
	return l, nil
}

// Directory knows up to when a directory's entries are durable. It belongs to one
// goroutine. Badger syncs its files but
// not always their names, which a file system need not keep without that.
type Directory struct {
	Path   string
	synced time.Time // the directory's time of change
}

// Sync makes the names durable if any changed. The time of change is coarse: soon
// after it there may be another change under the same one.
func (d *Directory) Sync() error {
	const coarse = 100 * time.Millisecond
	info, err := os.Stat(d.Path)
	if err != nil {
		return err
	}
	changed := info.ModTime()
	if changed.Equal(d.synced) {
		return nil
	}
	if err := SyncDir(d.Path); err != nil {
		return err
	}
	if since := time.Since(changed); since > coarse || since < 0 {
		d.synced = changed
	}
	return nil
}

// SyncDir makes the names of the files in a directory durable.
func SyncDir(dir string) (err error) {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}
