package admin

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// replaceConfig replaces the file at path by text, atomically, and keeps the old text beside it. It does not overwrite
// a concurrent edit.
func replaceConfig(path string, before, text []byte, now time.Time) (kept string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	kept = path + "." + now.Format("20060102-150405")
	if err := writeNew(kept, before, info.Mode().Perm()); errors.Is(err, fs.ErrExist) {
		kept += now.Format(".000000000")
		err = writeNew(kept, before, info.Mode().Perm())
		if err != nil {
			return "", err
		}
	} else if err != nil {
		return "", err
	}
	next := path + now.Format(".20060102-150405.000000000") + ".new"
	err = writeNew(next, text, info.Mode().Perm())
	if err == nil {
		err = putIn(next, path, before, text)
	}
	if err != nil {
		_, _ = os.Remove(next), os.Remove(kept) // they may be absent
		return "", err
	}
	return kept, syncFolder(filepath.Dir(path))
}

// putIn replaces path by the file next, which holds text, if path holds before. The files are swapped atomically, so a
// concurrent edit is detected, and restored.
func putIn(next, path string, before, text []byte) error {
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return errChanged()
	}
	if err := exchange(next, path); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return os.Rename(next, path) // not supported by the file system
	} else if err != nil {
		return err
	}
	taken, err := os.ReadFile(next)
	if err == nil && bytes.Equal(taken, before) {
		return os.Remove(next)
	}
	for put := text; err == nil; { // until no concurrent edit came between
		var again []byte
		again, err = takeBack(next, path, put)
		put, taken = taken, again
	}
	return err
}

// takeBack restores what was taken from path, which should hold put. It returns errChanged if it did; else again is
// another edit, which was taken instead.
func takeBack(next, path string, put []byte) (again []byte, err error) {
	if err := exchange(next, path); err != nil {
		return nil, err
	}
	again, err = os.ReadFile(next)
	if err == nil && bytes.Equal(again, put) {
		return nil, errChanged()
	}
	return again, err
}

// writeNew writes a new file, and syncs it.
func writeNew(path string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err := fill(f, text, mode); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// fill writes a text into a new file, syncs and closes it.
func fill(f *os.File, text []byte, mode fs.FileMode) error {
	_, err := f.Write(text)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask is
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// unwritable adds what to do to an error of a file that the service may not write.
func unwritable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &Declined{Err: errors.New("the service may not write beside " + path + " (" + err.Error() + "): give its user the folder, or edit the file on the machine and reload")}
	}
	return err
}

// replaceIn writes a file of a folder atomically, whether or not it exists.
func replaceIn(folder *os.Root, name string, text []byte, mode fs.FileMode) error {
	next := name + time.Now().Format(".20060102-150405.000000000") + ".new"
	f, err := folder.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if err = fill(f, text, mode); err == nil {
		err = folder.Rename(next, name)
	}
	if err != nil {
		return errors.Join(err, folder.Remove(next))
	}
	return syncFolder(folder.Name())
}
