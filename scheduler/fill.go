package scheduler

import (
	"context"
	"errors"
	"time"
)

// filled is what was read for a queue.
type filled struct {
	host  HostState
	urls  []WaitingURL // up to one more than asked for
	gone  bool         // the URL that was to be checked has left the queue
	asked int
}

// fill reads what a picked queue lacks, without holding the mutex, and makes a
// lease of its first URL. There is none if the queue turns out to be empty or the
// host's gate to be closed: then the pick is taken back.
func (f *Frontier) fill(ctx context.Context, p pick) (*Lease, error) {
	q := p.queue
	f.mu.Lock()
	announced, after, loaded := q.announced, q.after, q.host.loaded
	asked := batch
	if f.buffered > bufferedMax {
		asked = 1
	}
	var check *buffered
	if len(q.buffer) > 0 {
		b := q.buffer[0]
		check, asked = &b, 0
	}
	f.mu.Unlock()

	got, err := f.read(ctx, q.place(), after, loaded, check, asked)

	f.mu.Lock()
	defer f.mu.Unlock()
	q.filling = false
	if err != nil {
		return nil, f.readFailed(ctx, p, err)
	}
	f.learn(q.host, got.host, loaded)
	f.accept(q, got, check, announced)
	if len(q.buffer) > 0 && !q.buffer[0].check && !f.stopped && !time.Now().Before(q.host.nextAt) {
		return f.take(q), nil
	}
	f.takeBack(p)
	f.signal()
	return nil, nil
}

// read asks the store for the host's state if it was not loaded, and for either
// whether the checked URL still waits or the next URLs.
func (f *Frontier) read(ctx context.Context, p Place, after uint64, loaded bool, check *buffered, n int) (filled, error) {
	got := filled{asked: n}
	var err error
	if !loaded {
		if got.host, err = f.store.Host(ctx, p.Host); err != nil {
			return got, err
		}
	}
	if check == nil {
		got.urls, err = f.store.Queue(ctx, p, after, n+1)
		return got, err
	}
	r, err := f.store.Lookup(ctx, check.Key)
	if errors.Is(err, ErrNotFound) {
		got.gone = true
		return got, nil
	}
	got.gone = r.State != Waiting || r.Source != p.Source || r.Seq != check.Seq
	return got, err
}

// learn takes over the stored state of a host.
func (f *Frontier) learn(h *host, s HostState, loaded bool) {
	if loaded || h.loaded {
		return
	}
	h.loaded = true
	h.backoff, h.errors = max(h.backoff, s.Backoff), max(h.errors, s.Errors)
	h.closeUntil(s.NextAt)
}

// accept takes what was read into the queue's buffer.
func (f *Frontier) accept(q *queue, got filled, check *buffered, announced uint64) {
	if check != nil {
		// Meanwhile others may have been put back before it.
		for i := range q.buffer {
			if q.buffer[i].Seq != check.Seq {
				continue
			}
			q.buffer[i].check = false
			if got.gone {
				q.buffer = append(q.buffer[:i], q.buffer[i+1:]...)
				f.buffered--
			}
			return
		}
		return
	}
	q.more = len(got.urls) > got.asked || q.announced != announced
	for _, w := range got.urls[:min(got.asked, len(got.urls))] {
		q.buffer = append(q.buffer, buffered{WaitingURL: w})
		q.host.origin = w.Record.Origin
		q.after = w.Seq
		f.buffered++
	}
}

// takeBack undoes a pick that led to no lease.
func (f *Frontier) takeBack(p pick) {
	f.stride.refund(p.queue.source, p.ready)
	p.queue.host.requests--
	f.place(p.queue.host, true)
}

// readFailed lets the host rest. Errors that will not pass are returned.
func (f *Frontier) readFailed(ctx context.Context, p pick, err error) error {
	if ctx.Err() == nil {
		p.queue.host.closeUntil(time.Now().Add(errorPause))
	}
	f.takeBack(p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrClosed) || errors.Is(err, ErrDamaged):
		return err
	}
	f.log.Error("a queue cannot be read; its host rests", "host", p.queue.host.origin, "pause", errorPause, "error", err)
	return nil
}
