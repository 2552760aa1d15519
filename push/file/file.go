// Package file is the push target that writes JSON Lines into a directory, one line for each document or deletion:
//
//	{"op":"add","seq":N,"document":{...}}
//	{"op":"delete","seq":N,"deletion":{...}}
//
// The files' names sort in the order of writing. Complete lines are appended to a file until it reaches its maximum
// size; after a crash or a full disk a line may be repeated, with the same seq. A reader that follows the last file
// must not use bytes after the last line feed.
package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// DefaultRotateBytes is the size of a file if Settings do not set it.
const DefaultRotateBytes = 256 << 20

// writeBytes is the amount of data buffered for one write; keptBuffer is the maximum buffer that is kept between calls
// of Push.
const (
	writeBytes = 256 << 10
	keptBuffer = 1 << 20
)

// Settings of a file target.
type Settings struct {
	// Name is "file" if empty.
	Name string
	// Dir is created if missing. No other target or process may write there.
	Dir string
	// RotateBytes is the maximum size of a file; a longer line has a separate file. 0 is DefaultRotateBytes.
	RotateBytes int64
	// Retention is the age since the last write at which files are removed, except the last one; 0 keeps all.
	Retention time.Duration
	// Log receives problems that do not prevent writing, such as files that cannot be removed.
	Log *slog.Logger
}

// Equal reports whether both write the same files in the same way, regardless of the spelling of Dir.
func (s Settings) Equal(other Settings) bool {
	for _, dir := range []*string{&s.Dir, &other.Dir} {
		if absolute, err := filepath.Abs(*dir); err == nil && *dir != "" {
			*dir = absolute
		}
	}
	s.Log, other.Log = nil, nil
	return s == other
}

// output has the methods of *os.File that the target calls.
type output interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// Target is a push.Target. Entries are safe after fsync.
type Target struct {
	set    Settings
	create func(path string) (output, error)
	sync   func(dir string) error

	out     output // nil before the first line
	path    string
	number  uint64 // in the name of the last file
	size    int64  // whole lines of out
	synced  int64  // bytes of these that are synced
	torn    bool   // there may be bytes after size
	newName bool   // the directory must be synced too
	buf     []byte // lines not written yet
}

// Open creates the directory if it is missing, and truncates the last file after its last line feed, because a crash
// may have left part of a line.
func Open(s Settings) (*Target, error) {
	if s.Name == "" {
		s.Name = "file"
	}
	if s.Dir == "" {
		return nil, errors.New("the file target has no directory: set dir")
	}
	if s.RotateBytes < 0 || s.Retention < 0 {
		return nil, errors.New("rotateBytes and retentionS of the file target must be 0 or more")
	}
	if s.RotateBytes == 0 {
		s.RotateBytes = DefaultRotateBytes
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("creating the directory of the file target: %w", err)
	}
	t := &Target{set: s, create: create, sync: syncDir}
	if err := t.resume(); err != nil {
		return nil, err
	}
	t.removeOld()
	return t, nil
}

func create(path string) (output, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
}

// resume continues with the last file, if there is one.
func (t *Target) resume() error {
	names, err := outputs(t.set.Dir)
	if err != nil || len(names) == 0 {
		return err
	}
	last := names[len(names)-1]
	t.number = numberOf(last)
	t.path = filepath.Join(t.set.Dir, last)
	f, err := os.OpenFile(t.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening the last output file: %w", err)
	}
	t.out = f
	size, whole, err := wholeLines(f)
	if err == nil && whole < size {
		t.set.Log.Warn("removing part of a line from the end of the last output file", "file", t.path, "bytes", size-whole)
		err = f.Truncate(whole)
	}
	if err == nil {
		// Lines that a crash left unsynced here are pushed again, and
		// yet a reader may have seen it.
		err = f.Sync()
	}
	if err == nil {
		err = t.sync(t.set.Dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("repairing the last output file %s: %w", t.path, err), f.Close())
	}
	t.size, t.synced = whole, whole
	return nil
}

