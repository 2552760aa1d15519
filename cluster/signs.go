package cluster

import (
	"slices"
	"time"
)

// Signs are the signs of life of processes as somebody sees them who looks again and again, by the clock of that one. The zero Signs have seen
// nobody. There is no lock.
type Signs struct {
	beats map[string]sign // by key
}

// sign is a beat, and since when it is the last.
type sign struct {
	revision Revision
	since    time.Duration
	refuses  bool // copies
	unfit    bool // to own
}

// Take takes in the beats that there are. They are below BeatFolder.
func (s *Signs) Take(all []KeyValue, now time.Duration) {
	seen := make(map[string]sign, len(all))
	for _, kv := range all {
		one, known := s.beats[kv.Key]
		if !known || one.revision != kv.Revision {
			var b beat
			_ = read(kv, &b) // a beat that cannot be read is one all the same
			one = sign{kv.Revision, now, b.Refuses != "", b.Unfit}
		}
		seen[kv.Key] = one
	}
	s.beats = seen
}

// lives reports whether a process gives signs of life: its beat has changed for less than a silence, or has not been known for longer.
func (s *Signs) lives(key string, now, silence time.Duration) bool {
	one, known := s.beats[key]
	return known && now-one.since < silence
}

// Living are the names of the nodes that give signs of life, sorted.
func (s *Signs) Living(now, silence time.Duration) (nodes []string) {
	for key := range s.beats {
		if s.lives(key, now, silence) {
			nodes = append(nodes, nodeOfBeat(key))
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
