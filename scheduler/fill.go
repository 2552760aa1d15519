package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// bufferedMax is the approximate number of URLs kept in memory, batch the number read at once from a queue. With 16,
// the fixed cost of a read is a quarter of the cost of its URLs.
const (
	bufferedMax = 16 << 10
	batch       = 64
	smallBatch  = 16
)

// batchFor returns the number of URLs to read at once when buffered are in memory: fewer if many hosts share the space.
func batchFor(buffered int) int {
	switch {
	case buffered > bufferedMax:
		return 1
	case buffered > bufferedMax/4:
		return smallBatch
	}
	return batch
}

// want describes the read that a picked queue needs.
type want struct {
	place Place
	after uint64
	n     int
	host  bool   // the host's state
	check *Lease // check whether this URL still waits, in place of reading more
}

// filled contains the result of reading a queue.
type filled struct {
	host HostState
	urls []WaitingURL // up to one more than requested
	// gone and record are for the URL that was checked.
	gone   bool
	record Record
}

// fill reads URLs for a picked queue, without holding the mutex, and leases the first one. It returns nil if the queue
// turns out to be empty or the host to be closed.
func (f *Frontier) fill(ctx context.Context, p pick) (*Lease, error) {
	q := p.queue
	f.mu.Lock()
	if q.reading == nil {
		q.reading = &reading{}
	}
	w := want{place: q.place(), after: q.reading.after, n: batchFor(f.buffered), host: !q.host.live.loaded, check: q.first()}
	f.mu.Unlock()

	got, err := f.read(ctx, w)

	f.mu.Lock()
	defer f.mu.Unlock()
	q.filling = false
	if err != nil {
		return nil, f.readFailed(ctx, p, err)
	}
	if w.host {
		f.learn(q.host, got.host)
	}
	if w.check != nil {
		f.checked(q, w.check, &got)
	} else {
		f.accept(q, w, got.urls)
	}
	if l := q.first(); l != nil && !l.check && !q.host.share.leaving && !f.isBlocked(q) && !f.stopped && !f.paused && f.now() >= q.host.gate {
		return f.take(p), nil
	}
	f.takeBack(p)
	f.signal()
	return nil, nil
}

// read reads from the store.
func (f *Frontier) read(ctx context.Context, w want) (filled, error) {
	var got filled
	var err error
	if w.host {
		if got.host, err = f.store.Host(ctx, w.place.Host); err != nil {
			return got, err
		}
	}
	if w.check == nil {
		got.urls, err = f.store.Queue(ctx, w.place, w.after, w.n+1)
		return got, err
	}
	r, err := f.store.Lookup(ctx, w.check.Key)
	if errors.Is(err, ErrNotFound) {
		got.gone = true
		return got, nil
	}
	got.gone, got.record = r.State != Waiting || r.Source != w.place.Source || r.Seq != w.check.Seq, r
	return got, err
}

// checked records whether a URL still waits, and its stored record. Other URLs may have been put back before it in the
// meantime.
func (f *Frontier) checked(q *queue, l *Lease, got *filled) {
	r := q.reading
	l.check = false
	if !got.gone {
		l.Record, l.asOf = got.record, 0
	}
	if i := slices.Index(r.buffer, l); i >= 0 && got.gone {
		r.buffer = slices.Delete(r.buffer, i, i+1)
		f.buffered--
	}
}

// accept moves the result of a read to the queue's buffer.
func (f *Frontier) accept(q *queue, w want, urls []WaitingURL) {
	r := q.reading
	q.more = len(urls) > w.n || q.news
	urls = urls[:min(w.n, len(urls))]
	for i := range urls {
		u := &urls[i]
		r.buffer = append(r.buffer, &Lease{Place: w.place, Key: u.Key, Seq: u.Seq, Record: u.Record, asOf: u.AsOf})
		r.after = u.Seq
	}
	f.buffered += len(urls)
}

// takeBack undoes a pick that led to no lease.
func (f *Frontier) takeBack(p pick) {
	f.stride.refund(p.queue.source, p.ready)
	p.queue.host.live.requests--
	f.place(p.queue.host, true)
}

// readFailed makes the host rest. It returns errors that are permanent.
func (f *Frontier) readFailed(ctx context.Context, p pick, err error) error {
	if ctx.Err() == nil {
		f.closeUntil(p.queue.host, f.now()+int64(errorPause), ByStore)
	}
	f.takeBack(p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case p.queue.host.share.leaving:
		return nil
	case f.parted == nil && (errors.Is(err, ErrClosed) || errors.Is(err, ErrDamaged)):
		return err
	}
	f.log.Error("cannot read a queue; its host rests", "host", fmt.Sprintf("%x", p.queue.host.key), "pause", errorPause, "error", err)
	return nil
}
