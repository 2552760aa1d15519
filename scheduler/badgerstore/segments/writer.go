package segments

import (
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// Body is a body that is to be written to its place. It must not change until then.
type Body struct {
	Place record.BodyPlace
	Bytes []byte
}

// Sum is the checksum of a body, as a record.BodyPlace has it.
func Sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Writer appends bodies to the segments of Dir. It belongs to the store's writer.
type Writer struct {
	Dir string
	// SyncNames makes the names of the files in Dir durable. If it is nil, nothing is
	// synced.
	SyncNames func() error

	number uint64
	file   *os.File // nil: none
}

// Write stores bodies, durably if the Writer syncs.
func (w *Writer) Write(bodies []Body) error {
	for i := range bodies {
		b := &bodies[i]
		if err := w.turn(b.Place.Segment); err != nil {
			return err
		}
		if _, err := w.file.WriteAt(b.Bytes, int64(b.Place.Offset)); err != nil {
			return err
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return w.sync()
}

func (w *Writer) sync() error {
	if w.file == nil || w.SyncNames == nil {
		return nil
	}
	return w.file.Sync()
}

// turn opens a segment, or begins it. The one before is durable then.
func (w *Writer) turn(n uint64) error {
	if w.file != nil && w.number == n {
		return nil
	}
	if err := w.sync(); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(w.Dir, Name(n)), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	w.file, w.number = f, n
	if w.SyncNames == nil {
		return nil
	}
	return w.SyncNames() // before there are orders that name a body in it
}

// Close closes the file that was written last.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return f.Close()
}
