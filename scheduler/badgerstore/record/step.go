package record

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A step is what one batch changes, as it goes through the log of a cluster. Form: version, then
// for each edit the key's length as uvarint, the key, and the value's length plus one, and
// the value; 0 and no value where the key is removed.

const stepVersion = 1

// ErrStep says that bytes are no step.
var ErrStep = errors.New("it is no step of a store")

// IsLocal reports whether a key is of one copy alone, and so in no step: notes for the
// fingerprints, the name of their file, and the copy's place in the log.
func IsLocal(key []byte) bool {
	switch key[0] {
	case KindRemoval, KindSaved, KindPosition:
		return true
	}
	return false
}

// BeginStep is a step without edits.
func BeginStep() []byte { return []byte{stepVersion} }

// AppendEdit appends an edit to a step; a nil value removes the key.
func AppendEdit(step, key, value []byte) []byte {
	step = append(binary.AppendUvarint(step, uint64(len(key))), key...)
	if value == nil {
		return append(step, 0)
	}
	step = binary.AppendUvarint(step, uint64(len(value))+1)
	return append(step, value...)
}

// EachEdit calls fn for each edit of a step, whose memory key and value share. It looks at
// the whole step first: nothing of one that is damaged is done.
func EachEdit(step []byte, fn func(key, value []byte) error) error {
	if err := eachEdit(step, func(_, _ []byte) error { return nil }); err != nil {
		return err
	}
	return eachEdit(step, fn)
}

func eachEdit(step []byte, fn func(key, value []byte) error) error {
	if len(step) == 0 || step[0] != stepVersion {
		return fmt.Errorf("%w of version %d: update this node", ErrStep, stepVersion)
	}
	for rest := step[1:]; len(rest) > 0; {
		at := len(step) - len(rest)
		key, left, ok := cut(rest, 0)
		if !ok || len(key) == 0 || IsLocal(key) {
			return fmt.Errorf("%w: no key at byte %d", ErrStep, at)
		}
		value, left, ok := cut(left, 1)
		if !ok {
			return fmt.Errorf("%w: no value at byte %d", ErrStep, at)
		}
		if err := fn(key, value); err != nil {
			return err
		}
		rest = left
	}
	return nil
}

// cut takes bytes off b behind their length, which is written with more added; nil if it is less.
func cut(b []byte, more uint64) (piece, rest []byte, ok bool) {
	n, width := binary.Uvarint(b)
	if width <= 0 {
		return nil, nil, false
	}
	b = b[width:]
	if n < more {
		return nil, b, true
	}
	if n -= more; n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}
