package badgerstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/bodyfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// engine is the database: Badger in a directory, which it locks. The goroutine that commits owns the fields below
// "commits".
type engine struct {
	db       *badger.DB
	dir      string
	lock     *os.File // of dir
	log      *slog.Logger
	readOnly bool
	disk
	*bodyfiles.Files
	tableBytes int64                   // Options.MemtableBytes
	long       int64                   // Options.longValue
	commit     func(*badger.Txn) error // Txn.Commit, except in tests

	// commits
	sync      bool // they are synced
	directory badgerfiles.Directory
	logged    int64 // bytes that entered the value log since garbage was last collected
	failed    bool  // the last commit may be partly applied
}

var _ kv.Engine = (*engine)(nil)

// openEngine sets the defaults in o, and opens the database in dir.
func openEngine(dir string, o *Options) (*engine, error) {
	lock, db, err := openFiles(dir, o)
	if err != nil {
		return nil, err
	}
	files := &bodyfiles.Files{Dir: dir}
	if o.Durability == Sync {
		files.SyncNames = func() error { return badgerfiles.SyncDir(dir) }
	}
	return &engine{
		Files: files,
		db:    db, dir: dir, lock: lock, log: o.Logger, readOnly: o.ReadOnly, disk: o.disk(),
		tableBytes: o.MemtableBytes, long: o.longValue(), commit: (*badger.Txn).Commit,
		sync: o.Durability == Sync, directory: badgerfiles.Directory{Path: dir},
		logged: collectAfter, // by an earlier process
	}, nil
}

// Close implements kv.Engine.
func (e *engine) Close() error {
	err := errors.Join(e.Files.Close(), e.db.Close())
	if err == nil && !e.readOnly && !e.failed {
		err = badgerfiles.MarkClosed(e.dir)
	}
	return errors.Join(err, unlock(e.lock))
}

// Commit implements kv.Engine.
func (e *engine) Commit(changes iter.Seq2[[]byte, []byte]) error {
	if err := e.Sync(); err != nil {
		return refused(e.dir, err)
	}
	txn := e.db.NewTransaction(true)
	defer txn.Discard()
	var err error
	for key, value := range changes {
		if err = change(txn, key, value); err != nil {
			break
		}
		if n := int64(len(value)); n >= e.long {
			e.logged += n
		}
	}
	if err == nil {
		err = e.commit(txn)
	}
	if err == nil && e.sync {
		err = e.directory.Sync()
	}
	if err != nil {
		e.failed = true
		return refused(e.dir, err)
	}
	if e.logged >= collectAfter {
		e.logged = 0
		collectGarbage(e.db, e.dir, e.log)
	}
	return nil
}

// Append implements kv.Bodies.
func (e *engine) Append(segment, offset uint64, value []byte) error {
	if err := e.Files.Append(segment, offset, value); err != nil {
		return refused(e.dir, err)
	}
	return nil
}

// change puts one change into a transaction; a nil value removes the key.
func change(txn *badger.Txn, key, value []byte) error {
	switch {
	case value == nil:
		return txn.Delete(key)
	case key[0] == record.KindGone:
		e := badger.NewEntry(key, value)
		e.ExpiresAt = record.GoneUntil(value)
		return txn.SetEntry(e)
	}
	return txn.Set(key, value)
}

// refused describes what to do after the disk or Badger refused a write.
func refused(dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		return fmt.Errorf("store %s: %w: a write failed, free some space and open the store again: %w", dir, scheduler.ErrFull, err)
	}
	return fmt.Errorf("store %s: a write failed, open the store again: %w", dir, err)
}

// Room implements kv.Engine: ErrFull if the disk has less free space than required.
func (e *engine) Room() error { return e.roomIn(e.dir, e.needs()) }

// needs returns the free space that the disk must have: MinFree, or what Badger may need before it frees any, if that
// is more. Badger maps its tables before it fills them, and dies of SIGBUS if the disk is full. In the worst case all
// of level 0, which bursts of writes let grow to six times its size, is merged with all of the level below, while
// another compaction merges some tables and the memtables are written.
func (e *engine) needs() int64 {
	if e.minFree < 0 {
		return e.minFree
	}
	need := tablesAtOnce * e.tableBytes
	for _, l := range e.db.Levels() {
		if l.Level == 0 || l.IsBaseLevel {
			need += l.Size
		}
	}
	return max(e.minFree, need)
}

