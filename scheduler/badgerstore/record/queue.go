package record

import (
	"encoding/binary"
	"fmt"
)

// Form: version, count and floor as uvarints.

// Queue is what is kept of a queue that is not empty, so that nobody has to walk
// over it, nor over what was removed from its beginning.
type Queue struct {
	Count uint64 // URLs that wait
	Floor uint64 // none has a lower number
}

// Append writes q behind b.
func (q Queue) Append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(append(b, valueVersion), q.Count), q.Floor)
}

// DecodeQueue reads a queue's state; that of no value is zero.
func DecodeQueue(b []byte) (Queue, error) {
	if b == nil {
		return Queue{}, nil
	}
	r := newReader(b)
	q := Queue{Count: r.uvarint(), Floor: r.uvarint()}
	if r.err == nil && q.Count == 0 {
		r.fail(fmt.Errorf("a queue of no URLs"))
	}
	return q, r.end()
}
