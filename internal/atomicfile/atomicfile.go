// Package atomicfile replaces files in one step: at any time, and after a crash, a file holds the old content or the
// new one. It has no state.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path, which need not exist, by one with this content and mode.
func Write(path string, mode fs.FileMode, content []byte) error {
	return Replace(path, mode, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// Replace is Write with content that write produces. If write fails, path is unchanged.
func Replace(path string, mode fs.FileMode, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(mode) // regardless of the umask
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
