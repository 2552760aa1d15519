// Package meter counts the work of a crawl's workers and measures their time, for status and metrics. Its only
// goroutine is Run, which the crawl starts. Every part is atomic or has its own lock; all workers may use it
// concurrently.
package meter

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Meter counts the work of one crawl's workers since the process started. The zero value is ready for use. All workers
// share it: each part that is not an atomic counter has a mutex.
type Meter struct {
	Requests, Pages, Bytes atomic.Int64
	Unavailable            atomic.Int64 // pages fetched after their unavailable_after
	Trapped                atomic.Int64 // links that traps refused
	Taken                  takenCounts
	Outcomes               Outcomes
	Activities             ActivityLog
	Latencies              timings
	Documents              Readings
	Shells                 Shells
	Fields                 Fields
	Rendered               Rendered
	HostTimes              HostTimes
	HostPages              HostPages
	LastRound              atomic.Pointer[time.Time] // when it began; nil: before the first
	pace                   pace
}

// AddResponse counts a response.
func (m *Meter) AddResponse(r *fetcher.Response) {
	m.Requests.Add(1)
	m.Bytes.Add(int64(len(r.Body)))
	if r.Status == http.StatusOK || r.Status == http.StatusNotModified {
		m.Pages.Add(1)
	}
}

// Totals returns the counts of the crawl's pace.
func (m *Meter) Totals() Totals {
	return Totals{Requests: m.Requests.Load(), Pages: m.Pages.Load(), Bytes: m.Bytes.Load()}
}

// takenCounts are the URLs that workers took, by source.
type takenCounts [scheduler.Sources]atomic.Uint64

// Count adds a lease, if there is one.
func (t *takenCounts) Count(l *scheduler.Lease) {
	if l != nil && int(l.Record.Source) < len(t) {
		t[l.Record.Source].Add(1)
	}
}

// Counts returns them by the name of the source.
func (t *takenCounts) Counts() map[string]uint64 {
	out := map[string]uint64{}
	for source := range t {
		out[scheduler.Source(source).String()] = t[source].Load()
	}
	return out
}

// Outcomes counts the outcomes of visits, by class and reason.
type Outcomes [scheduler.Permanent + 1][1 << 8]atomic.Uint64

// Count adds an outcome.
func (o *Outcomes) Count(b scheduler.Effect) { o[b.Class][b.Reason].Add(1) }

// Each calls fn for each class and reason that occurred.
func (o *Outcomes) Each(fn func(class scheduler.Class, reason scheduler.Reason, n uint64)) {
	for class := range o {
		for reason := range o[class] {
			if n := o[class][reason].Load(); n > 0 {
				fn(scheduler.Class(class), scheduler.Reason(reason), n) //nolint:gosec // both are bytes
			}
		}
	}
}

// Totals count since the process started.
type Totals struct {
	Requests int64 `json:"requests"` // pages and robots.txt
	Pages    int64 `json:"pages"`    // responses 200 and 304
	Bytes    int64 `json:"bytes"`    // of bodies, decoded
}
