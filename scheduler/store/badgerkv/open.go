package badgerkv

import (
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
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// Exists reports whether dir holds a database, without opening it.
func Exists(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, badger.ManifestFilename))
	return err == nil && info.Mode().IsRegular()
}

// openFiles sets the defaults in o, locks dir, checks Badger's files and opens Badger.
func openFiles(dir string, o *Options) (lock *os.File, db *badger.DB, err error) {
	o.fill()
	if o.MemtableBytes < MinMemtableBytes {
		return nil, nil, fmt.Errorf("store %s: a memtable of %d bytes is too small: write %d or more", dir, o.MemtableBytes, MinMemtableBytes)
	}
	if err := prepare(dir, *o); err != nil {
		return nil, nil, err
	}
	if lock, err = lockDirectory(dir, o.ReadOnly); err != nil {
		return nil, nil, err
	}
	if err = tidy(lock, *o); err == nil {
		err = o.fit(dir)
	}
	if err == nil {
		db, err = openBadger(dir, *o)
	}
	if err != nil {
		return nil, nil, errors.Join(err, unlock(lock))
	}
	return lock, db, nil
}

// fit adapts the sizes to the files of a database. Memtables left by a crash must fit; Badger's file of a memtable is
// twice as large.
func (o *Options) fit(dir string) error {
	files, err := os.ReadDir(dir)
	var tables int64
	for _, file := range files {
		ext := filepath.Ext(file.Name())
		if ext != ".mem" && ext != ".sst" {
			continue
		}
		info, err := file.Info()
		if err != nil {
			return err
		}
		if ext == ".sst" {
			tables += info.Size()
		} else {
			o.MemtableBytes = max(o.MemtableBytes, (info.Size()+1)/2)
		}
	}
	o.large = tables >= largeTables
	return err
}

// prepare checks the directory before Badger does: with its manifest lost, Badger would remove all tables as unknown
// files.
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
		return fmt.Errorf("store %s: %w: the file %s is missing; %s", dir, scheduler.ErrDamaged, badger.ManifestFilename, kv.AdviceDamaged)
	}
	if o.ReadOnly {
		return fmt.Errorf("store %s: %w: no crawl has been run with this data directory yet", dir, fs.ErrNotExist)
	}
	return nil
}

// makeFolder makes the folder of a store accessible to its owner only, since Badger's files are readable by all users.
func makeFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(dir, 0o700) // another owner's folder stays as it is
	}
	return err
}

// openBadger opens Badger in a locked and checked directory.
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

// tryBadger opens Badger and turns its panics, which some damage causes, into errors.
func tryBadger(o badger.Options) (db *badger.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%v", p)
		}
	}()
	return badger.Open(o)
}

// openError separates errors of the system from damage. Badger keeps only the text of the errors that it wraps.
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
	return fmt.Errorf("store %s: %w: %w; %s", dir, scheduler.ErrDamaged, err, kv.AdviceDamaged)
}

// badgerLog writes Badger's messages to slog, and first passes its errors to note.
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
