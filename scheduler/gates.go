package scheduler

import (
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Pauses that no completion stored, such as one that a log-in page required, are kept from one run to the next in the
// value restsName. Form: the time of saving (8 bytes), then pairs of a host and the end of its pause (8 bytes), in
// nanoseconds since 1970, big endian. The entry allHosts holds the time until which requests may have gone unrecorded.

// Closing is the reason why a host may not be visited yet.
type Closing uint8

// The reasons.
const (
	ByThrottle   Closing = iota // the pause after a request
	ByCrawlDelay                // that of robots.txt
	ByBackoff                   // it failed
	ByRetryAfter                // the server's Retry-After
	ByHours                     // of a Throttle
	ByAddress                   // another host of its address was visited
	ByCaller                    // the holder of a lease gave it back
	ByStore                     // the store failed
	closings     = iota
)

// String returns its name in all output.
func (r Closing) String() string {
	words := [...]string{"throttle", "crawl-delay", "back-off", "retry-after", "hours", "address", "asked for", "store error"}
	if int(r) >= len(words) {
		return fmt.Sprintf("closing %d", uint8(r))
	}
	return words[r]
}

var allHosts weburl.HostKey

const (
	// restsName is the value in which gates that no completion stored are kept from one run to the next.
	restsName = "scheduler.rests"
	// timeLen is the size of a time in that value, restLen that of a host with its time.
	timeLen = 8
	restLen = len(allHosts) + timeLen
	// gateLongest bounds all gates, so that no time overflows.
	gateLongest = 100 * 365 * 24 * time.Hour
)

// now returns the present in the Frontier's time: nanoseconds since the Frontier was made, which is independent of
// changes of the clock. It is never 0.
func (f *Frontier) now() int64 { return int64(time.Since(f.epoch)) + 1 }

// instant returns t in the Frontier's time.
func (f *Frontier) instant(t time.Time) int64 {
	return f.now() + int64(min(time.Until(t), gateLongest))
}

// time returns the clock time of an instant of the Frontier's time.
func (f *Frontier) time(at int64) time.Time {
	now := time.Now()
	return now.Add(time.Duration(at - f.now())).Round(0)
}

// closeUntil closes a host's gate, or keeps it closed for longer.
func (f *Frontier) closeUntil(h *host, at int64, why Closing) {
	if why != ByHours && h.live != nil {
		h.live.rest = max(h.live.rest, at)
	}
	if at <= h.gate {
		return
	}
	f.tally(h, -1)
	h.gate, h.why = at, why
	f.tally(h, 1)
	if why != ByHours {
		h.unsaved = true
	}
}

// storedGate returns the host's gate without a Throttle's hours, which need no storing.
func (h *host) storedGate() int64 {
	switch {
	case h.why != ByHours:
		return h.gate
	case h.live != nil:
		return h.live.rest
	default:
		return 0
	}
}

// reopen opens the gates that hours closed, since the hours may have changed.
func (f *Frontier) reopen() {
	if f.restingFor[ByHours] == 0 {
		return
	}
	for _, h := range f.hosts {
		if h.why == ByHours && h.list == resting {
			f.tally(h, -1)
			h.gate, h.why = h.storedGate(), ByThrottle
			f.tally(h, 1)
			f.place(h, false)
		}
	}
}

// openGates makes hosts ready whose gates have opened.
func (f *Frontier) openGates() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.own.notBefore > 0 && now >= f.own.notBefore {
		f.own.notBefore = 0
		f.wake()
	}
	for len(f.closed) > 0 && now >= f.closed[0].gate {
		f.place(f.closed[0], false)
	}
}

// loadGates closes the hosts whose rests the last run saved. It closes all hosts if that run did not end cleanly, or if
// it is unknown which of them share an address. A rest is never longer than when it was saved, even if the clock has
// changed.
func (f *Frontier) loadGates(ctx context.Context) error {
	stored, err := f.storedRests(ctx, PartValue(0, restsName))
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own.begin(f, f.store.ClosedCleanly())
	if f.set.PerAddress {
		f.own.notBefore = f.own.loadedAt + int64(f.set.pause(nil))
	}
	f.rest(stored, &f.own)
	f.gated = true
	f.dueAt = time.Now()
	f.wake()
	return nil
}

// storedRests reads the rests that the last run saved under a name.
func (f *Frontier) storedRests(ctx context.Context, name ValueName) ([]byte, error) {
	stored, err := f.store.Value(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(stored) > 0 && len(stored)%restLen != timeLen {
		return nil, fmt.Errorf("the stored %s has %d bytes: %w", name, len(stored), ErrDamaged)
	}
	return stored, nil
}

// rest closes the hosts of a share by the stored rests. The mutex is held.
func (f *Frontier) rest(stored []byte, of *share) {
	if len(stored) == 0 {
		return
	}
	saved := time.Unix(0, int64(binary.BigEndian.Uint64(stored)))
	for b := stored[timeLen:]; len(b) > 0; b = b[restLen:] {
		key := weburl.HostKey(b)
		until := time.Unix(0, int64(binary.BigEndian.Uint64(b[len(key):])))
		if key == allHosts {
			of.lost(f, f.now()-int64(max(saved.Sub(until), 0)))
			continue
		}
		rest := min(time.Until(until), until.Sub(saved))
		if rest <= 0 {
			continue
		}
		h := f.entryIn(key, of)
		f.closeUntil(h, f.now()+int64(rest), ByThrottle)
		f.place(h, false)
	}
}

// saveGates stores the gates that the next run would otherwise lose: the time, and each host with a separate gate.
func (f *Frontier) saveGates(ctx context.Context, of *share, name ValueName) error {
	f.mu.Lock()
	now := f.now()
	b := binary.BigEndian.AppendUint64(nil, uint64(f.time(now).UnixNano()))
	if of.unclean && now-of.lostAt < int64(afterLongest) {
		b = append(b, allHosts[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(f.time(of.lostAt).UnixNano()))
	}
	for _, h := range f.hosts {
		if at := h.storedGate(); h.share == of && h.unsaved && at > now {
			b = append(b, h.key[:]...)
			b = binary.BigEndian.AppendUint64(b, uint64(f.time(at).UnixNano()))
		}
	}
	f.mu.Unlock()
	if err := f.store.SetValue(ctx, name, b); err != nil {
		return fmt.Errorf("storing the resting hosts: %w", err)
	}
	return nil
}

// closed is a heap of hosts by the time at which their gates open.
type closed []*host

func (c closed) Len() int           { return len(c) }
func (c closed) Less(i, j int) bool { return c[i].gate < c[j].gate }
func (c closed) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].heap, c[j].heap = int32(i), int32(j)
}

// Push implements heap.Interface.
func (c *closed) Push(x any) {
	h := x.(*host)
	h.heap = int32(len(*c))
	*c = append(*c, h)
}

// Pop implements heap.Interface.
func (c *closed) Pop() any {
	last := len(*c) - 1
	h := (*c)[last]
	(*c)[last] = nil
	*c, h.heap = (*c)[:last], -1
	return h
}

// put adds a host, or moves it after its time has changed.
func (c *closed) put(h *host) {
	if h.heap < 0 {
		heap.Push(c, h)
	} else {
		heap.Fix(c, int(h.heap))
	}
}

func (c *closed) remove(h *host) {
	if h.heap >= 0 {
		heap.Remove(c, int(h.heap))
	}
}
