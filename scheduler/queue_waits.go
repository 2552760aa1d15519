package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/scheduler/histogram"
)

// waitSamples measures how long ready work waits for a worker. It watches one queue of each source at a time, so that a
// million waiting hosts cost nothing.
type waitSamples struct {
	watched [Sources]struct {
		queue *queue
		since int64 // in the Frontier's time
	}
	times [Sources]histogram.Histogram
}

// listed watches a queue that became ready, unless another of its source is watched. The mutex is held.
func (f *Frontier) listed(q *queue) {
	if w := &f.waits.watched[q.source]; w.queue == nil {
		w.queue, w.since = q, f.now()
	}
}

// picked ends the wait of a queue that is about to be visited. The mutex is held.
func (f *Frontier) picked(q *queue) {
	if w := &f.waits.watched[q.source]; w.queue == q {
		f.waits.times[q.source].Observe(time.Duration(f.now() - w.since))
	}
}

// unlisted forgets a queue that is no longer ready. The mutex is held.
func (f *Frontier) unlisted(q *queue) {
	if w := &f.waits.watched[q.source]; w.queue == q {
		w.queue = nil
	}
}

// QueueWaits returns samples of how long ready hosts waited for a visit, by source.
func (f *Frontier) QueueWaits() (out [Sources]histogram.Snapshot) {
	for s := range out {
		out[s] = f.waits.times[s].Snapshot()
	}
	return out
}
