package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// errEnded reports a bug in the caller.
var errEnded = errors.New("the lease has already ended")

// ending contains what the end of a lease must store in addition to its outcome.
type ending struct {
	host  *HostState // nil if nothing has changed
	gate  int64      // stored with host
	floor uint64
}

// Complete ends a lease with its result: it decides what follows and stores it in one step. The request counts as ended
// when Complete is called. A URL that was removed or re-queued in the meantime gets no outcome, which is not an error.
// If the store fails, the URL is handed out again after a pause if it still waits.
func (f *Frontier) Complete(ctx context.Context, l *Lease, r Result) error {
	return await(func(settled func(error)) { f.HandOver(ctx, l, r, settled) })
}

// await runs a call that reports its end to settled, and waits for that.
func await(call func(settled func(error))) error {
	done := make(chan error, 1)
	call(func(err error) { done <- err })
	return <-done
}

// HandOver is Complete without waiting for the store. It calls settled once with the result of Complete, perhaps before
// HandOver returns, else from a goroutine of the store: settled must be quick and must not wait for a change of the
// store, as Store.Complete requires. Until then the lease counts as in flight.
func (f *Frontier) HandOver(ctx context.Context, l *Lease, r Result, settled func(error)) {
	now := time.Now()
	f.mu.Lock()
	if l.ended {
		f.mu.Unlock()
		settled(errEnded)
		return
	}
	set := f.set
	if r.Excluded == nil {
		if r.Fault == fault.None {
			l.queue.host.live.fetched = true
		}
		f.judge(l.queue.host, &r)
		f.visited(l.queue.host, l.throttle, 1+r.Requests)
	}
	f.endRequest(l)
	e := f.ending(l)
	f.mu.Unlock()

	edit := f.owner.Edit()
	if l.Record.Indexed && showsHostState(r.Fault) {
		_, r.silent = f.owner.Standing(l.Record.Host)
	}
	c := outcome(&l.Record, &r, set, edit, now, f.jitter())
	response, err := f.weigh(ctx, l, &r, &c, set, edit)
	if err == nil && response != NotCounted {
		f.mu.Lock()
		e = f.ending(l) // the host's health may have changed
		f.mu.Unlock()
	}
	if err != nil {
		settled(f.committed(l, &c, e, Completed{Err: err}))
		return
	}
	l.effect = effectOf(&l.Record, &c)
	f.commit(ctx, l, &c, e, f.afterResponse(l, &c, response, settled))
}

// Wait ends a lease of a URL that cannot be fetched before a certain time, for a reason that does not concern the URL
// itself (robots.txt is unreachable): no error is counted and its class stays. The host's pause follows as after a
// request.
func (f *Frontier) Wait(ctx context.Context, l *Lease, until time.Time, why Reason, words string) error {
	f.mu.Lock()
	if l.ended {
		f.mu.Unlock()
		return errEnded
	}
	set := f.set
	f.requested(l)
	f.endRequest(l)
	e := f.ending(l)
	f.mu.Unlock()
	c := waits(l, until, why, words)
	expire(&c, &l.Record, set, time.Now())
	return await(func(settled func(error)) { f.commit(ctx, l, &c, e, f.afterResponse(l, &c, NotCounted, settled)) })
}

// afterResponse returns a function that does the bookkeeping for the response and then calls settled.
func (f *Frontier) afterResponse(l *Lease, c *Completion, response Response, settled func(error)) func(error) {
	return func(err error) {
		if err == nil {
			f.owner.Completed(l, c, response)
		}
		settled(err)
	}
}

// waits returns the completion of a URL without a result: its record does not change.
func waits(l *Lease, until time.Time, why Reason, words string) Completion {
	c := Completion{Next: l.Record}
	c.Next.State, c.Next.NextAt = Timed, until
	if r := l.Record.Reason; r == NoReason || r.Waits() {
		c.Next.Reason, c.Next.LastError = why, words
	}
	return c
}

// GiveBack ends a lease without an outcome: the URL returns to the head of its queue. requested reports that a request
// was made to the host (for robots.txt), which closes its gate for the throttle. The gate also stays closed until the
// given time, unless that is zero.
func (f *Frontier) GiveBack(l *Lease, requested bool, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.ended {
		return
	}
	if requested {
		f.requested(l)
	}
	if !until.IsZero() {
		f.closeUntil(l.queue.host, f.instant(until), ByCaller)
	}
	f.returned(l)
}

// putBack ends a lease that was not handed out: it does not count as a pick.
func (f *Frontier) putBack(l *Lease) {
	f.stride.refund(l.Place.Source, l.ready)
	f.returned(l)
}

