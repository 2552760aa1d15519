package badgerstore

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
)

// collectGarbage removes the value log files whose values are all gone. It
// looks for each value, up to the first that is. A value goes when a compaction meets
// its removal, so space comes back some time after orders were removed.
//
// Badger has a collector of its own, which must not be used: it writes the values of a
// file that are left back under their old versions, also removed ones, and when their
// removals are compacted away first, they are there again. Nor is its count of garbage
// to be trusted: a compaction counts before it is done, and when the process is killed
// in between, the next one counts the same again.
//
// Commit calls it when its transaction is committed, and at the first one of a process: no value is in a
// file and not yet in a table. Readers only read values that are stored.
func collectGarbage(db *badger.DB, dir string, log *slog.Logger) {
	files, err := os.ReadDir(dir)
	if err != nil {
		log.Warn("cannot collect the value log", "error", err)
		return
	}
	files = slices.DeleteFunc(files, func(f os.DirEntry) bool { return filepath.Ext(f.Name()) != ".vlog" })
	slices.SortFunc(files, func(a, b os.DirEntry) int { // by number
		return cmp.Or(cmp.Compare(len(a.Name()), len(b.Name())), cmp.Compare(a.Name(), b.Name()))
	})
	for i := 0; i < len(files)-1; i++ { // the last is written to
		name := filepath.Join(dir, files[i].Name())
		used, err := holdsValue(db, name)
		if err == nil && !used {
			// Badger has it open until it is closed.
			err = errors.Join(os.Truncate(name, 0), os.Remove(name))
		}
		if err != nil {
			log.Warn("cannot collect the value log", "error", err)
		}
	}
}

// holdsValue reports whether a value of a value log file is stored, or may be: what is no
// whole row of entries is left to Badger.
func holdsValue(db *badger.DB, name string) (used bool, err error) {
	defer guard(filepath.Dir(name), &err)
	f, err := os.Open(name)
	if err != nil {
		return true, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return true, err
	}
	txn := db.NewTransaction(false)
	defer txn.Discard()
	// A key that was damaged is stored nowhere, though its value is: so all must be whole.
	whole, err := badgerfiles.EachEntry(f, info.Size(), func(_, _ int64, key []byte) bool {
		used = isStored(txn, key)
		return !used
	})
	return used || !whole || err != nil, err
}

// isStored reports whether a version of a key is stored, though a newer one may be, too.
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
