// Package compare finds the differences between two large sets of URLs in bounded memory: the pushed documents, and
// those in an index. A URL of both may have another stamp in each. If requested, it repairs the differences. It has no
// goroutine and no lock.
package compare

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
)

// Set calls fn for each URL that it has, in any order, with its stamp: that of the content, or "" if that is not known.
// It may be walked several times, and may then have changed.
type Set func(fn func(url, stamp string) error) error

// Counts are the numbers of URLs in the sets, in only one of them, and in both with different stamps.
type Counts struct {
	Stored, Indexed             uint64
	Missing, Foreign, Different uint64
}

// DefaultKeys is the default number of URLs that are compared at once, 16 bytes each.
const DefaultKeys = 4 << 20

// key stands for a URL, and its last stampBytes for the stamp; zero without a stamp.
type key [16]byte

const (
	stampBytes = 4
	urlBytes   = len(key{}) - stampBytes
)

func keyOf(url, stamp string) (k key) {
	sum := sha256.Sum256([]byte(url))
	copy(k[:urlBytes], sum[:])
	if stamp != "" {
		sum = sha256.Sum256([]byte(stamp))
		copy(k[urlBytes:], sum[:])
	}
	return k
}

// compareKeys compares by URL.
func compareKeys(a, b key) int { return bytes.Compare(a[:urlBytes], b[:urlBytes]) }

func sameURL(a, b key) bool { return compareKeys(a, b) == 0 }

// differ reports whether two stamps are known, and not the same.
func differ(a, b key) bool {
	var none [stampBytes]byte
	return a != b && [stampBytes]byte(a[urlBytes:]) != none && [stampBytes]byte(b[urlBytes:]) != none
}

// slice is a range of keys: those from low up to, not including, high.
type slice struct {
	low, high key
	last      bool // high is not a border
	keys      []key
	found     []bool
}

func (s *slice) has(k key) bool {
	return compareKeys(k, s.low) >= 0 && (s.last || compareKeys(k, s.high) < 0)
}

// collect collects the keys of the range; if there are more than most, the range ends earlier.
func (s *slice) collect(stored Set, most int) error {
	s.last, s.keys = true, s.keys[:0]
	err := stored(func(url, stamp string) error {
		k := keyOf(url, stamp)
		if !s.has(k) {
			return nil
		}
		if s.keys = append(s.keys, k); len(s.keys) > most {
			slices.SortFunc(s.keys, compareKeys)
			s.keys = slices.CompactFunc(s.keys, sameURL)
			if len(s.keys) > most {
				s.high, s.last = s.keys[most/2], false
				s.keys = s.keys[:most/2]
			}
		}
		return nil
	})
	slices.SortFunc(s.keys, compareKeys)
	s.keys = slices.CompactFunc(s.keys, sameURL)
	s.found = make([]bool, len(s.keys))
	return err
}

// Visit is called for a URL.
type Visit = func(url string) error

// Run calls missing for each URL of stored that indexed has not, foreign for each
// of indexed that stored has not, and different for each with another stamp. At most keys URLs are in memory at once
// (0: DefaultKeys, at least 2); of more, both sets are walked several times. An error of
// a function ends all.
func Run(stored, indexed Set, keys int, missing, foreign, different Visit) (Counts, error) {
	if keys <= 0 {
		keys = DefaultKeys
	}
	if keys < 2 {
		return Counts{}, errors.New("compare: fewer than 2 keys")
	}
	var c Counts
	for s := (&slice{}); ; s.low = s.high {
		if err := s.collect(stored, keys); err != nil {
			return c, err
		}
		found := uint64(0)
		err := indexed(func(url, stamp string) error {
			k := keyOf(url, stamp)
			if !s.has(k) {
				return nil
			}
			c.Indexed++
			i, ok := slices.BinarySearchFunc(s.keys, k, compareKeys)
			if !ok {
				c.Foreign++
				return foreign(url)
			}
			if s.found[i] {
				c.Indexed-- // an index may list one twice while it changes
				return nil
			}
			s.found[i] = true
			found++
			if differ(s.keys[i], k) {
				c.Different++
				return different(url)
			}
			return nil
		})
		if err != nil {
			return c, err
		}
		c.Stored += uint64(len(s.keys))
		if found < uint64(len(s.keys)) {
			if err := s.name(stored, func(url string) error { c.Missing++; return missing(url) }); err != nil {
				return c, err
			}
		}
		if s.last {
			return c, nil
		}
	}
}

// name calls fn for the URLs of the range that were not found.
func (s *slice) name(stored Set, fn Visit) error {
	return stored(func(url, _ string) error {
		k := keyOf(url, "")
		if !s.has(k) {
			return nil
		}
		i, ok := slices.BinarySearchFunc(s.keys, k, compareKeys)
		if !ok || s.found[i] { // not ok: it came since
			return nil
		}
		s.found[i] = true // once
		return fn(url)
	})
}
