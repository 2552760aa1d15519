package main

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/sextant-crawler/sextant/internal/atomicfile"
)

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
	return atomicfile.Replace(name, info.Mode().Perm(), func(f *os.File) error {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			if err := keepOwner(f, owner); err != nil {
				return err
			}
		}
		_, err := f.Write(text)
		return err
	})
}

// keepOwner gives f the owner and group of the file that it replaces, because the service may depend on them to read
// it.
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
