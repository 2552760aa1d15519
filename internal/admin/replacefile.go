package admin

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/sextant-crawler/sextant/internal/atomicfile"
)

// replaceConfig writes text to the file at path, which holds the old text or the new one at any time. It
// returns errChanged if the file does not hold before any more.
func replaceConfig(path string, before, text []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return atomicfile.Replace(path, info.Mode().Perm(), func(f *os.File) error {
		if _, err := f.Write(text); err != nil {
			return err
		}
		now, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(now, before) {
			return errChanged()
		}
		return err
	})
}

// unwritable adds what to do to an error of a file that the service may not write.
func unwritable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &Declined{Err: errors.New("the service may not write beside " + path + " (" + err.Error() + "): give its user the folder, or edit the file on the machine and reload")}
	}
	return err
}
