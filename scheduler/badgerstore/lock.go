package badgerstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/scheduler"
)

// lockDirectory locks a store's directory: against all others, or for reading against
// those that write. It is locked before the first of its files is looked at until the
// last one is written. Badger's own lock is the same one, but shorter.
func lockDirectory(dir string, readOnly bool) (*os.File, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	how := unix.LOCK_EX
	if readOnly {
		how = unix.LOCK_SH
	}
	if err := relock(d, how); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// relock takes another lock of a directory, or the first. If it fails, there is none.
func relock(d *os.File, how int) error {
	switch err := unix.Flock(int(d.Fd()), how|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("store %s: %w: %s", d.Name(), scheduler.ErrLocked, adviceLocked)
	case err != nil:
		return fmt.Errorf("store %s cannot be locked: %w", d.Name(), err)
	}
	return nil
}

// unlock ends the lock at once: a process that is just being started may have d, too.
func unlock(d *os.File) error {
	return errors.Join(unix.Flock(int(d.Fd()), unix.LOCK_UN), d.Close())
}

// tidy checks the files of a store and repairs what a killed process left of them. For
// that, who reads has the directory alone for a moment.
func tidy(d *os.File, o Options) error {
	dir := d.Name()
	left, err := logsLeft(dir)
	if err == nil && o.ReadOnly && left.any() {
		if err = relock(d, unix.LOCK_EX); err == nil {
			left, err = logsLeft(dir) // others may have had it in between
		}
	}
	var torn []tornLog
	if err == nil {
		torn, err = checkFiles(dir)
	}
	if err != nil || o.ReadOnly && !left.any() {
		return err
	}
	for _, name := range left.empty {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	if left.memtables || !o.ReadOnly {
		err = room(dir, o.MinFree)
		if err == nil {
			err = repair(dir, torn)
		}
		if err == nil {
			err = unmarkClosed(dir)
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	if !o.ReadOnly {
		return nil
	}
	if left.memtables {
		if err := writeMemtables(dir, o); err != nil {
			return err
		}
	}
	return relock(d, unix.LOCK_SH)
}

// writeMemtables opens and closes Badger: only a writer can cut off half a record.
func writeMemtables(dir string, o Options) error {
	o.ReadOnly = false
	db, err := openBadger(dir, o)
	if err == nil {
		err = errors.Join(db.Close(), markClosed(dir))
	}
	return err
}

// leftLogs are what a killed process left: memtables, which Badger writes to tables when
// it is closed, and log files of no bytes. A process that is killed between making or
// emptying such a file and the next step leaves one, and Badger refuses to open it.
type leftLogs struct {
	memtables bool
	empty     []string
}

func (l leftLogs) any() bool { return l.memtables || len(l.empty) > 0 }

// repair cuts off what is half there, and removes Badger's count of garbage: nobody asks
// for it, and one that is too short ends the process.
func repair(dir string, torn []tornLog) error {
	for _, l := range torn {
		if err := l.cut(); err != nil {
			return err
		}
	}
	err := os.Remove(filepath.Join(dir, discardName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func logsLeft(dir string) (l leftLogs, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return l, fmt.Errorf("store: %w", err)
	}
	for _, f := range files {
		ext := filepath.Ext(f.Name())
		if ext != ".vlog" && ext != ".mem" {
			continue
		}
		l.memtables = l.memtables || ext == ".mem"
		if info, err := f.Info(); err == nil && info.Size() == 0 {
			l.empty = append(l.empty, filepath.Join(dir, f.Name()))
		}
	}
	return l, nil
}
