package shared

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Sums remember the SHA-256 of files, so that each is read once for each change of its time and size. They are for one goroutine.
type Sums struct {
	now   func() time.Time
	known map[string]summed
}

// summed is what a file was when it was read.
type summed struct {
	size    int64
	changed time.Time
	sum     string
	// young: it had changed just before, and may change again within the same tick of the file system's clock.
	young bool
}

// tick is longer than that of a file system's clock.
const tick = 2 * time.Second

// NewSums has read nothing yet.
func NewSums() *Sums { return &Sums{now: time.Now, known: map[string]summed{}} }

// Of are the sums of files, "" of one that is not there, or an error in place of the sum of one that cannot be read. Others are forgotten.
func (s *Sums) Of(paths []string) map[string]string {
	known := make(map[string]summed, len(paths))
	sums := make(map[string]string, len(paths))
	for _, path := range paths {
		one, err := s.of(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			sums[path] = ""
			continue
		case err != nil:
			sums[path] = "cannot be read"
			continue
		}
		known[path], sums[path] = one, one.sum
	}
	s.known = known
	return sums
}

func (s *Sums) of(path string) (one summed, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe that lies there is not waited for
	if err != nil {
		return one, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err != nil {
		return one, err
	}
	before, ok := s.known[path]
	if ok && before.size == info.Size() && before.changed.Equal(info.ModTime()) && !before.young {
		return before, nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return one, err
	}
	age := s.now().Sub(info.ModTime())
	return summed{info.Size(), info.ModTime(), hex.EncodeToString(hash.Sum(nil)), age > -tick && age < tick}, nil
}
