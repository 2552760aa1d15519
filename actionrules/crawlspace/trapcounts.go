package crawlspace

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"sync"

	"github.com/sextant-crawler/sextant/weburl"
)

// The counters are stored in the form of slots one behind the other: key (8 bytes) and
// count (4 bytes), big endian. Each of the 64 locks guards every 64th set of slots, and is
// held for one count.

// patternBytes is the maximum length of a pattern that is built without allocation.
const patternBytes = 256

// appendPattern writes u with each run of digits in its path and query as one '#', which no canonical URL holds.
// general reports whether there was one; otherwise u is the only URL of the pattern. The digits of percent-encoded
// bytes do not count.
func appendPattern(out []byte, u weburl.URL) (_ []byte, general bool) {
	out = append(out, u.Origin()...)
	target := u.PathAndQuery()
	for i := 0; i < len(target); i++ {
		c := target[i]
		switch {
		case c == '%' && i+2 < len(target) && isHex(target[i+1]) && isHex(target[i+2]):
			out = append(out, target[i:i+3]...)
			i += 2
		case c < '0' || c > '9':
			out = append(out, c)
		case out[len(out)-1] != '#':
			out, general = append(out, '#'), true
		}
	}
	return out, general
}

// patternKey is cut from a cryptographic hash, because patterns come from strangers:
// a site must not be able to use up the budget of another site's pages.
func patternKey(pattern []byte) uint64 {
	h := sha256.Sum256(pattern)
	return binary.BigEndian.Uint64(h[:])
}

const (
	ways            = 8
	stripes         = 64 // locks, each for every stripes-th set of slots
	maxPatternCount = math.MaxInt32
)

// slot counts the URLs of a pattern; it is free at 0.
type slot struct {
	key   uint64
	count uint32
}

// slots returns the candidate slots of a pattern.
type slots [ways]slot

// find returns key's slot, or else the candidate with the smallest count, which it may replace.
func (s *slots) find(key uint64) *slot {
	least := &s[0]
	for i := range s {
		if s[i].count > 0 && s[i].key == key {
			return &s[i]
		}
		if s[i].count < least.count {
			least = &s[i]
		}
	}
	return least
}

// patternCounts is a table of fixed size: sets of slots, chosen by key.
type patternCounts struct {
	sets  []slots
	locks [stripes]sync.Mutex
}

func newPatternCounts(patterns int) *patternCounts {
	return &patternCounts{sets: make([]slots, (patterns+ways-1)/ways)}
}

func (c *patternCounts) set(key uint64) (*slots, *sync.Mutex) {
	i := key % uint64(len(c.sets))
	return &c.sets[i], &c.locks[i%stripes]
}

// take counts one URL more for key, if it has less than limit.
func (c *patternCounts) take(key uint64, limit uint32) bool {
	set, mu := c.set(key)
	mu.Lock()
	defer mu.Unlock()
	s := set.find(key)
	if s.key != key || s.count == 0 {
		*s = slot{key: key}
	}
	if s.count >= limit {
		return false
	}
	s.count++
	return true
}

// count returns the number of URLs taken for key.
func (c *patternCounts) count(key uint64) uint32 {
	set, mu := c.set(key)
	mu.Lock()
	defer mu.Unlock()
	if s := set.find(key); s.key == key {
		return s.count
	}
	return 0
}

// stateVersion is the first byte of the state; the counts follow, each with its key.
const (
	stateVersion = 1
	slotBytes    = 8 + 4
)

// ErrTrapState means that the bytes passed to RestoreState are not a valid state.
var ErrTrapState = errors.New("counts of traps are damaged")

// AppendState appends the counts to b, to survive a restart: 12 bytes a pattern, so at most 768 KiB by default.
// Concurrent changes may or may not be included.
func (t *Traps) AppendState(b []byte) []byte {
	b = append(b, stateVersion)
	for i := range t.counts.sets {
		mu := &t.counts.locks[i%stripes]
		mu.Lock()
		set := t.counts.sets[i]
		mu.Unlock()
		for _, s := range set {
			if s.count > 0 {
				b = binary.BigEndian.AppendUint64(b, s.key)
				b = binary.BigEndian.AppendUint32(b, s.count)
			}
		}
	}
	return b
}

// RestoreState adds the counts of a state written by AppendState, possibly of a table of another size. It must be
// called before the first Admit. An empty state has no counts. On an error, which wraps ErrTrapState, nothing changes:
// the budgets start from zero.
func (t *Traps) RestoreState(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if b[0] != stateVersion || len(b)%slotBytes != 1 {
		return ErrTrapState
	}
	for b = b[1:]; len(b) > 0; b = b[slotBytes:] {
		t.counts.restore(slot{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])})
	}
	return nil
}

// restore keeps the larger counts if there is not enough room.
func (c *patternCounts) restore(old slot) {
	set, mu := c.set(old.key)
	mu.Lock()
	defer mu.Unlock()
	if s := set.find(old.key); s.count < old.count {
		*s = old
	}
}
