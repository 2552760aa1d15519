package badgerstore

import (
	"encoding/binary"
)

// segmentState is what is kept of a segment that bodies are needed of, or that is
// written to.
type segmentState struct {
	entries uint64 // orders and dead letters with their body in it
	live    uint64 // bytes of these bodies
	size    uint64 // bytes of all bodies that were ever stored in it
}

func (st segmentState) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, valueVersion), st.entries)
	return binary.AppendUvarint(binary.AppendUvarint(b, st.live), st.size)
}

// decodeSegmentState reads a segment's state; that of no value is zero.
func decodeSegmentState(b []byte) (segmentState, error) {
	if b == nil {
		return segmentState{}, nil
	}
	r := newReader(b)
	st := segmentState{entries: r.uvarint(), live: r.uvarint(), size: r.uvarint()}
	return st, r.end()
}
