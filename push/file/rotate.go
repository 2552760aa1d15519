package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	prefix = "out-"
	suffix = ".jsonl"
	digits = 20 // of the largest uint64
)

// fileName of a file: its number is the seq of its first line, or one more than
// the number of the file before it, where lines came again after a crash.
func fileName(number uint64) string {
	return fmt.Sprintf("%s%0*d%s", prefix, digits, number, suffix)
}

// numberOf is the inverse of fileName, 0 for other names.
func numberOf(name string) uint64 {
	number, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0
	}
	number, ok = strings.CutSuffix(number, suffix)
	if !ok || len(number) != digits {
		return 0
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// outputs lists the output files in dir in order of writing.
func outputs(dir string) ([]string, error) {
	found, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("listing the directory of the file target: %w", err)
	}
	var names []string
	for _, f := range found {
		if f.Type().IsRegular() && numberOf(f.Name()) > 0 {
			names = append(names, f.Name())
		}
	}
	return names, nil
}

// rotate finishes the file being written, if any, and begins the next, whose
// first line will have seq.
func (t *Target) rotate(seq uint64) error {
	if t.out != nil {
		if err := t.flush(); err != nil {
			return err
		}
		if err := t.save(); err != nil {
			return err
		}
	}
	number := max(seq, t.number+1)
	path := filepath.Join(t.set.Dir, fileName(number))
	out, err := t.create(path)
	if err != nil {
		return fmt.Errorf("beginning an output file: %w", err)
	}
	if t.out != nil {
		if err := t.out.Close(); err != nil { // synced: nothing is lost
			t.set.Log.Warn("closing an output file", "file", t.path, "error", err)
		}
	}
	t.out, t.path, t.number = out, path, number
	t.size, t.synced, t.newName = 0, 0, true
	t.removeOld()
	return nil
}

// removeOld removes files past their retention.
func (t *Target) removeOld() {
	if t.set.Retention == 0 {
		return
	}
	names, err := outputs(t.set.Dir)
	if err != nil {
		t.set.Log.Warn("looking for output files to remove", "error", err)
		return
	}
	oldest := time.Now().Add(-t.set.Retention)
	for _, name := range names {
		path := filepath.Join(t.set.Dir, name)
		info, err := os.Stat(path)
		if err == nil && path != t.path && info.ModTime().Before(oldest) {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.set.Log.Warn("removing an output file past its retention", "file", path, "error", err)
		}
	}
}

// wholeLines returns the size of f and the length of its complete lines. It reads backwards, so the size of f does not
// matter.
func wholeLines(f *os.File) (size, whole int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	block := make([]byte, 64<<10)
	for end := size; end > 0; {
		start := max(end-int64(len(block)), 0)
		part := block[:end-start]
		if _, err := f.ReadAt(part, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return size, start + int64(i) + 1, nil
		}
		end = start
	}
	return size, 0, nil
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
