package meter

import (
	"maps"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/histogram"
)

// All workers count what they have read of documents; mu guards the counts.

// Readings count documents since the process started. The zero value counts none.
type Readings struct {
	mu     sync.Mutex
	read   map[string]int64
	failed map[string]map[string]int64
	times  map[string]*histogram.Histogram
}

// DocumentsStatus counts the PDF and office documents since the process started.
type DocumentsStatus struct {
	Read   map[string]int64            `json:"read,omitempty"`   // by kind, such as pdf
	Failed map[string]map[string]int64 `json:"failed,omitempty"` // by kind and reason
}

// Add counts a document, with no reason as one that was read.
func (c *Readings) Add(kind, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason == "" {
		if c.read == nil {
			c.read = map[string]int64{}
		}
		c.read[kind]++
		return
	}
	if c.failed == nil {
		c.failed = map[string]map[string]int64{}
	}
	if c.failed[kind] == nil {
		c.failed[kind] = map[string]int64{}
	}
	c.failed[kind][reason]++
}

// Status returns nil if there was no document.
func (c *Readings) Status() *DocumentsStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil && c.failed == nil {
		return nil
	}
	s := &DocumentsStatus{Read: maps.Clone(c.read), Failed: map[string]map[string]int64{}}
	for kind, reasons := range c.failed {
		s.Failed[kind] = maps.Clone(reasons)
	}
	return s
}

// Took records the time for reading a document, successfully or not.
func (c *Readings) Took(kind string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.times[kind]
	if h == nil {
		if c.times == nil {
			c.times = map[string]*histogram.Histogram{}
		}
		h = &histogram.Histogram{}
		c.times[kind] = h
	}
	h.Observe(d)
}

func (c *Readings) timings() map[string]histogram.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]histogram.Snapshot, len(c.times))
	for kind, h := range c.times {
		out[kind] = h.Snapshot()
	}
	return out
}
