package badgerstore

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
)

// collectGarbage removes the value log files of which no value is stored any more. It
// looks for each value, up to the first that is. A value goes when a compaction meets
// its removal, so space comes back some time after orders were removed.
//
// Badger has a collector of its own, which must not be used: it writes the values of a
// file that are left back under their old versions, also removed ones, and when their
// removals are compacted away first, they are there again. Nor is its count of garbage
// to be trusted: a compaction counts before it is done, and when the process is killed
// in between, the next one counts the same again.
//
// The committer calls it when all that it was given is committed: no value is in a file
// and not yet in a table. Readers only read values that are stored.
func (s *Store) collectGarbage() {
	s.garbage.Store(0)
	files, err := os.ReadDir(s.dir)
	if err != nil {
		s.log.Warn("value log is not collected", "error", err)
		return
	}
	files = slices.DeleteFunc(files, func(f os.DirEntry) bool { return filepath.Ext(f.Name()) != ".vlog" })
	slices.SortFunc(files, func(a, b os.DirEntry) int { // by number
		return cmp.Or(cmp.Compare(len(a.Name()), len(b.Name())), cmp.Compare(a.Name(), b.Name()))
	})
	for i := 0; i < len(files)-1; i++ { // the last is written to
		name := filepath.Join(s.dir, files[i].Name())
		used, err := s.holdsValue(name)
		if err == nil && !used {
			// Badger has it open until it is closed.
			err = errors.Join(os.Truncate(name, 0), os.Remove(name))
		}
		if err != nil {
			s.log.Warn("value log is not collected", "error", err)
		}
	}
}

// Of Badger's value log: a header of the file, and then entries of a header (two bytes,
// the lengths of key and value, and a time), a key with its version, a value and a checksum.
const (
	logHeader      = 20
	logEntryHeader = 2 + 3*binary.MaxVarintLen64
	logVersion     = 8
	logChecksum    = 4
	logLongestKey  = 4 << 10 // of those that the store writes
)

// holdsValue says whether a value of a value log file is stored, or may be: what is no
// whole row of entries is left to Badger.
func (s *Store) holdsValue(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return true, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return true, err
	}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	at := int64(logHeader)
	for b := make([]byte, logEntryHeader+logLongestKey); at < info.Size(); {
		n, err := f.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return true, err
		}
		key, length, ok := logEntry(b[:n])
		if !ok || isStored(txn, key) {
			return true, nil
		}
		at += length
	}
	return at != info.Size(), nil
}

// logEntry reads the key of an entry, with its version, and how long the entry is.
func logEntry(b []byte) (key []byte, length int64, ok bool) {
	if len(b) < 2 {
		return nil, 0, false
	}
	var numbers [3]uint64 // lengths of key and value, and a time
	rest := b[2:]
	for i := range numbers {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, 0, false
		}
		numbers[i], rest = v, rest[n:]
	}
	keyLen, valueLen := numbers[0], numbers[1]
	if keyLen <= logVersion || keyLen > uint64(len(rest)) || valueLen > math.MaxUint32 {
		return nil, 0, false
	}
	return rest[:keyLen], int64(len(b)-len(rest)) + int64(keyLen+valueLen) + logChecksum, true
}

// isStored says whether a version of a key is stored, though a newer one may be, too.
func isStored(txn *badger.Txn, key []byte) bool {
	it := txn.NewKeyIterator(y.ParseKey(key), badger.IteratorOptions{})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if it.Item().Version() == y.ParseTs(key) {
			return true
		}
	}
	return false
}
