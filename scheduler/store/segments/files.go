// Package segments stores the bodies of documents in the segments of a kv.Bodies.
//
// The store's committer assigns each body its place. The store's writer appends the bodies of a batch before it commits
// the batch, so that a body exists before an order refers to it. Bytes that a crash leaves after the last committed
// body are unused and overwritten. A segment's record.Segment counts its bodies in use; a segment without any is
// dropped.
//
// The package starts no goroutine. A Reader belongs to one goroutine; each method of Files documents its callers. One
// mutex of Files guards the segments being read, another one the bodies written last.
package segments

import (
	"hash/crc32"
	"log/slog"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

const (
	// DefaultBytes is the length at which a segment ends; its last body may exceed it.
	DefaultBytes = 32 << 20
	// Slack is the number of segments allowed beyond twice what is needed.
	Slack = 4
)

// Body is a body that is to be written to its place. It must not change until then.
type Body struct {
	Place record.BodyPlace
	Bytes []byte
}

// Sum returns the checksum of a body, as a record.BodyPlace has it.
func Sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Files holds the segments of a store.
type Files struct {
	stored kv.Bodies
	log    *slog.Logger
	max    uint64 // length at which a segment ends

	// Owned by the committer: the durable states, and the sums of their Size and Live.
	states     map[uint64]record.Segment
	size, live uint64
	emptying   bool
	emptyAt    uint64 // no emptying before all segments have this size

	recent recent

	mu      sync.Mutex // guards the fields below
	epoch   uint64     // counts segments that became unused
	readers map[*Reader]uint64
	gone    []goneSegment
}

// goneSegment is removed when no Reader is left that began before the epoch.
type goneSegment struct{ number, epoch uint64 }

// New returns the Files of stored. most is the length at which a segment ends, remembered the number of bytes of bodies
// that Remember keeps.
func New(stored kv.Bodies, log *slog.Logger, most uint64, remembered int) *Files {
	return &Files{stored: stored, log: log, max: most, recent: recent{most: remembered}, readers: map[*Reader]uint64{}}
}

// Open loads the states of the segments, and removes segments without one: a crash may leave one that was begun, or one
// that was not removed yet. end is the length of the current segment. Open is called once, before the committer begins.
func (f *Files) Open(states map[uint64]record.Segment, current, end uint64, readOnly bool) error {
	f.states = states
	for _, st := range states {
		f.size, f.live = f.size+st.Size, f.live+st.Live
	}
	if readOnly {
		return nil
	}
	return f.stored.Keep(func(n uint64) bool { _, needed := states[n]; return needed }, current, end)
}

// Full reports whether a segment of this length ends here. It may be called concurrently.
func (f *Files) Full(length uint64) bool { return length >= f.max }

// Learn takes over a durable state, nil if the segment became unused, which it reports as gone. Only the committer
// calls it.
func (f *Files) Learn(n uint64, value []byte) (gone bool) {
	old := f.states[n]
	f.size, f.live = f.size-old.Size, f.live-old.Live
	if value == nil {
		delete(f.states, n)
		f.mu.Lock()
		f.epoch++
		f.gone = append(f.gone, goneSegment{n, f.epoch})
		f.mu.Unlock()
		return true
	}
	st, err := record.DecodeSegment(value)
	if err != nil {
		st = record.Segment{}
	}
	f.states[n] = st
	f.size, f.live = f.size+st.Size, f.live+st.Live
	return false
}

// Empty returns the segments to be emptied: those in use by half at most, except the current one, and none if too
// little would be gained. Emptied ends it. Only the committer calls both.
func (f *Files) Empty(current uint64) map[uint64]bool {
	if f.emptying || f.size <= 2*f.live+Slack*f.max || f.size < f.emptyAt {
		return nil
	}
	all := map[uint64]bool{}
	for n, st := range f.states {
		if n != current && 2*st.Live <= st.Size {
			all[n] = true
		}
	}
	f.emptying = len(all) > 0
	return all
}

// Emptied ends what Empty began. After a failure nothing is emptied until there is another segment.
func (f *Files) Emptied(failed bool) {
	f.emptying, f.emptyAt = false, 0
	if failed {
		f.emptyAt = f.size + f.max
	}
}

// Sweep removes the unused files that no Reader can still need. It may be called concurrently.
func (f *Files) Sweep() {
	f.mu.Lock()
	oldest := f.epoch
	for _, epoch := range f.readers {
		oldest = min(oldest, epoch)
	}
	var now []goneSegment
	f.gone = slices.DeleteFunc(f.gone, func(g goneSegment) bool {
		if g.epoch > oldest {
			return false
		}
		now = append(now, g)
		return true
	})
	f.mu.Unlock()
	for _, g := range now {
		if err := f.stored.Drop(g.number); err != nil {
			f.log.Warn("cannot remove an unused file of the outbox; the next start retries", "error", err)
		}
	}
}
