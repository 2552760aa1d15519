package crawl

import (
	"maps"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/histogram"
)

// documentCounts count documents since the process started. The zero value counts none.
type documentCounts struct {
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

// add counts a document, with no reason as one that was read.
func (c *documentCounts) add(kind documents.Kind, reason documents.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reason == "" {
		if c.read == nil {
			c.read = map[string]int64{}
		}
		c.read[string(kind)]++
		return
	}
	if c.failed == nil {
		c.failed = map[string]map[string]int64{}
	}
	if c.failed[string(kind)] == nil {
		c.failed[string(kind)] = map[string]int64{}
	}
	c.failed[string(kind)][string(reason)]++
}

// status is nil while there was no document.
func (c *documentCounts) status() *DocumentsStatus {
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

// took counts how long it took to read a document, or to fail at it.
func (c *documentCounts) took(kind documents.Kind, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.times[string(kind)]
	if h == nil {
		if c.times == nil {
			c.times = map[string]*histogram.Histogram{}
		}
		h = &histogram.Histogram{}
		c.times[string(kind)] = h
	}
	h.Observe(d)
}

func (c *documentCounts) timings() map[string]histogram.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]histogram.Snapshot, len(c.times))
	for kind, h := range c.times {
		out[kind] = h.Snapshot()
	}
	return out
}
