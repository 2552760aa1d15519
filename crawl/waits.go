package crawl

import (
	"sync"
	"time"
)

// activity is what a worker is at, or waits for.
type activity uint8

const (
	waitsForURL activity = iota
	waitsForRate
	waitsForOutbox
	waitsForStore // its outcome is being stored
	waitsForFetch // DNS, connecting, and the answer's bytes
	working       // reading, judging
	activities    = 6
)

// activityNames are the names in metrics; a contract.
func (a activity) String() string {
	return [activities]string{"url", "rate", "outbox", "store", "fetch", "work"}[a]
}

// slowStore is how long an outcome may take to be stored before the store is
// called slow.
const slowStore = time.Second

// activityLog keeps what workers spend their time with.
type activityLog struct {
	mu    sync.Mutex
	spent [activities]time.Duration // by workers that have gone on since
	slots map[*slot]struct{}
}

// slot is one worker.
type slot struct {
	log   *activityLog
	at    activity
	since time.Time
	work  time.Duration // since the lease was taken
}

// slot begins with waiting for a URL; it ends with close.
func (l *activityLog) slot() *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slots == nil {
		l.slots = map[*slot]struct{}{}
	}
	s := &slot{log: l, since: time.Now()}
	l.slots[s] = struct{}{}
	return s
}

// now says what the worker is at from now on, and gives the time that it was at
// something else.
func (s *slot) now(a activity) time.Duration {
	at := time.Now()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	d := at.Sub(s.since)
	s.log.spent[s.at] += d
	if s.at == working {
		s.work += d
	}
	s.at, s.since = a, at
	return d
}

func (s *slot) close() {
	s.now(working)
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	delete(s.log.slots, s)
}

// activitySnapshot is what the workers do at a moment.
type activitySnapshot struct {
	workers int
	at      [activities]int           // how many
	longest [activities]time.Duration // how long the one that is at it for longest
	spent   [activities]time.Duration // in all, since the start
}

func (l *activityLog) snapshot() activitySnapshot {
	at := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := activitySnapshot{workers: len(l.slots), spent: l.spent}
	for slot := range l.slots {
		d := at.Sub(slot.since)
		s.at[slot.at]++
		s.longest[slot.at] = max(s.longest[slot.at], d)
		s.spent[slot.at] += d
	}
	return s
}
