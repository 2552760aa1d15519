package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// replaceFile writes a file atomically: it gets its name once it is written and synced.
func replaceFile(name string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// rewrite replaces a file, resolving links, and keeps its mode and owner. The replacement is atomic.
func rewrite(name string, text []byte) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return replaceFile(name, func(f *os.File) error {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			if err := keepOwner(f, owner); err != nil {
				return err
			}
		}
		if err := f.Chmod(info.Mode().Perm()); err != nil {
			return err
		}
		_, err := f.Write(text)
		return err
	})
}

// keepOwner gives f the owner and group of the file that it replaces: the service may be able to read it only by these.
func keepOwner(f *os.File, was *syscall.Stat_t) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}
