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

// activityLog keeps what workers spend their time with. Its mutex is taken when a worker
// begins or ends, and for a snapshot; each slot has one of its own, so that workers do not
// wait for each other.
type activityLog struct {
	mu    sync.Mutex
	spent [activities]time.Duration // by workers that have ended
	slots map[*slot]struct{}
}

// slot is one worker.
type slot struct {
	log  *activityLog
	work time.Duration // since the lease was taken; the worker's own

	mu    sync.Mutex
	at    activity
	since time.Time
	spent [activities]time.Duration // without the present activity
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
	s.mu.Lock()
	defer s.mu.Unlock()
	d := at.Sub(s.since)
	s.spent[s.at] += d
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
	for a, d := range s.spent {
		s.log.spent[a] += d
	}
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
		slot.addTo(&s, at)
	}
	return s
}

func (s *slot) addTo(all *activitySnapshot, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, d := range s.spent {
		all.spent[a] += d
	}
	d := max(now.Sub(s.since), 0)
	all.at[s.at]++
	all.longest[s.at] = max(all.longest[s.at], d)
	all.spent[s.at] += d
}
