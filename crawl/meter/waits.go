package meter

import (
	"sync"
	"time"
)

// A worker tells its Slot what it is at, under the slot's own mutex. That of ActivityLog is
// taken only when a worker begins or ends, and for a snapshot: workers do not wait for each
// other.

// Activity is the state of a worker: its work, or the reason why it waits.
type Activity uint8

// The activities of a worker.
const (
	WaitsForURL Activity = iota
	WaitsForRate
	WaitsForOutbox
	WaitsForStore     // so many outcomes are being stored that no more pages are fetched
	WaitsForFetch     // DNS, connecting, and the answer's bytes
	Working           // reading, judging
	ActivityCount = 6 // of these
)

// String returns the name in metrics; a contract.
func (a Activity) String() string {
	return [ActivityCount]string{"url", "rate", "outbox", "store", "fetch", "work"}[a]
}

// SlowStore is the time for storing an outcome after which the store counts as slow.
const SlowStore = time.Second

// ActivityLog measures the workers' time by activity. Its mutex is taken when a worker begins or ends, and for a
// snapshot. Each slot has its own mutex, so workers do not wait for each other.
type ActivityLog struct {
	mu    sync.Mutex
	spent [ActivityCount]time.Duration // by workers that have ended
	slots map[*Slot]struct{}
}

// Slot is one worker.
type Slot struct {
	log  *ActivityLog
	work time.Duration // since the lease was taken; the worker's own

	mu    sync.Mutex
	at    Activity
	since time.Time
	spent [ActivityCount]time.Duration // without the present activity
}

// Begin returns the slot of a worker, which first waits for a URL. Close ends it.
func (l *ActivityLog) Begin() *Slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.slots == nil {
		l.slots = map[*Slot]struct{}{}
	}
	s := &Slot{log: l, since: time.Now()}
	l.slots[s] = struct{}{}
	return s
}

// Now sets the worker's activity, and returns the time spent on the previous one.
func (s *Slot) Now(a Activity) time.Duration {
	at := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	d := at.Sub(s.since)
	s.spent[s.at] += d
	if s.at == Working {
		s.work += d
	}
	s.at, s.since = a, at
	return d
}

// Close ends the slot when its worker ends.
func (s *Slot) Close() {
	s.Now(Working)
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	delete(s.log.slots, s)
	for a, d := range s.spent {
		s.log.spent[a] += d
	}
}

// ActivitySnapshot is the workers' activities at one moment.
type ActivitySnapshot struct {
	Workers int
	At      [ActivityCount]int           // number of workers by activity
	Longest [ActivityCount]time.Duration // longest time of a current one
	Spent   [ActivityCount]time.Duration // total since the start
}

// Snapshot returns the workers' current activities.
func (l *ActivityLog) Snapshot() ActivitySnapshot {
	at := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := ActivitySnapshot{Workers: len(l.slots), Spent: l.spent}
	for slot := range l.slots {
		slot.addTo(&s, at)
	}
	return s
}

func (s *Slot) addTo(all *ActivitySnapshot, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, d := range s.spent {
		all.Spent[a] += d
	}
	d := max(now.Sub(s.since), 0)
	all.At[s.at]++
	all.Longest[s.at] = max(all.Longest[s.at], d)
	all.Spent[s.at] += d
}
