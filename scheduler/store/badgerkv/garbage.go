package badgerkv

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/badgerfiles"
)

// collectGarbage removes the value log files whose values have all been removed. It looks each value up, until it finds
// one in use. A value is gone once a compaction processes its removal, so space is freed some time after orders were
// removed.
//
// Badger's own collector must not be used: it rewrites the remaining values of a file under their old versions,
// including removed ones, and when their removals are compacted away first, the values reappear. Its garbage statistics
// are not reliable either: a compaction counts before it is done, and if the process is killed in between, the next one
// counts the same again.
//
// Commit calls it after its transaction, and at the first one of a process: every value in a file is in a table then.
// Readers only read stored values.
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
	for i := 0; i < len(files)-1; i++ { // the last is open
		name := filepath.Join(dir, files[i].Name())
		used, err := holdsValue(db, name)
		if err == nil && !used {
			// Badger keeps it open until it is closed.
			err = errors.Join(os.Truncate(name, 0), os.Remove(name))
		}
		if err != nil {
			log.Warn("cannot collect the value log", "error", err)
		}
	}
}

// holdsValue reports whether a value of a value log file is stored, or may be: a file that is not entirely valid
// entries is left to Badger.
func holdsValue(db *badger.DB, name string) (used bool, err error) {
	defer guard(filepath.Dir(name), &err)
	f, err := os.Open(name)
	if err != nil {
		return true, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	info, err := f.Stat()
	if err != nil {
		return true, err
	}
	txn := db.NewTransaction(false)
	defer txn.Discard()
	// A damaged key is not found although its value is in use, so all entries must be valid.
	whole, err := badgerfiles.EachEntry(f, info.Size(), func(_, _ int64, key []byte) bool {
		used = isStored(txn, key)
		return !used
	})
	return used || !whole || err != nil, err
}

// isStored reports whether a version of a key is stored, even if a newer one is too.
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
