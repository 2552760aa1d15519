package badgerstore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// Bodies of documents lie in segment files, one behind the other, nothing else in them.
// The committer gives each body its place, the writer appends those of a batch and syncs
// them before the batch itself, so that what an order names is there. What a crash leaves
// behind the last body that was committed belongs to nobody and is written over. A
// segment's state counts the bodies in it that are needed; when there is none any more
// the file is removed.

const (
	// segmentBytes is where a segment ends; its last body may go beyond.
	segmentBytes  = 32 << 20
	segmentPrefix = "outbox-"
	segmentExt    = ".seg"
	segmentDigits = 10
)

func segmentName(n uint64) string {
	return fmt.Sprintf("%s%0*d%s", segmentPrefix, segmentDigits, n, segmentExt)
}

// segmentNumber is the inverse of segmentName, 0 for other names.
func segmentNumber(name string) uint64 {
	digits, ok := strings.CutPrefix(name, segmentPrefix)
	if !ok {
		return 0
	}
	if digits, ok = strings.CutSuffix(digits, segmentExt); !ok {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || segmentName(n) != name {
		return 0
	}
	return n
}

// newBody is a body that is to be written to its place.
type newBody struct {
	place record.BodyPlace
	bytes []byte
}

// segmentWriter appends bodies. It belongs to the writer.
type segmentWriter struct {
	dir    string
	sync   bool
	number uint64
	file   *os.File // nil: none
}

// write stores bodies, durably if commits are.
func (w *segmentWriter) write(bodies []newBody) error {
	for i := range bodies {
		b := &bodies[i]
		if err := w.turn(b.place.Segment); err != nil {
			return err
		}
		if _, err := w.file.WriteAt(b.bytes, int64(b.place.Offset)); err != nil {
			return err
		}
	}
	if len(bodies) == 0 || !w.sync {
		return nil
	}
	return w.file.Sync()
}

// turn opens a segment, or begins it. The one before is durable then.
func (w *segmentWriter) turn(n uint64) error {
	if w.file != nil && w.number == n {
		return nil
	}
	if w.file != nil && w.sync {
		if err := w.file.Sync(); err != nil {
			return err
		}
	}
	if err := w.close(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(w.dir, segmentName(n)), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	w.file, w.number = f, n
	if !w.sync {
		return nil
	}
	return syncDir(w.dir) // before orders are that name a body in it
}

func (w *segmentWriter) close() error {
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return f.Close()
}

// segments are the files that are read. Their methods may be called at once, but for
// learn, which is the committer's.
type segments struct {
	dir string
	log *slog.Logger
	max uint64 // segmentBytes, but in tests

	// states are those that are durable, and size and live their sums.
	states     map[uint64]record.Segment
	size, live uint64
	compacting bool
	compactAt  uint64 // not before so many bytes are in all segments

	mu      sync.Mutex
	epoch   uint64 // counts segments that nobody needs any more
	readers map[*bodyReader]uint64
	gone    []goneSegment
}

// goneSegment is to be removed when nobody reads who began before the epoch.
type goneSegment struct{ number, epoch uint64 }

// learn takes over a state that is durable. gone says that nobody needs the segment.
func (s *segments) learn(n uint64, value []byte) (gone bool) {
	old := s.states[n]
	s.size, s.live = s.size-old.Size, s.live-old.Live
	if value == nil {
		delete(s.states, n)
		s.mu.Lock()
		s.epoch++
		s.gone = append(s.gone, goneSegment{n, s.epoch})
		s.mu.Unlock()
		return true
	}
	st, err := record.DecodeSegment(value)
	if err != nil {
		st = record.Segment{}
	}
	s.states[n] = st
	s.size, s.live = s.size+st.Size, s.live+st.Live
	return false
}

// sweep removes the files that nobody needs and nobody may read any more.
func (s *segments) sweep() {
	s.mu.Lock()
	oldest := s.epoch
	for _, epoch := range s.readers {
		oldest = min(oldest, epoch)
	}
	var now []goneSegment
	s.gone = slices.DeleteFunc(s.gone, func(g goneSegment) bool {
		if g.epoch > oldest {
			return false
		}
		now = append(now, g)
		return true
	})
	s.mu.Unlock()
	for _, g := range now {
		if err := os.Remove(filepath.Join(s.dir, segmentName(g.number))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("a file of the outbox that nobody needs is not removed; the next start tries again", "error", err)
		}
	}
}

// bodyReader reads bodies of a snapshot: what it names stays until close. It is for one
// goroutine.
type bodyReader struct {
	s      *segments
	number uint64
	file   *os.File
}

// reader is to be called before the snapshot is opened.
func (s *segments) reader() *bodyReader {
	r := &bodyReader{s: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[r] = s.epoch
	return r
}

func (r *bodyReader) close() {
	_ = r.leave() // it was only read
	r.s.mu.Lock()
	delete(r.s.readers, r)
	waits := len(r.s.gone) > 0
	r.s.mu.Unlock()
	if waits {
		r.s.sweep()
	}
}

func (r *bodyReader) leave() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// errBody is a body that is not what was stored.
var errBody = errors.New("the body is damaged")

// read gives a body, or an error that wraps errBody if it is lost.
func (r *bodyReader) read(p record.BodyPlace) ([]byte, error) {
	if p.Length > record.MaxBody {
		return nil, fmt.Errorf("%w: its length is %d", errBody, p.Length)
	}
	b := make([]byte, p.Length)
	if err := r.readAt(b, p); err != nil {
		return nil, err
	}
	if sum := crc32.Checksum(b, castagnoli()); sum != p.Sum {
		return nil, fmt.Errorf("%w: %d bytes from byte %d on of %s do not fit their checksum", errBody, p.Length, p.Offset, segmentName(p.Segment))
	}
	return b, nil
}

func (r *bodyReader) readAt(b []byte, p record.BodyPlace) error {
	if r.file == nil || r.number != p.Segment {
		_ = r.leave()
		f, err := os.Open(filepath.Join(r.s.dir, segmentName(p.Segment)))
		if err != nil {
			return lostBody(err)
		}
		r.file, r.number = f, p.Segment
	}
	if _, err := r.file.ReadAt(b, int64(p.Offset)); err != nil {
		return lostBody(err)
	}
	return nil
}

// lostBody tells what will not be there the next time either.
func lostBody(err error) error {
	for _, lost := range [...]error{fs.ErrNotExist, io.EOF, io.ErrUnexpectedEOF, syscall.EIO, syscall.EISDIR} {
		if errors.Is(err, lost) {
			return fmt.Errorf("%w: %w", errBody, err)
		}
	}
	return err
}

// open reads what segments there are, and removes files that belong to none: a crash
// may leave one that was begun, or one that was not removed yet. end is how long the
// current segment is.
func (s *segments) open(states map[uint64]record.Segment, current, end uint64, readOnly bool) error {
	s.states, s.readers = states, map[*bodyReader]uint64{}
	for st := range maps.Values(states) {
		s.size, s.live = s.size+st.Size, s.live+st.Live
	}
	if readOnly {
		return nil
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		n := segmentNumber(f.Name())
		if n == 0 {
			continue
		}
		name := filepath.Join(s.dir, f.Name())
		switch _, used := states[n]; {
		case n == current:
			if info, err := f.Info(); err != nil || info.Size() <= int64(end) {
				continue
			}
			err = os.Truncate(name, int64(end))
		case !used:
			err = os.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
