package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
)

// Badger trusts its files: a length that cannot be ends the process, in a goroutine of
// Badger's where nobody can recover, or lets it allocate gigabytes; a log is cut at the
// first byte that is wrong; a table with another checksum is left out. So the files are
// looked at before Badger opens them, and a store with one that is not as it was written
// is refused:
//
//   - All that has changed since the store was closed, by its length or time of change, is
//     read to its end (closed.go, soundtables.go, soundlogs.go). If the store was not
//     closed, that is all of it.
//   - What Badger reads to open the store is looked at each time: which files there are,
//     the manifest, the indexes and last blocks of tables, the last file of the value log.
//   - A block that decays without a trace, and is met later, is an error where the store
//     reads it (guard), and may end the process only where Badger merges tables.

// directory knows up to when a directory's entries are durable. Badger syncs its files but
// not always their names, which a file system need not keep without that.
type directory struct {
	path   string
	synced time.Time // the directory's time of change
}

// sync makes the names durable if any changed. The time of change is coarse: soon
// after it there may be another change under the same one.
func (d *directory) sync() error {
	const coarse = 100 * time.Millisecond
	info, err := os.Stat(d.path)
	if err != nil {
		return err
	}
	changed := info.ModTime()
	if changed.Equal(d.synced) {
		return nil
	}
	if err := syncDir(d.path); err != nil {
		return err
	}
	if since := time.Since(changed); since > coarse || since < 0 {
		d.synced = changed
	}
	return nil
}

// checkFiles looks at the files of a store before Badger does. It must not be called
// while a process writes to them.
func checkFiles(dir string) ([]tornLog, error) {
	torn, err := checkSound(dir)
	if err != nil {
		return nil, openError(dir, err)
	}
	return torn, nil
}

func checkSound(dir string) ([]tornLog, error) {
	for _, check := range [...]func(string) error{checkRegular, checkKeys} {
		if err := check(dir); err != nil {
			return nil, err
		}
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
func checkRegular(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range list {
		switch filepath.Ext(f.Name()) {
		case ".sst", ".vlog", ".mem", segments.Ext:
		default:
			if !slices.Contains([]string{badger.ManifestFilename, discardName, badger.KeyRegistryFileName, "LOCK", closedName}, f.Name()) {
				continue
			}
		}
		if !f.Type().IsRegular() {
			return fmt.Errorf("%s is no file", f.Name())
		}
	}
	return nil
}

// guard makes an error of a panic in Badger's reading of tables: it trusts the lengths at
// the end of a block, which may have decayed since it was looked at.
func (s *Store) guard(err *error) {
	p := recover()
	if p == nil {
		return
	}
	if !bytes.Contains(debug.Stack(), []byte("dgraph-io/badger/v4/table.")) {
		panic(p)
	}
	*err = s.damaged("a table", fmt.Errorf("%v", p))
}

// leftOut notes in Badger's log that it goes on without a table.
type leftOut struct{ table atomic.Pointer[string] }

func (l *leftOut) note(words string) {
	if name, ok := strings.CutPrefix(words, "Ignoring table "); ok {
		l.table.CompareAndSwap(nil, &name)
	}
}

func (l *leftOut) err(dir string) error {
	name := l.table.Load()
	if name == nil {
		return nil
	}
	return fmt.Errorf("store %s: %w: the index of table %s does not fit its checksum; %s", dir, scheduler.ErrDamaged, filepath.Base(*name), adviceDamaged)
}

// errUnread is a value that Badger gives as empty because its file cannot be read.
var errUnread = errors.New("the file that holds the value cannot be read")

// valueOf is item.Value but for values that cannot be read, which are an error.
func valueOf(item *badger.Item, fn func([]byte) error) error {
	return item.Value(func(v []byte) error {
		if len(v) == 0 && item.ValueSize() > 0 {
			return errUnread
		}
		return fn(v)
	})
}

// copyValue gives a copy of an item's value, never nil.
func copyValue(item *badger.Item) (v []byte, err error) {
	err = valueOf(item, func(b []byte) error {
		v = append([]byte{}, b...)
		return nil
	})
	return v, err
}
