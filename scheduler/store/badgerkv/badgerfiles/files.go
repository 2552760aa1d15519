// Package badgerfiles checks the files of a store before Badger opens them.
//
// Badger trusts its files: an impossible length ends the process, in a goroutine of Badger's without recover, or makes
// it allocate gigabytes; a log is cut at the first wrong byte; a table with another checksum is left out. So a store
// with a file that differs from what was written is refused:
//
//   - Files that changed since the store was closed, by length or time of change, are read to their ends (closed.go,
//     tables.go, logs.go). If the store was not closed, that is all of them.
//   - The parts that Badger reads to open the store are checked each time: the list of files, the manifest, the indexes
//     and last blocks of tables, the last file of the value log.
//   - A block that decays unnoticed and is read later is an error where the store reads it. It may end the process only
//     where Badger merges tables.
//
// The caller has locked the directory. Nothing here outlives a call, and there is no lock; only the tables are read by
// several goroutines at once. The package knows the file formats of the Badger version in go.mod, and has one file of
// its own: CLOSED, which describes in JSON the files as of when the store was closed.
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

// Check checks the files of a store, and returns the logs whose last entry is incomplete. Files whose names end in
// other must be regular files too, but are not read. It must not be called while a process writes to them.
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

// checkKeys checks Badger's key registry, which holds no keys: Badger trusts any length that follows.
func checkKeys(dir string) error {
	const (
		name   = badger.KeyRegistryFileName
		vector = 16 // random bytes, unused without keys
		behind = "Hello Badger"
	)
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Badger creates it
	}
	if err != nil {
		return err
	}
	if len(b) != vector+len(behind) || string(b[vector:]) != behind {
		return fmt.Errorf("the file %s is damaged", name)
	}
	return nil
}

// checkRegular checks that the files of a store are regular files: Badger ends the process for some that are not.
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

// Leftovers are files of a killed process: memtables, which Badger writes to tables when it is closed, and empty log
// files. A process that is killed between creating or truncating such a file and the next step leaves an empty one, and
// Badger refuses to open it.
type Leftovers struct {
	Memtables bool
	Empty     []string // names of files
}

// Any reports whether anything is left.
func (l Leftovers) Any() bool { return l.Memtables || len(l.Empty) > 0 }

// Repair cuts off incomplete entries, and removes Badger's garbage statistics, which are not used and end the process
// if they are too short.
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

// Left returns the leftovers.
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

// Directory tracks up to when a directory's entries are durable. It belongs to one goroutine. Badger syncs its files
// but not always their names, which a file system need not keep without that.
type Directory struct {
	Path   string
	synced time.Time // the directory's time of change
}

// Sync makes the names durable if any changed. The time of change is coarse, so another change may follow with the same
// one.
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
