// Package entry owns the stored form of a cluster's log: what one entry looks like, the
// chain of hashes that ties each to the one before, and how a step that is too large for one
// entry is cut and put together again. It knows nothing of engines, nodes or the store.
package entry

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// An entry is stored in this form, numbers big-endian:
//
//	1   level: which form this is, and the step in it
//	16  incarnation of the cluster
//	8   epoch of its author
//	16  claim: drawn by the author when it claimed
//	8   SEQ
//	8   size: bytes of all entries up to this one, itself included
//	4   part, from 0
//	4   parts of the step
//	1   packing of the step: 0 as it is, 1 zstd
//	4   bytes of the step, unpacked
//	32  hash of the entry before
//	n   this part of the packed step
//	32  SHA-256 of all of the above: the chain
//
// The hash is checksum and chain in one: who has the hash of entry n has proof of all before.

const (
	headerSize = 1 + 16 + 8 + 16 + 8 + 8 + 4 + 4 + 1 + 4 + 32
	// Overhead is how many bytes an entry has beside its part of a step.
	Overhead = headerSize + sha256.Size
)

// The levels that this version reads and writes, Oldest to Newest. At each of them entries have the form above. From WithItems on stores may have
// letters that bring documents of feeds' items.
const (
	Oldest    uint8 = 1
	WithItems uint8 = 2
	Newest          = WithItems
)

// ErrDamaged says that bytes are no entry, or not the one that they should be.
var ErrDamaged = errors.New("the log is damaged")

// ErrLevel says that an entry has a form that this version does not know.
var ErrLevel = errors.New("the log has a form that this version does not know: install the version that the other nodes run")

// ID is 16 random bytes: of an incarnation, or of a claim.
type ID [16]byte

// String is the ID in hexadecimal.
func (id ID) String() string { return fmt.Sprintf("%x", id[:]) }

// Hash is the chain at an entry: the SHA-256 of its bytes, which hold the Hash before it.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal.
func (h Hash) String() string { return fmt.Sprintf("%x", h[:]) }

// Position is a place in the log of a partition, behind an entry.
type Position struct {
	Seq  uint64
	Size uint64 // bytes of all entries up to here, trimmed ones included
	Hash Hash
}

// Author is who may append: an epoch under one incarnation. Claim tells two owners apart
// even if an engine that was set back gives an epoch twice.
type Author struct {
	Incarnation ID
	Epoch       uint64
	Claim       ID
}

// Entry is one entry of a log, decoded.
type Entry struct {
	Author
	Level       uint8
	Seq         uint64
	Size        uint64
	Part, Parts uint32
	Packing     Packing
	StepBytes   uint32 // unpacked
	Before      Hash
	Body        []byte
	Hash        Hash
}

// At is the position behind e.
func (e *Entry) At() Position { return Position{Seq: e.Seq, Size: e.Size, Hash: e.Hash} }

// Follows reports whether e is the entry right behind p: number, size and chain.
func (e *Entry) Follows(p Position) bool {
	return e.Seq == p.Seq+1 && e.Size == p.Size+uint64(Overhead+len(e.Body)) && e.Before == p.Hash
}

// encode appends e to nothing, fills e.Hash and returns the bytes.
func (e *Entry) encode() []byte {
	b := make([]byte, 0, Overhead+len(e.Body))
	b = append(b, e.Level)
	b = append(b, e.Incarnation[:]...)
	b = binary.BigEndian.AppendUint64(b, e.Epoch)
	b = append(b, e.Claim[:]...)
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = binary.BigEndian.AppendUint64(b, e.Size)
	b = binary.BigEndian.AppendUint32(b, e.Part)
	b = binary.BigEndian.AppendUint32(b, e.Parts)
	b = append(b, byte(e.Packing))
	b = binary.BigEndian.AppendUint32(b, e.StepBytes)
	b = append(b, e.Before[:]...)
	b = append(b, e.Body...)
	e.Hash = sha256.Sum256(b)
	return append(b, e.Hash[:]...)
}

// Decode reads one entry, of a level from Oldest to newest. Body is a part of b. The error is an ErrLevel or ErrDamaged.
func Decode(b []byte, newest uint8) (*Entry, error) {
	if len(b) > 0 && (b[0] < Oldest || b[0] > newest) {
		return nil, fmt.Errorf("%w: level %d, known are %d to %d", ErrLevel, b[0], Oldest, newest)
	}
	if len(b) < Overhead {
		return nil, fmt.Errorf("%w: an entry of %d bytes; the shortest has %d", ErrDamaged, len(b), Overhead)
	}
	end := len(b) - sha256.Size
	e := &Entry{Level: b[0], Hash: Hash(b[end:])}
	if sha256.Sum256(b[:end]) != [sha256.Size]byte(e.Hash) {
		return nil, fmt.Errorf("%w: the hash of an entry is not that of its bytes", ErrDamaged)
	}
	rest := b[1:end]
	take := func(n int) []byte {
		taken := rest[:n]
		rest = rest[n:]
		return taken
	}
	e.Incarnation = ID(take(16))
	e.Epoch = binary.BigEndian.Uint64(take(8))
	e.Claim = ID(take(16))
	e.Seq = binary.BigEndian.Uint64(take(8))
	e.Size = binary.BigEndian.Uint64(take(8))
	e.Part = binary.BigEndian.Uint32(take(4))
	e.Parts = binary.BigEndian.Uint32(take(4))
	e.Packing = Packing(take(1)[0])
	e.StepBytes = binary.BigEndian.Uint32(take(4))
	e.Before = Hash(take(32))
	e.Body = rest
	if e.Part >= e.Parts || e.StepBytes > MaxStep || e.Packing >= packingsEnd {
		return nil, fmt.Errorf("%w: entry %d: part %d of %d, packing %d, a step of %d bytes", ErrDamaged, e.Seq, e.Part, e.Parts, e.Packing, e.StepBytes)
	}
	return e, nil
}

// Genesis is where the log of a partition begins under an incarnation: the chain starts from
// a hash that no other log has. Its SEQ is that of what the founder's store held, at least
// 1: so an empty store is always behind the log's first entry, and can never pass for a copy.
func Genesis(incarnation ID, partition int, seq uint64) Position {
	seq = max(seq, 1)
	b := append([]byte("sextant log "), incarnation[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(partition))
	b = binary.BigEndian.AppendUint64(b, seq)
	return Position{Seq: seq, Hash: sha256.Sum256(b)}
}
