package badgerstore

import (
	"encoding/binary"
)

// savedFile names the file that belongs to the store's state. It is stored before the
// file gets its name, so both the new one and the one before may be found.
type savedFile struct {
	number, before uint64
	synced         bool // its writer synced commits
}

func (f savedFile) encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{valueVersion, 0}, f.number)
	if f.synced {
		b[1] = 1
	}
	return binary.BigEndian.AppendUint64(b, f.before)
}

func decodeSavedFile(b []byte) (savedFile, error) {
	r := newReader(b)
	f := savedFile{synced: r.enum("durability", 2) == 1}
	if n := r.bytes(16); n != nil {
		f.number, f.before = binary.BigEndian.Uint64(n), binary.BigEndian.Uint64(n[8:])
	}
	return f, r.end()
}
