package weburl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// Key identifies a canonical URL: the first 128 bits of its SHA-256. A
// cryptographic hash because links are hostile: nobody must be able to make a
// URL that hides another one.
type Key [16]byte

// Key hashes the canonical form.
func (u URL) Key() Key { return keyOf(u.s) }

// String is the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// HostKey identifies an origin: the first 64 bits of its SHA-256. Two origins
// that share it would share a queue and its politeness, and nothing else.
type HostKey [8]byte

// HostKey hashes the origin.
func (u URL) HostKey() HostKey {
	k := keyOf(u.Origin())
	return HostKey(k[:8])
}

func keyOf(s string) Key {
	var buf [stackBytes]byte
	h := sha256.Sum256(append(buf[:0], s...))
	return Key(h[:16])
}

// Compare orders keys as their bytes: the order in which a store has them.
func (k Key) Compare(o Key) int { return bytes.Compare(k[:], o[:]) }
