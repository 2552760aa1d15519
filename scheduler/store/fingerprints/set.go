// Package fingerprints recognizes known URLs in memory, in 5 to 7 bytes a URL, so that links to known URLs
// cost no read of the store.
//
// It keeps 56 bits of a URL's key (weburl.Key.Chance, from a SHA-256). The first byte selects one of 256 stripes, each
// with its own lock. Up to 8,191 fingerprints a stripe is one sorted array of the next 6 bytes, later 256 shards,
// selected by the second byte, each a sorted array of the next 5 bytes with some space after it. Hash values are spread
// evenly, so a search begins close to where it ends. A full shard causes its whole stripe to be laid out again, with an
// eighth more space for each shard: never more than a 256th of the set exists twice, and old copies leave no holes.
//
// Large stripes are anonymous mappings, not Go's heap: as heap, 300 MB at 50 million URLs would allow as much again in
// garbage before a collection. GOMEMLIMIT does not include them: subtract Set.Bytes when setting it.
//
// An unknown URL is taken for a known one with a probability of Len/2^56: 7 in 10^10 at 50 million URLs, 1 in 10^9 at
// 72 million.
package fingerprints

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/weburl"
)

const (
	stripes = 256
	shards  = 256 // of a stripe that is large enough
)

// Set is a set of URL keys. One goroutine may change it while others call Has, Len, Bytes and Save.
type Set struct {
	stripes [stripes]stripe
	n       atomic.Int64
	bytes   atomic.Int64
}

// New returns an empty set with space for about hint keys; it grows beyond that as needed.
func New(hint int) *Set {
	s := &Set{}
	for i := range s.stripes {
		s.resize(&s.stripes[i], func(st *stripe) { st.reserve(max(hint, 0) / stripes) })
	}
	return s
}

// Has reports whether the key is in the set; the package comment has the rate of false positives.
func (s *Set) Has(k weburl.Key) bool {
	st := &s.stripes[stripeOf(k)]
	st.mu.RLock()
	defer st.mu.RUnlock()
	_, _, found := st.find(value(k))
	return found
}

// Add adds a key and reports whether it was new. It returns false if another key with the same fingerprint is in the
// set.
func (s *Set) Add(k weburl.Key) bool {
	st := &s.stripes[stripeOf(k)]
	st.mu.Lock()
	defer st.mu.Unlock()
	v := value(k)
	shard, i, found := st.find(v)
	if found {
		return false
	}
	if !st.insert(shard, i, v) {
		s.resize(st, (*stripe).grow)
		shard, i, _ = st.find(v)
		st.insert(shard, i, v)
	}
	s.n.Add(1)
	return true
}

// Remove removes a key and reports whether it was present. Another key with the same fingerprint is removed too, which
// is harmless if the caller confirms unknown keys in the store.
func (s *Set) Remove(k weburl.Key) bool {
	st := &s.stripes[stripeOf(k)]
	st.mu.Lock()
	defer st.mu.Unlock()
	shard, i, found := st.find(value(k))
	if !found {
		return false
	}
	st.remove(shard, i)
	if st.sparse() {
		s.resize(st, (*stripe).grow)
	}
	s.n.Add(-1)
	return true
}

// Len returns the number of keys in the set; keys with the same fingerprint count once.
func (s *Set) Len() int { return int(s.n.Load()) }

// Bytes returns the memory that the set holds, in bytes.
func (s *Set) Bytes() int64 { return s.bytes.Load() + int64(stripes*stripeBytes) }

// resize calls change to lay out the stripe again and updates the memory figure.
func (s *Set) resize(st *stripe, change func(*stripe)) {
	before := st.bytes()
	change(st)
	s.bytes.Add(st.bytes() - before)
}

// stripeOf returns the number of a key's stripe.
func stripeOf(k weburl.Key) byte { return k.Chance()[0] }

// value returns the part of a key that a stripe stores: the bytes 1 to 6 of Chance as a number.
func value(k weburl.Key) uint64 {
	c := k.Chance()
	return binary.BigEndian.Uint64(c[1:]) >> 16
}
