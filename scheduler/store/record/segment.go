package record

import (
	"encoding/binary"
)

// Form: version, and the three numbers as uvarints.

// Segment is the state of a segment whose bodies are in use, or that is being written to.
type Segment struct {
	Entries uint64 // orders and dead letters with their body in it
	Live    uint64 // bytes of these bodies
	Size    uint64 // bytes of all bodies ever stored in it
}

// Append appends st to b.
func (st Segment) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, valueVersion), st.Entries)
	return binary.AppendUvarint(binary.AppendUvarint(b, st.Live), st.Size)
}

// DecodeSegment decodes a segment's state, zero for no value.
func DecodeSegment(b []byte) (Segment, error) {
	if b == nil {
		return Segment{}, nil
	}
	r := newReader(b)
	st := Segment{Entries: r.uvarint(), Live: r.uvarint(), Size: r.uvarint()}
	return st, r.end()
}
