package badgerkv

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
)

// lockDirectory locks a store's directory: exclusively, or shared for reading. The lock covers everything from the
// check of the first file to the last write. Badger's own lock is the same one, but held for less time.
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

// relock takes or changes the lock of a directory. If it fails, there is no lock.
func relock(d *os.File, how int) error {
	switch err := unix.Flock(int(d.Fd()), how|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("store %s: %w: %s", d.Name(), scheduler.ErrLocked, adviceLocked)
	case err != nil:
		return fmt.Errorf("store %s cannot be locked: %w", d.Name(), err)
	}
	return nil
}

// unlock ends the lock at once, since a process that is being started may have inherited d.
func unlock(d *os.File) error {
	return errors.Join(unix.Flock(int(d.Fd()), unix.LOCK_UN), d.Close())
}

// tidy checks the files of a store and repairs what a killed process left. For that, a reader locks the directory
// exclusively for a moment.
func tidy(d *os.File, o Options) error {
	dir := d.Name()
	left, err := badgerfiles.Left(dir)
	if err == nil && o.ReadOnly && left.Any() {
		if err = relock(d, unix.LOCK_EX); err == nil {
			left, err = badgerfiles.Left(dir) // another process may have held the lock in between
		}
	}
	var torn []badgerfiles.Torn
	if err == nil {
		if torn, err = badgerfiles.Check(dir, bodyfiles.Ext); err != nil {
			err = openError(dir, err)
		}
	}
	if err != nil || o.ReadOnly && !left.Any() {
		return err
	}
	for _, name := range left.Empty {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	if left.Memtables || !o.ReadOnly {
		err = roomIn(dir, o.MinFree)
		if err == nil {
			err = badgerfiles.Repair(dir, torn)
		}
		if err == nil {
			err = badgerfiles.UnmarkClosed(dir)
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	if !o.ReadOnly {
		return nil
	}
	if left.Memtables {
		if err := writeMemtables(dir, o); err != nil {
			return err
		}
	}
	return relock(d, unix.LOCK_SH)
}

// writeMemtables opens and closes Badger: only a writer can cut off an incomplete entry.
func writeMemtables(dir string, o Options) error {
	o.ReadOnly = false
	db, err := openBadger(dir, o)
	if err == nil {
		err = errors.Join(db.Close(), badgerfiles.MarkClosed(dir))
	}
	return err
}
