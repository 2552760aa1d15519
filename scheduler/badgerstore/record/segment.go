package record

import (
	"encoding/binary"
)

// Form: version, and the three numbers as uvarints.

// Segment is what is kept of a segment that bodies are needed of, or that is
// written to.
type Segment struct {
	Entries uint64 // orders and dead letters with their body in it
	Live    uint64 // bytes of these bodies
	Size    uint64 // bytes of all bodies that were ever stored in it
}

// Append writes st behind b.
func (st Segment) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, valueVersion), st.Entries)
	return binary.AppendUvarint(binary.AppendUvarint(b, st.Live), st.Size)
}

// DecodeSegment reads a segment's state; that of no value is zero.
func DecodeSegment(b []byte) (Segment, error) {
	if b == nil {
		return Segment{}, nil
	}
	r := newReader(b)
	st := Segment{Entries: r.uvarint(), Live: r.uvarint(), Size: r.uvarint()}
	return st, r.end()
}
