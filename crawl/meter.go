package crawl

import (
	"net/http"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
)

// meter counts what the workers of one crawl do, since the process started. The zero value
// is ready. All workers share it: what is no atomic counter has a mutex of its own.
type meter struct {
	requests, pages, bytes atomic.Int64
	unavailable            atomic.Int64 // pages whose unavailable_after was over
	trapped                atomic.Int64 // links that traps refused
	taken                  takenCounts
	activities             activityLog
	timings                timings
	documents              documentCounts
}

// answered counts an answer.
func (m *meter) answered(r *fetcher.Response) {
	m.requests.Add(1)
	m.bytes.Add(int64(len(r.Body)))
	if r.Status == http.StatusOK || r.Status == http.StatusNotModified {
		m.pages.Add(1)
	}
}

// totals returns the counts of the crawl's pace.
func (m *meter) totals() Totals {
	return Totals{Requests: m.requests.Load(), Pages: m.pages.Load(), Bytes: m.bytes.Load()}
}

// takenCounts are the URLs that workers took, by source.
type takenCounts [scheduler.Sources]atomic.Uint64

// count adds a lease, if there is one.
func (t *takenCounts) count(l *scheduler.Lease) {
	if l != nil && int(l.Record.Source) < len(t) {
		t[l.Record.Source].Add(1)
	}
}

func (t *takenCounts) counts() map[string]uint64 {
	out := map[string]uint64{}
	for source := range t {
		out[scheduler.Source(source).String()] = t[source].Load()
	}
	return out
}