// Name returns the target's name.
func (t *Target) Name() string { return t.set.Name }

// Push writes entries as lines. After an error some of the lines may be complete in the files: they are repeated.
func (t *Target) Push(ctx context.Context, entries []push.Entry) ([]push.Refusal, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.cut(); err != nil {
		return nil, err
	}
	var refused []push.Refusal
	t.buf = t.buf[:0]
	for _, e := range entries {
		start := len(t.buf)
		var err error
		if t.buf, err = appendLine(t.buf, e); err != nil {
			t.buf = t.buf[:start]
			refused = append(refused, push.Refusal{Seq: e.Seq, Words: err.Error()})
			continue
		}
		full := t.out != nil && t.size+int64(len(t.buf)) > t.set.RotateBytes && t.size+int64(start) > 0
		switch {
		case t.out == nil || full:
			line := t.buf[start:]
			t.buf = t.buf[:start]
			if err = t.rotate(e.Seq); err == nil {
				t.buf = append(t.buf[:0], line...)
			}
		case len(t.buf) >= writeBytes:
			err = t.flush()
		}
		if err != nil {
			return nil, err
		}
	}
	return refused, t.flush()
}

// appendLine appends the line of e, without parsing its body, which is JSON, and on one line unless it was indented.
func appendLine(b []byte, e push.Entry) ([]byte, error) {
	b = append(b, `{"op":"`...)
	b = append(b, e.Op.String()...)
	b = append(b, `","seq":`...)
	b = strconv.AppendUint(b, e.Seq, 10)
	if e.Op == push.Delete {
		b = append(b, `,"deletion":`...)
	} else {
		b = append(b, `,"document":`...)
	}
	if bytes.IndexByte(e.Body, '\n') < 0 && len(e.Body) > 0 {
		b = append(b, e.Body...)
	} else {
		var line bytes.Buffer
		if err := json.Compact(&line, e.Body); err != nil {
			return b, fmt.Errorf("the body is not JSON: %w", err)
		}
		b = append(b, line.Bytes()...)
	}
	return append(b, "}\n"...), nil
}

// flush writes the buffered lines.
func (t *Target) flush() error {
	if len(t.buf) == 0 {
		return nil
	}
	if _, err := t.out.WriteAt(t.buf, t.size); err != nil {
		t.torn = true
		return errors.Join(fmt.Errorf("writing to %s: %w", t.path, err), t.cut())
	}
	t.size += int64(len(t.buf))
	t.buf = t.buf[:0]
	if cap(t.buf) > keptBuffer {
		t.buf = nil
	}
	return nil
}

// cut removes the rest of a failed write after the last complete line.
func (t *Target) cut() error {
	if !t.torn {
		return nil
	}
	if err := t.out.Truncate(t.size); err != nil {
		return fmt.Errorf("removing a partly written line from %s: %w", t.path, err)
	}
	t.torn = false
	return nil
}

// Checkpoint syncs the file, and the directory if the file is new in it.
func (t *Target) Checkpoint(ctx context.Context, _ uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.save()
}

// save makes all lines durable. After a failed sync the system may drop the unwritten data, and a second sync would
// then succeed without writing it, so save truncates the file to the safe part and requests the rest again by
// push.ErrRewind.
func (t *Target) save() error {
	if t.synced < t.size {
		if err := t.out.Sync(); err != nil {
			t.size, t.torn = t.synced, true
			return errors.Join(fmt.Errorf("syncing %s: %w: %w", t.path, err, push.ErrRewind), t.cut())
		}
		t.synced = t.size
	}
	if t.newName {
		if err := t.sync(t.set.Dir); err != nil {
			return fmt.Errorf("syncing the directory %s: %w", t.set.Dir, err)
		}
		t.newName = false
	}
	return nil
}

// Close syncs and closes the last file.
func (t *Target) Close() error {
	if t.out == nil {
		return nil
	}
	err := t.cut()
	if err == nil {
		err = t.save()
	}
	err = errors.Join(err, t.out.Close())
	t.out = nil
	return err
}