// returned ends a lease without an outcome.
func (f *Frontier) returned(l *Lease) {
	h := l.queue.host
	l.ended = true
	h.live.requests--
	f.endFlight(l)
	f.unread(l, l.check)
	if f.buffered > bufferedMax {
		f.shed(h)
	}
	f.place(h, true)
	f.signal()
}

// requested records the end of a request to the lease's host.
func (f *Frontier) requested(l *Lease) { f.visited(l.queue.host, l.throttle, 1) }

// visited records the end of requests to a host, with the throttle that matches them, if any. requests is the number
// made for one page: the host rests one pause for every four.
func (f *Frontier) visited(h *host, t *Throttle, requests int) {
	now := f.now()
	pause, why := h.pause(f.set, t)
	h.live.ended = now
	f.closeUntil(h, now+restAfter(pause, requests), why)
	f.restAddress(h, now+restAfter(f.set.pause(t), requests))
}

// requestsPerPause is the number of requests of one page for which the host rests one pause.
const requestsPerPause = 4

func restAfter(pause time.Duration, requests int) int64 {
	return int64(pause) * int64(max(requests, requestsPerPause)) / requestsPerPause
}

// endRequest frees the host's connection before the outcome is committed, since the commit may take longer than the
// pause.
func (f *Frontier) endRequest(l *Lease) {
	h := l.queue.host
	l.ended = true
	h.live.requests--
	f.place(h, false)
}

// ending collects the state of the host and the queue that the commit needs.
func (f *Frontier) ending(l *Lease) ending {
	e := ending{floor: l.queue.floor(l)}
	e.host, e.gate = f.changedState(l.queue.host, l.Record.Origin)
	return e
}

// endFlight removes a lease from those in flight.
func (f *Frontier) endFlight(l *Lease) {
	h := l.queue.host
	h.live.land(l)
	f.inFlight--
	h.share.inFlight--
	f.leaves(h.share)
	for q := h.queues; q != nil; q = q.sibling {
		q.blocked = false
	}
}

// unread puts a lease's URL back into its queue's buffer.
func (f *Frontier) unread(l *Lease, check bool) {
	if l.queue.host.share.gone {
		return
	}
	l.queue.unread(&Lease{Place: l.Place, Key: l.Key, Seq: l.Seq, Record: l.Record, asOf: l.asOf, check: check})
	f.buffered++
}

// commit passes an outcome to the store, and updates memory with the result.
func (f *Frontier) commit(ctx context.Context, l *Lease, c *Completion, e ending, settled func(error)) {
	c.Key, c.Taken, c.Seq, c.Floor = l.Key, l.Place, l.Seq, e.floor
	c.Old, c.AsOf = &l.Record, l.asOf
	c.Host, c.Levels = e.host, l.set.Levels
	trace(c, &l.Record, time.Now())
	err := f.store.Complete(ctx, *c, func(is Completed) { settled(f.committed(l, c, e, is)) })
	if err != nil { // not accepted
		settled(f.committed(l, c, e, Completed{Err: err}))
	}
}

// committed updates memory after a commit or its failure.
func (f *Frontier) committed(l *Lease, c *Completion, e ending, is Completed) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := l.queue.host
	f.endFlight(l)
	places, err := is.Places, is.Err
	switch {
	case err == nil:
		f.stored(h, e)
		if !c.Forget && c.Next.State == Timed {
			f.dueBy(c.Next.NextAt)
		}
	case errors.Is(err, ErrNotFound):
		f.log.Info("a URL was removed or requeued while it was being fetched", "url", l.Record.URL)
		err = nil
	case h.share.gone: // the URL is still queued, wherever its part is now
		f.log.Debug("a page was not completed; its part was released", "url", l.Record.URL, "error", err)
		places, err = nil, nil
	case errors.Is(err, ErrChanged): // judged again by the stored record
		f.unread(l, true)
		f.dueBy(c.Next.NextAt)
		err = nil
	default:
		// It may still have been stored: the URL is looked up before it is handed out again, and every place
		// that may hold work is read.
		err = fmt.Errorf("completing %s: %w", l.Record.URL, err)
		f.unread(l, true)
		f.closeUntil(h, f.now()+int64(errorPause), ByStore)
		places = possiblePlaces(*c)
		f.dueBy(c.Next.NextAt)
	}
	f.announce(places)
	f.place(h, false)
	if f.inFlight == 0 {
		f.signal()
	}
	return err
}

// stored records that the store now has this state of a host.
func (f *Frontier) stored(h *host, e ending) {
	if e.host == nil {
		return
	}
	h.live.stored, h.live.storedGate = *e.host, e.gate
	h.live.stored.NextAt = time.Time{}
	if e.gate > 0 && e.gate == h.gate {
		h.unsaved = false
	}
}
