package badgerfiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// The file CLOSED holds a mark as JSON.

// ClosedName is the file that describes Badger's files as of when the store was closed. It exists only while the store
// is closed.
const ClosedName = "CLOSED"

// mark is the content of ClosedName.
type mark struct {
	ManifestBytes int64  `json:"manifest_bytes"`
	ManifestSum   uint32 `json:"manifest_crc32c"`
	// Files are the tables and the value log.
	Files map[string]closedFile `json:"files"`
}

// closedFile identifies the state of a file.
type closedFile struct {
	Bytes   int64 `json:"bytes"`
	Changed int64 `json:"changed_ns"` // the time of change, in Unix nanoseconds
}

func closedFileOf(info fs.FileInfo) closedFile {
	return closedFile{info.Size(), info.ModTime().UnixNano()}
}

// MarkClosed writes the file CLOSED, as the last step of closing a store.
func MarkClosed(dir string) error {
	m := mark{Files: map[string]closedFile{}}
	if err := m.readManifest(dir); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range list {
		if ext := filepath.Ext(f.Name()); ext != ".sst" && ext != ".vlog" {
			continue
		}
		info, err := f.Info()
		if err != nil {
			return err
		}
		m.Files[f.Name()] = closedFileOf(info)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ClosedName), b, 0o600)
}

func (m *mark) readManifest(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return err
	}
	m.ManifestBytes, m.ManifestSum = int64(len(b)), crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return nil
}

// readClosed returns the mark, or nil without one. It ignores a mark that cannot be read, since writing it may have
// been interrupted.
func readClosed(dir string) (*mark, error) {
	b, err := os.ReadFile(filepath.Join(dir, ClosedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m mark
	if json.Unmarshal(b, &m) != nil {
		return nil, nil
	}
	return &m, nil
}

// check compares the mark with the files: the manifest, since Badger would remove tables if it were truncated, and the
// lengths of the files.
func (m *mark) check(dir string) error {
	if m == nil {
		return nil
	}
	var now mark
	if err := now.readManifest(dir); err != nil {
		return err
	}
	if now.ManifestBytes != m.ManifestBytes || now.ManifestSum != m.ManifestSum {
		return fmt.Errorf("the file %s changed after the store was closed", badger.ManifestFilename)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		info, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the file %s is missing", name)
		}
		if err != nil {
			return err
		}
		if was := m.Files[name].Bytes; info.Size() != was {
			return fmt.Errorf("the file %s has %d bytes, but had %d when the store was closed", name, info.Size(), was)
		}
	}
	return nil
}

// untouched reports whether a file has the length and time of change that it had when the store was closed.
func (m *mark) untouched(info fs.FileInfo) bool {
	if m == nil {
		return false
	}
	f, ok := m.Files[info.Name()]
	return ok && f == closedFileOf(info)
}

// UnmarkClosed removes the file CLOSED, as the first step of opening a store for writing.
func UnmarkClosed(dir string) error {
	err := os.Remove(filepath.Join(dir, ClosedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return SyncDir(dir) // it must not reappear after a power failure
}
