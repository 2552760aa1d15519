package admin

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
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

// errChanged is the response to a caller that has not seen the text it would replace.
func errChanged() *Problem {
	return newProblem(http.StatusPreconditionFailed, codeChanged, "the configuration was changed meanwhile: read it again, and make your change in that")
}

// unwritable adds what to do to an error of a file that the service may not write.
func unwritable(path string, err error) error {
	if folder := filepath.Dir(path); errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &Declined{Err: fmt.Errorf("the service may not write to %s (%w): edit the file on the machine and reload, or let its user write there (chown; under systemd also ReadWritePaths=%s)", folder, err, folder)}
	}
	return err
}
