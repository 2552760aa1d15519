package weburl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"sync"
)

// hostBytes is the length of the host's hash, with which every Key and HostKey begins.
const hostBytes = 2

// Key identifies a canonical URL. It begins with a 16-bit hash of the host, so that the keys of a site sort together
// and any store can tell from a key where it belongs: scheme, port and a leading "www." do not count for it. The other
// 112 bits are from the URL's SHA-256, a cryptographic hash because links are hostile: nobody must be able to make
// a URL that hides another one.
type Key [16]byte

// Key hashes the canonical form.
func (u URL) Key() (k Key) {
	sum := sumOf(u.s)
	k[0], k[1] = byte(u.hostHash>>8), byte(u.hostHash)
	copy(k[hostBytes:], sum[:])
	return k
}

// String returns the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// HostHash returns the hash of the key's host, which its site's other keys share.
func (k Key) HostHash() uint16 { return uint16(k[0])<<8 | uint16(k[1]) }

// Chance returns the bytes of the key that are evenly distributed, also among the URLs of one host. Code that spreads
// URLs, samples them or looks them up by a part of their key must use these.
func (k Key) Chance() [14]byte { return [14]byte(k[hostBytes:]) }

// Compare orders keys as their bytes: the order in which a store has them.
func (k Key) Compare(o Key) int { return bytes.Compare(k[:], o[:]) }

// HostKey identifies an origin: the host's hash as in Key, and 48 bits of the origin's SHA-256. Two origins that share
// it would share a queue and its politeness. As both hashes are cryptographic, making one that has the key of a given
// other takes 2^64 tries.
type HostKey [8]byte

// HostKey hashes the origin.
func (u URL) HostKey() (k HostKey) {
	sum := sumOf(u.Origin())
	k[0], k[1] = byte(u.hostHash>>8), byte(u.hostHash)
	copy(k[hostBytes:], sum[:])
	return k
}

// hashHost sets the hash of the host: the first bits of the SHA-256 of its name without a leading "www.". It takes
// that of like, if like is not nil and has the host: most links of a page lead to its own.
func (u *URL) hashHost(like *URL) {
	if like != nil && like.bareHost() == u.bareHost() {
		u.hostHash = like.hostHash
		return
	}
	sum := sumOf(u.bareHost())
	u.hostHash = uint16(sum[0])<<8 | uint16(sum[1])
}

// bareHost returns the host without a leading "www.", IPv6 in brackets.
func (u *URL) bareHost() string { return strings.TrimPrefix(u.s[u.hostStart:u.hostEnd], "www.") }

// summer makes SHA-256 sums. It is kept for the next one: sha256.Sum256 allocates a digest each time.
type summer struct {
	hash hash.Hash
	buf  []byte
}

var summers = sync.Pool{New: func() any { return &summer{hash: sha256.New()} }}

func sumOf(s string) [sha256.Size]byte {
	h := summers.Get().(*summer)
	defer summers.Put(h)
	h.hash.Reset()
	h.buf = append(h.buf[:0], s...)
	h.hash.Write(h.buf)
	h.buf = h.hash.Sum(h.buf[:0])
	return [sha256.Size]byte(h.buf)
}
