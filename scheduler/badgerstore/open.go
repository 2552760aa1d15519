package badgerstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/fingerprints"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
)

// Open starts the committer and the writer, and the goroutine that loads the fingerprints;
// Close waits for them.

const (
	adviceDamaged = "restore the directory from a backup, or move it away and crawl anew"
	adviceLocked  = "send the command to the running service (its socket is in the data directory), or stop that process first"
)

// Exists reports whether dir holds a store, without opening it.
func Exists(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, badger.ManifestFilename))
	return err == nil && info.Mode().IsRegular()
}

// Open opens the store in dir and makes it if it is not there. It takes the same
// time however much is stored, if the store was closed: otherwise it reads all tables, to
// see that they are whole. The errors wrap scheduler.ErrLocked, ErrFormat,
// ErrDamaged or ErrFull where one of them fits. The caller must Close the store.
func Open(dir string, o Options) (*Store, error) {
	lock, db, err := openFiles(dir, &o)
	if err != nil {
		return nil, err
	}
	s := newStore(db, lock, o)
	if err := s.start(); err != nil {
		return nil, errors.Join(err, db.Close(), unlock(lock))
	}
	return s, nil
}

// fill puts the defaults where nothing is said.
func (o *Options) fill() {
	if o.MemtableBytes == 0 {
		o.MemtableBytes = DefaultMemtableBytes
	}
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// openFiles fills in what o leaves open, locks dir, and opens Badger once its files have been looked at.
func openFiles(dir string, o *Options) (lock *os.File, db *badger.DB, err error) {
	o.fill()
	if o.MemtableBytes < MinMemtableBytes {
		return nil, nil, fmt.Errorf("store %s: memtable of %d bytes is too small: write %d or more", dir, o.MemtableBytes, MinMemtableBytes)
	}
	if err := prepare(dir, *o); err != nil {
		return nil, nil, err
	}
	if lock, err = lockDirectory(dir, o.ReadOnly); err != nil {
		return nil, nil, err
	}
	if err = tidy(lock, *o); err == nil {
		o.MemtableBytes, err = memtableFor(dir, o.MemtableBytes)
	}
	if err == nil {
		db, err = openBadger(dir, *o)
	}
	if err != nil {
		return nil, nil, errors.Join(err, unlock(lock))
	}
	return lock, db, nil
}

// memtableFor is the size, not below another one, that what a crash has left of memtables fits into. Badger makes the
// file of one twice as large.
func memtableFor(dir string, size int64) (int64, error) {
	left, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	for _, name := range left {
		file, err := os.Stat(name)
		if err != nil {
			return size, err
		}
		size = max(size, (file.Size()+1)/2)
	}
	return size, err
}

// newStore makes a store that nothing was read of yet.
func newStore(db *badger.DB, lock *os.File, o Options) *Store {
	dir := lock.Name()
	return &Store{
		db: db, dir: dir, lock: lock, log: o.Logger, readOnly: o.ReadOnly, firstOrder: o.FirstOrder, disk: o.disk(),
		tableBytes: o.MemtableBytes, long: o.longValue(), at: o.at, commit: (*badger.Txn).Commit,
		sync: o.Durability == Sync, directory: badgerfiles.Directory{Path: dir},
		changed: make(chan struct{}, 1), writes: make(chan *write, groupWrites), batches: make(chan *batch, 1),
		loaded: make(chan loaded, 1), settler: newSettler(), collect: make(chan struct{}, 1),
		saveAfter: cmp.Or(o.saveAfter, saveAfter), stores: max(1, o.Stores),
		quit: make(chan struct{}), stop: make(chan struct{}),
		segments: segments.New(dir, o.Logger, uint64(cmp.Or(o.segmentBytes, segments.DefaultBytes)), segments.RecentBytes/max(1, o.Stores)),
	}
}

// prepare looks at the directory before Badger does: with its manifest lost,
// Badger would remove all tables as strange files.
func prepare(dir string, o Options) error {
	if !o.ReadOnly {
		if err := makeFolder(dir); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	_, err := os.Stat(filepath.Join(dir, badger.ManifestFilename))
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		return fmt.Errorf("store %s: %w", dir, err)
	}
	if len(tables) > 0 {
		return fmt.Errorf("store %s: %w: the file %s is missing; %s", dir, scheduler.ErrDamaged, badger.ManifestFilename, adviceDamaged)
	}
	if o.ReadOnly {
		return fmt.Errorf("store %s: %w: no crawl has been run with this data directory yet", dir, fs.ErrNotExist)
	}
	return nil
}

// makeFolder makes the folder of a store readable by its owner only, since Badger lets
// everybody read its files.
func makeFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(dir, 0o700) // somebody else's folder stays as they want it
	}
	return err
}

