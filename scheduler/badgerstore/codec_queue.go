package badgerstore

import (
	"encoding/binary"
	"fmt"
)

// queueState is what is kept of a queue that is not empty, so that nobody has to walk
// over it, nor over what was removed from its beginning.
type queueState struct {
	count uint64 // URLs that wait
	floor uint64 // none has a lower number
}

func (q queueState) append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(append(b, valueVersion), q.count), q.floor)
}

// decodeQueueState reads a queue's state; that of no value is zero.
func decodeQueueState(b []byte) (queueState, error) {
	if b == nil {
		return queueState{}, nil
	}
	r := newReader(b)
	q := queueState{count: r.uvarint(), floor: r.uvarint()}
	if r.err == nil && q.count == 0 {
		r.fail(fmt.Errorf("a queue of no URLs"))
	}
	return q, r.end()
}
