package cluster

// keep.go: keeps.mu guards what is to stay in the log; whoever makes a copy takes it, and the chores.

import "sync"

// keeps are places in the log behind which nothing is trimmed.
type keeps struct {
	mu   sync.Mutex
	seqs map[*uint64]struct{}
}

// Keep leaves in the log all that follows what the copy has applied now, until release is called or the
// claim is over: a copy that is made from this one meanwhile joins without a gap. It is released when
// that copy is in the in-sync set, or given up. An engine that is nearly full is trimmed all the same, so that the crawl goes
// on; the new copy is made again then.
func (l *Lead) Keep() (release func()) {
	seq := l.copy.Applied().Seq
	k := &l.hold.keeps
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seqs == nil {
		k.seqs = map[*uint64]struct{}{}
	}
	k.seqs[&seq] = struct{}{}
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.seqs, &seq)
	}
}

// low is the SEQ up to which the log may be trimmed, if nobody of the set needs it up to there.
func (k *keeps) low(seq uint64) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	for kept := range k.seqs {
		seq = min(seq, *kept)
	}
	return seq
}
