// Package fingerprints tells known URLs from unknown ones in memory, in 5 to 7 bytes
// a URL, so that the links of a page that are known cost no read of the store.
//
// It keeps 56 bits of a URL's key (weburl.Key.Chance, from a SHA-256). The first byte
// chooses one of 256 stripes, each with its own lock. Up to 8,191 fingerprints a stripe
// is one sorted array of the next 6 bytes, later 256 shards, chosen by the second byte,
// each a sorted array of the next 5 bytes with a little room behind it. Values of a hash
// are spread evenly, so a search begins next to where it ends. A shard with no room left
// has its whole stripe laid out again, with an eighth more room for each shard: there are
// never two copies of more than a 256th of the set, and old copies leave no holes.
//
// Large stripes are anonymous mappings, not Go's heap: as heap, 300 MB at 50 million
// URLs would let Go's collector run up as much again in garbage before it begins. The
// price is that GOMEMLIMIT does not see them: whoever sets it takes Set.Bytes off first.
//
// An unknown URL is taken for a known one with a probability of Len/2^56: 7 in 10^10 at
// 50 million URLs, 1 in 10^9 at 72 million.
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

// Set is a set of URL keys. One goroutine may change it while any number of others
// call Has, Len, Bytes and Save.
type Set struct {
	stripes [stripes]stripe
	n       atomic.Int64
	bytes   atomic.Int64
}

// New makes an empty set with room for about hint keys; it grows beyond that as needed.
func New(hint int) *Set {
	s := &Set{}
	for i := range s.stripes {
		s.resize(&s.stripes[i], func(st *stripe) { st.reserve(max(hint, 0) / stripes) })
	}
	return s
}

// Has reports whether the key is in the set; see the package comment for how often it
// says so of one that is not.
func (s *Set) Has(k weburl.Key) bool {
	st := &s.stripes[stripeOf(k)]
	st.mu.RLock()
	defer st.mu.RUnlock()
	_, _, found := st.find(value(k))
	return found
}

// Add adds a key and says whether it was new. It never is if another key with the same
// fingerprint is in the set.
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

// Remove removes a key and says whether it was there. Another key with the same
// fingerprint goes with it: that does no harm where "unknown" is confirmed in the store.
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

// Len is how many keys are in the set; those with the same fingerprint are one.
func (s *Set) Len() int { return int(s.n.Load()) }

// Bytes is the memory that the set holds, in bytes.
func (s *Set) Bytes() int64 { return s.bytes.Load() + int64(stripes*stripeBytes) }

// resize lets change lay out the stripe again and keeps count of the memory.
func (s *Set) resize(st *stripe, change func(*stripe)) {
	before := st.bytes()
	change(st)
	s.bytes.Add(st.bytes() - before)
}

// stripeOf returns the number of a key's stripe.
func stripeOf(k weburl.Key) byte { return k.Chance()[0] }

// value returns what a stripe keeps of a key: the bytes 1 to 6 of Chance as a number.
func value(k weburl.Key) uint64 {
	c := k.Chance()
	return binary.BigEndian.Uint64(c[1:]) >> 16
}
