package badgerstore

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
)

// What Badger takes for whole though it is not, is looked at here: tables whose end
// makes it panic in a goroutine of its own or that it leaves out, a manifest cut
// short, by which it would remove tables, and values whose file is gone.

// checkTables looks at the end of each table that the manifest names: lengths that
// cannot be make Badger die. Others were being written when the process ended, and
// Badger removes them.
func checkTables(dir string) (err error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a new store
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	manifest, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir))
	if err != nil {
		return fmt.Errorf("the file %s: %w", badger.ManifestFilename, err)
	}
	for id := range manifest.Tables {
		name := fmt.Sprintf("%06d.sst", id)
		if err := checkFooter(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return nil
}

// checkFooter sees to the last parts of a table: index, its length, a checksum, and
// its length.
func checkFooter(name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	left := info.Size()
	length := func() (int64, error) {
		var b [4]byte
		if left -= int64(len(b)); left < 0 {
			return 0, errShort
		}
		if _, err := f.ReadAt(b[:], left); err != nil {
			return 0, err
		}
		n := int64(binary.BigEndian.Uint32(b[:]))
		if left -= n; n == 0 || left < 0 {
			return 0, errors.New("its end is damaged")
		}
		return n, nil
	}
	const longestChecksum = 64
	if n, err := length(); err != nil {
		return err
	} else if n > longestChecksum {
		return errors.New("its end is damaged")
	}
	_, err = length()
	return err
}

// closedName is the file that says how the manifest was when the store was closed. It
// is there only while the store is closed.
const closedName = "CLOSED"

// closedMark is what closedName holds.
type closedMark struct {
	ManifestBytes int64  `json:"manifest_bytes"`
	ManifestSum   uint32 `json:"manifest_crc32c"`
}

func manifestMark(dir string) (closedMark, error) {
	b, err := os.ReadFile(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return closedMark{}, err
	}
	return closedMark{int64(len(b)), crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))}, nil
}

// markClosed is the last that happens to a store that is closed.
func markClosed(dir string) error {
	m, err := manifestMark(dir)
	if err != nil {
		return err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, closedName), b, 0o600)
}

// checkClosed compares the manifest with what it was when the store was closed, if
// that is known. A mark that cannot be read says nothing: writing it may have been
// cut short.
func checkClosed(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, closedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var want closedMark
	if json.Unmarshal(b, &want) != nil {
		return nil
	}
	got, err := manifestMark(dir)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("the file %s is not as it was when the store was closed", badger.ManifestFilename)
	}
	return nil
}

// unmarkClosed is the first that happens to a store that is opened for writing.
func unmarkClosed(dir string) error {
	err := os.Remove(filepath.Join(dir, closedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(dir) // after a power failure it must not be there again
}

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

// checkFiles looks at the files of a store before Badger does. It must not be
// called while a process writes to them.
func checkFiles(dir string) error {
	for _, check := range [...]func(string) error{checkRegular, checkClosed, checkTables} {
		if err := check(dir); err != nil {
			return openError(dir, err)
		}
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
		case ".sst", ".vlog", ".mem", segmentExt:
		default:
			if !slices.Contains([]string{badger.ManifestFilename, "DISCARD", "KEYREGISTRY", "LOCK", closedName}, f.Name()) {
				continue
			}
		}
		if !f.Type().IsRegular() {
			return fmt.Errorf("%s is no file", f.Name())
		}
	}
	return nil
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
