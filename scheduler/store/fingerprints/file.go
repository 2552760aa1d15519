package fingerprints

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// ErrFile is returned by Load for anything but a complete file of this format. The set must then be rebuilt from the
// store.
var ErrFile = errors.New("not a complete file of fingerprints")

// The file: magic, mark (8 bytes); for each of the 256 stripes the number of its values (4 bytes) and the values,
// ascending, 6 bytes each; the total number of values (8 bytes); CRC-32C of everything before (4 bytes). Numbers are
// big endian.
const (
	magic   = "SXFPRNT\x01" // the last byte is the version
	headLen = len(magic) + 8
	tailLen = 8 + 4

	maxStripe = 1 << 28 // values; 68 billion in all 256
)

func checksum() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// Save writes the set, in 6 bytes a key, and mark, with which the caller identifies the state of the store at the
// moment of the call. Each change made during the call may or may not be in the file: after Load, repeat all changes
// since mark. Save locks a 256th of the set at a time, and nothing while it writes.
func (s *Set) Save(w io.Writer, mark uint64) error {
	sum := checksum()
	out := io.MultiWriter(w, sum)
	buf := binary.BigEndian.AppendUint64([]byte(magic), mark)
	total := uint64(0)
	for i := range s.stripes {
		st := &s.stripes[i]
		st.mu.RLock()
		buf = binary.BigEndian.AppendUint32(buf, st.n)
		buf = st.sorted(buf)
		total += uint64(st.n)
		st.mu.RUnlock()
		if _, err := out.Write(buf); err != nil {
			return fmt.Errorf("fingerprints: %w", err)
		}
		buf = buf[:0]
	}
	if _, err := out.Write(binary.BigEndian.AppendUint64(buf, total)); err != nil {
		return fmt.Errorf("fingerprints: %w", err)
	}
	if _, err := w.Write(sum.Sum(nil)); err != nil {
		return fmt.Errorf("fingerprints: %w", err)
	}
	return nil
}

// Load reads what Save wrote, to the end of r, and returns the set and the mark. For a damaged, truncated or foreign
// file it returns an error that wraps ErrFile. It takes no more memory than the set and two 256ths of it, whatever
// lengths the file declares.
func Load(r io.Reader) (*Set, uint64, error) {
	sum := checksum()
	l := loader{r: io.TeeReader(r, sum)}
	head := l.read(headLen)
	if l.err == nil && string(head[:len(magic)]) != magic {
		return nil, 0, fmt.Errorf("fingerprints: %w: it begins with %q", ErrFile, head[:len(magic)])
	}
	if l.err != nil {
		return nil, 0, l.error()
	}
	mark := binary.BigEndian.Uint64(head[len(magic):])
	s, err := l.stripes()
	if err != nil {
		return nil, 0, err
	}
	total := binary.BigEndian.Uint64(l.read(tailLen - 4))
	want := sum.Sum32()
	got := binary.BigEndian.Uint32(l.read(4))
	switch {
	case l.err != nil:
		return nil, 0, l.error()
	case total != uint64(s.Len()) || got != want:
		return nil, 0, fmt.Errorf("fingerprints: %w: its checksum is wrong", ErrFile)
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, 0, fmt.Errorf("fingerprints: %w: it contains more after its end", ErrFile)
	case !errors.Is(err, io.EOF):
		return nil, 0, fmt.Errorf("fingerprints: %w", err)
	}
	return s, mark, nil
}

// loader reads pieces into one buffer. It keeps the first error; later reads return zeros.
type loader struct {
	r   io.Reader
	buf []byte
	err error
}

func (l *loader) error() error {
	if errors.Is(l.err, io.EOF) || errors.Is(l.err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("fingerprints: %w: it ends too early", ErrFile)
	}
	return fmt.Errorf("fingerprints: %w", l.err)
}

// read returns the next n bytes, until the next call. The buffer grows with the bytes read, a MiB at a time, not with
// the length that a damaged file declares.
func (l *loader) read(n int) []byte {
	const step = 1 << 20
	l.buf = l.buf[:0]
	for len(l.buf) < n && l.err == nil {
		have, more := len(l.buf), min(n-len(l.buf), step)
		if cap(l.buf) < have+more {
			l.buf = append(make([]byte, 0, max(have+more, min(n, 2*have))), l.buf...)
		}
		l.buf = l.buf[:have+more]
		_, l.err = io.ReadFull(l.r, l.buf[have:])
	}
	if l.err != nil {
		return make([]byte, min(n, headLen))
	}
	return l.buf
}

func (l *loader) stripes() (*Set, error) {
	s := &Set{}
	for i := range s.stripes {
		n := int(binary.BigEndian.Uint32(l.read(4)))
		if n > maxStripe {
			return nil, fmt.Errorf("fingerprints: %w: part %d states %d values", ErrFile, i, n)
		}
		sorted := l.read(n * wholeWidth)
		if l.err != nil {
			return nil, l.error()
		}
		if !ascending(sorted) {
			return nil, fmt.Errorf("fingerprints: %w: part %d is not in order", ErrFile, i)
		}
		s.resize(&s.stripes[i], func(st *stripe) { st.build(sorted) })
		s.n.Add(int64(n))
	}
	return s, nil
}

func ascending(sorted []byte) bool {
	for i := wholeWidth; i < len(sorted); i += wholeWidth {
		if string(sorted[i-wholeWidth:i]) >= string(sorted[i:i+wholeWidth]) {
			return false
		}
	}
	return true
}