// tablesAtOnce is the most tables that are written at once besides a compaction of level 0: eleven of another one, and
// five memtables.
const tablesAtOnce = 16

// Limits implements kv.Engine.
func (e *engine) Limits() kv.Limits {
	return kv.Limits{Bytes: e.db.MaxBatchSize() * 9 / 10, Keys: e.db.MaxBatchCount() * 9 / 10, Long: e.long}
}

// Version implements kv.Engine.
func (e *engine) Version() uint64 { return e.db.MaxVersion() }

// Check implements kv.Engine. It verifies all tables, including those that opening did not read. In an open store
// Badger itself must do it, which panics at some bad blocks.
func (e *engine) Check() (err error) {
	if e.readOnly {
		return badgerfiles.CheckTables(e.dir)
	}
	defer func() {
		if p := recover(); p != nil {
			e.log.Debug("Badger's message about a damaged block", "panic", p)
			err = errors.New("a block is damaged, and what it held is lost")
		}
	}()
	return e.db.VerifyChecksum()
}

// Stats implements kv.Engine. It lists the directory.
func (e *engine) Stats() (st kv.Stats, err error) {
	st.MinFree = max(e.needs(), 0)
	if free, size, err := e.space(e.dir); err == nil {
		st.DiskFree, st.DiskSize = free, size
	}
	files, err := os.ReadDir(e.dir)
	for _, f := range files {
		sum := map[string]*int64{".sst": &st.TableBytes, ".mem": &st.LogBytes, ".vlog": &st.ValueBytes, bodyfiles.Ext: &st.BodyBytes}[filepath.Ext(f.Name())]
		if sum == nil {
			continue
		}
		if info, err := f.Info(); err == nil {
			*sum += allocated(info)
		} // removed in the meantime
	}
	return st, err
}

// allocated returns the disk space of a file: Badger makes large files that are mostly holes.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

// view is a read-only transaction.
type view struct {
	dir string
	txn *badger.Txn
}

// View implements kv.Engine.
func (e *engine) View() kv.View { return view{e.dir, e.db.NewTransaction(false)} }

// Close implements kv.View.
func (v view) Close() { v.txn.Discard() }

// Get implements kv.View.
func (v view) Get(key []byte) (value []byte, err error) {
	defer guard(v.dir, &err)
	item, err := v.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err == nil {
		err = valueOf(item, func(b []byte) error {
			value = append([]byte{}, b...)
			return nil
		})
	}
	return value, err
}

// Walk implements kv.View.
func (v view) Walk(prefix, from []byte, values bool, fn func(key, value []byte) error) (err error) {
	defer guard(v.dir, &err)
	it := v.txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	for it.Seek(from); it.Valid(); it.Next() {
		item := it.Item()
		if !values {
			if err := fn(item.Key(), nil); err != nil {
				return err
			}
			continue
		}
		var told error
		if err := valueOf(item, func(b []byte) error { told = fn(item.Key(), b); return nil }); err != nil {
			return damaged(v.dir, fmt.Sprintf("key %x", item.Key()), err)
		}
		if told != nil {
			return told
		}
	}
	return nil
}

// Save writes a file beside Badger's.
const (
	knownFile    = "fingerprints"
	knownFileNew = knownFile + ".new" // not published yet
)

// Save implements kv.Engine.
func (e *engine) Save(write func(io.Writer) error) (publish func() error, err error) {
	f, err := os.Create(filepath.Join(e.dir, knownFileNew))
	if err != nil {
		return nil, err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return e.publishKnown, errors.Join(err, f.Close())
}

func (e *engine) publishKnown() error {
	if err := os.Rename(filepath.Join(e.dir, knownFileNew), filepath.Join(e.dir, knownFile)); err != nil {
		return err
	}
	return badgerfiles.SyncDir(e.dir)
}

// Load implements kv.Engine.
func (e *engine) Load() (io.ReadCloser, error) { return os.Open(filepath.Join(e.dir, knownFile)) }
