// Package badgerkv implements kv.Engine on Badger, in a directory that it locks. Segments of bodies are files beside
// Badger's. Values longer than Options.longValue (157 KiB by default) are stored in Badger's value log; see
// collectGarbage for when its files are removed.
//
// Memory: at most five memtables of MemtableBytes and a third, 27 MiB with the default and 6 MiB until 4 MiB were
// written, and tables under construction, see badgerOptions. Tables are read through the page cache (no compression, no
// block cache), which the kernel reclaims when needed.
package badgerkv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// Engine implements kv.Engine on Badger in a directory, which it locks. The goroutine that commits owns the fields
// below "commits".
type Engine struct {
	db   *badger.DB
	o    Options
	dir  string
	lock *os.File // of dir
	*bodyfiles.Files

	// commits
	directory badgerfiles.Directory
	logged    int64 // bytes that entered the value log since garbage was last collected
	failed    bool  // the last commit may be partly applied
}

var _ kv.Engine = (*Engine)(nil)

// gatherFor is the time for which a small commit waits for more changes, since each costs syncs.
const gatherFor = 10 * time.Millisecond

// Open opens the database in dir and creates it if needed. Errors wrap scheduler.ErrLocked, ErrDamaged or ErrFull where
// one of them fits.
func Open(dir string, o Options) (*Engine, error) {
	lock, db, err := openFiles(dir, &o)
	if err != nil {
		return nil, err
	}
	files := &bodyfiles.Files{Dir: dir}
	if o.Sync {
		files.SyncNames = func() error { return badgerfiles.SyncDir(dir) }
	}
	return &Engine{
		Files: files, db: db, o: o, dir: dir, lock: lock, directory: badgerfiles.Directory{Path: dir},
		logged: collectAfter, // by an earlier process
	}, nil
}

// DB returns Badger's database, for tests and measurements.
func (e *Engine) DB() *badger.DB { return e.db }

// Abandon closes the database without marking it as closed: the next process verifies all of it.
func (e *Engine) Abandon() error { return errors.Join(e.db.Close(), unlock(e.lock)) }

// Close implements kv.Engine.
func (e *Engine) Close() error {
	err := errors.Join(e.Files.Close(), e.db.Close())
	if err == nil && !e.o.ReadOnly && !e.failed {
		err = badgerfiles.MarkClosed(e.dir)
	}
	return errors.Join(err, unlock(e.lock))
}

// Commit implements kv.Engine.
func (e *Engine) Commit(changes iter.Seq2[[]byte, []byte]) error {
	if err := e.Sync(); err != nil {
		return refused(e.dir, err)
	}
	txn := e.db.NewTransaction(true)
	defer txn.Discard()
	var err error
	long := e.o.longValue()
	for key, value := range changes {
		if err = e.change(txn, key, value); err != nil {
			break
		}
		if n := int64(len(value)); n >= long {
			e.logged += n
		}
	}
	if err == nil {
		err = txn.Commit()
	}
	if err == nil && e.o.Sync {
		err = e.directory.Sync()
	}
	if err != nil {
		e.failed = true
		return refused(e.dir, err)
	}
	if e.logged >= collectAfter {
		e.logged = 0
		collectGarbage(e.db, e.dir, e.o.Logger)
	}
	return nil
}

// Append implements kv.Bodies.
func (e *Engine) Append(segment, offset uint64, value []byte) error {
	if err := e.Files.Append(segment, offset, value); err != nil {
		return refused(e.dir, err)
	}
	return nil
}

// change puts one change into a transaction; a nil value removes the key.
func (e *Engine) change(txn *badger.Txn, key, value []byte) error {
	if value == nil {
		return txn.Delete(key)
	}
	entry := badger.NewEntry(key, value)
	entry.ExpiresAt = e.o.expires(key, value)
	return txn.SetEntry(entry)
}

// refused describes what to do after the disk or Badger refused a write.
func refused(dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		return fmt.Errorf("store %s: %w: a write failed; free some space and open the store again: %w", dir, scheduler.ErrFull, err)
	}
	return fmt.Errorf("store %s: a write failed; open the store again: %w", dir, err)
}

// Room implements kv.Engine: ErrFull if the disk has less free space than required.
func (e *Engine) Room() error { return roomIn(e.dir, e.needs()) }

// needs returns the free space that the disk must have: MinFree, or what Badger may need before it frees any, if that
// is more. Badger maps its tables before it fills them, and dies of SIGBUS if the disk is full. In the worst case all
// of level 0, which bursts of writes let grow to six times its size, is merged with all of the level below, while
// another compaction merges some tables and the memtables are written.
func (e *Engine) needs() int64 {
	if e.o.MinFree < 0 {
		return e.o.MinFree
	}
	need := tablesAtOnce * e.o.MemtableBytes
	for _, l := range e.db.Levels() {
		if l.Level == 0 || l.IsBaseLevel {
			need += l.Size
		}
	}
	return max(e.o.MinFree, need)
}

// tablesAtOnce is the most tables that are written at once besides a compaction of level 0: eleven of another one, and
// five memtables.
const tablesAtOnce = 16

// Limits implements kv.Engine.
func (e *Engine) Limits() kv.Limits {
	return kv.Limits{
		Bytes: e.db.MaxBatchSize() * 9 / 10, Keys: e.db.MaxBatchCount() * 9 / 10, Long: e.o.longValue(), Gather: gatherFor,
	}
}

// Version implements kv.Engine.
func (e *Engine) Version() uint64 { return e.db.MaxVersion() }

// Check implements kv.Engine. It verifies all tables, including those that opening did not read. In an open store
// Badger itself must do it, which panics at some bad blocks.
func (e *Engine) Check() (err error) {
	if e.o.ReadOnly {
		return badgerfiles.CheckTables(e.dir)
	}
	defer func() {
		if p := recover(); p != nil {
			e.o.Logger.Debug("Badger's message about a damaged block", "panic", p)
			err = errors.New("a block is damaged, and its contents are lost")
		}
	}()
	return e.db.VerifyChecksum()
}

// Stats implements kv.Engine. It lists the directory.
func (e *Engine) Stats() (st kv.Stats, err error) {
	st.DiskNeeded = max(e.needs(), 0)
	if free, size, err := space(e.dir); err == nil {
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
func (e *Engine) View() kv.View { return view{e.dir, e.db.NewTransaction(false)} }

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
		var walkErr error
		if err := valueOf(item, func(b []byte) error { walkErr = fn(item.Key(), b); return nil }); err != nil {
			return kv.Damaged(v.dir, fmt.Sprintf("key %x", item.Key()), err)
		}
		if walkErr != nil {
			return walkErr
		}
	}
	return nil
}

// SavedName is the file that Save writes beside Badger's.
const (
	SavedName    = "fingerprints"
	savedNameNew = SavedName + ".new" // not published yet
)

// Save implements kv.Engine.
func (e *Engine) Save(write func(io.Writer) error) (publish func() error, err error) {
	f, err := os.Create(filepath.Join(e.dir, savedNameNew))
	if err != nil {
		return nil, err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return e.publishSaved, errors.Join(err, f.Close())
}

func (e *Engine) publishSaved() error {
	if err := os.Rename(filepath.Join(e.dir, savedNameNew), filepath.Join(e.dir, SavedName)); err != nil {
		return err
	}
	return badgerfiles.SyncDir(e.dir)
}

// Load implements kv.Engine.
func (e *Engine) Load() (io.ReadCloser, error) { return os.Open(filepath.Join(e.dir, SavedName)) }
