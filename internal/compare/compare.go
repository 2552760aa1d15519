// Package compare finds the differences between two large sets of URLs in bounded memory: the pushed documents, and
// those in an index. If requested, it repairs the differences. It has no goroutine and no lock.
package compare

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
)

// Set calls fn for each URL that it has, in any order. It may be walked several
// times, and may then have changed.
type Set func(fn func(url string) error) error

// Counts are the numbers of URLs in the sets, and in only one of them.
type Counts struct {
	Stored, Indexed  uint64
	Missing, Foreign uint64
}

// DefaultKeys is the default number of URLs that are compared at once, 16 bytes each.
const DefaultKeys = 4 << 20

// key stands for a URL.
type key [16]byte

func keyOf(url string) key {
	sum := sha256.Sum256([]byte(url))
	return key(sum[:16])
}

func compareKeys(a, b key) int { return bytes.Compare(a[:], b[:]) }

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
	err := stored(func(url string) error {
		k := keyOf(url)
		if !s.has(k) {
			return nil
		}
		if s.keys = append(s.keys, k); len(s.keys) > most {
			slices.SortFunc(s.keys, compareKeys)
			s.keys = slices.Compact(s.keys)
			if len(s.keys) > most {
				s.high, s.last = s.keys[most/2], false
				s.keys = s.keys[:most/2]
			}
		}
		return nil
	})
	slices.SortFunc(s.keys, compareKeys)
	s.keys = slices.Compact(s.keys)
	s.found = make([]bool, len(s.keys))
	return err
}

// Run calls missing for each URL of stored that indexed has not, and foreign for each
// of indexed that stored has not. At most keys URLs are in memory at once (0:
// DefaultKeys, at least 2); of more, both sets are walked several times. An error of
// a function ends all.
func Run(stored, indexed Set, keys int, missing, foreign func(url string) error) (Counts, error) {
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
		err := indexed(func(url string) error {
			k := keyOf(url)
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
func (s *slice) name(stored Set, fn func(url string) error) error {
	return stored(func(url string) error {
		k := keyOf(url)
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