// openBadger opens Badger in a directory that is locked and tidy.
func openBadger(dir string, o Options) (*badger.DB, error) {
	var left leftOut
	options := badgerOptions(dir, o)
	options.BypassLockGuard = true
	options.Logger = badgerLog{o.Logger, left.note}
	db, err := tryBadger(options)
	if err != nil {
		return nil, openError(dir, err)
	}
	if err := left.err(dir); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// tryBadger opens Badger, which panics at some damage.
func tryBadger(o badger.Options) (db *badger.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%v", p)
		}
	}()
	return badger.Open(o)
}

// openError tells the system's refusals and damage apart. Badger keeps
// only the words of the errors that it wraps.
func openError(dir string, err error) error {
	words := err.Error()
	if strings.Contains(words, syscall.ENOSPC.Error()) {
		return fmt.Errorf("store %s: %w: %w", dir, scheduler.ErrFull, err)
	}
	for _, e := range []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if strings.Contains(words, e.Error()) {
			return fmt.Errorf("store %s cannot be opened: %w", dir, err)
		}
	}
	return fmt.Errorf("store %s: %w: %w; %s", dir, scheduler.ErrDamaged, err, adviceDamaged)
}

// start reads format and counters and starts the store's goroutines.
func (s *Store) start() (err error) {
	defer s.guard(&err)
	c, err := s.readMeta()
	if err != nil {
		return err
	}
	s.clean = c.Clean
	c.Clean = s.readOnly && c.Clean
	if !s.readOnly {
		c.Order = max(c.Order, s.firstOrder)
	}
	s.committed.Store(&c)
	if err := s.openSegments(&c); err != nil {
		return err
	}
	if s.readOnly {
		return nil
	}
	if err := s.markClean(false); err != nil {
		return s.words(err)
	}
	first := s.db.MaxVersion() + 1 // above the number of any batch of an earlier process
	s.commits.Store(first)
	s.touched = newTouched(first, s.stores)
	s.running.Go(s.commitWrites)
	s.running.Go(s.writeBatches)
	s.running.Go(func() { s.settler.run(s.stop, s.leave) })
	if c.Known == 0 {
		s.known.set.Store(fingerprints.New(0))
		s.known.mark = c.Removals
	} else {
		s.background.Go(s.loadKnown)
	}
	s.collect <- struct{}{} // what an earlier process left
	return nil
}

// readMeta reads the counters, once the format is found to be Format.
func (s *Store) readMeta() (c record.Counters, err error) {
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	v, err := read(txn, record.FormatKey())
	if err != nil {
		return c, s.damaged("format", err)
	}
	if v == nil && s.db.MaxVersion() == 0 {
		return record.Counters{Clean: true}, nil // new, or its maker died before the first commit
	}
	if v == nil {
		return c, fmt.Errorf("store %s: %w: a Badger database that is not Sextant's; name another data directory", s.dir, scheduler.ErrFormat)
	}
	if len(v) != 1 {
		return c, s.damaged("format", record.ErrLength)
	}
	if v[0] != Format {
		return c, fmt.Errorf("store %s: %w: format %d, not %d: start anew with an empty data directory, or keep using the program that wrote it",
			s.dir, scheduler.ErrFormat, v[0], Format)
	}
	if v, err = read(txn, record.CountersKey()); err == nil && v == nil {
		err = errors.New("they are missing")
	}
	if err != nil {
		return c, s.damaged("counters", err)
	}
	if c, err = record.DecodeCounters(v); err != nil {
		return c, s.damaged("counters", err)
	}
	return c, nil
}

// markClean stores whether the store is closed cleanly. No committer runs meanwhile.
func (s *Store) markClean(clean bool) error {
	c := *s.committed.Load()
	c.Clean = clean
	return s.db.Update(func(txn *badger.Txn) error {
		if err := txn.Set(record.FormatKey(), []byte{Format}); err != nil {
			return err
		}
		return txn.Set(record.CountersKey(), c.Encode())
	})
}

// read returns a copy of a key's value, nil if there is none.
func read(txn *badger.Txn, key []byte) ([]byte, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return copyValue(item)
}

// badgerLog hands Badger's words to slog, and its errors to note first.
type badgerLog struct {
	*slog.Logger
	note func(words string)
}

func (l badgerLog) write(level slog.Level, format string, args []any) {
	if ctx := context.Background(); l.Enabled(ctx, level) {
		l.Log(ctx, level, "badger", "words", strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// Errorf implements badger.Logger.
func (l badgerLog) Errorf(format string, args ...any) {
	if l.note != nil {
		l.note(fmt.Sprintf(format, args...))
	}
	l.write(slog.LevelError, format, args)
}

// Warningf implements badger.Logger.
func (l badgerLog) Warningf(format string, args ...any) { l.write(slog.LevelWarn, format, args) }

// Infof implements badger.Logger.
func (l badgerLog) Infof(format string, args ...any) { l.write(slog.LevelDebug, format, args) }

// Debugf implements badger.Logger.
func (l badgerLog) Debugf(format string, args ...any) { l.write(slog.LevelDebug-4, format, args) }
