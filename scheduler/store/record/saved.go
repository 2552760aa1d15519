package record

import (
	"encoding/binary"
)

// Form: version, whether commits were synced, and two numbers of 8 bytes.

// Saved names the file that belongs to the store's state. It is stored before the file gets its name, so the file may
// be the new or the previous one.
type Saved struct {
	Number, Before uint64
	Synced         bool // its writer synced commits
}

// Encode returns the value of f.
func (f Saved) Encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{valueVersion, 0}, f.Number)
	if f.Synced {
		b[1] = 1
	}
	return binary.BigEndian.AppendUint64(b, f.Before)
}

// DecodeSaved decodes the output of Encode.
func DecodeSaved(b []byte) (Saved, error) {
	r := newReader(b)
	f := Saved{Synced: r.enum("durability", 2) == 1}
	if n := r.bytes(16); n != nil {
		f.Number, f.Before = binary.BigEndian.Uint64(n), binary.BigEndian.Uint64(n[8:])
	}
	return f, r.end()
}
