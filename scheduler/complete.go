package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// errEnded is a fault of the caller.
var errEnded = errors.New("the lease was ended before")

// Complete ends a lease with its result: what follows from it is decided and
// stored in one step. The request counts as ended when Complete is called. A URL
// that was removed or re-queued meanwhile has no outcome, which is no error. On an
// error of the store the URL is given out again after a pause if it still waits.
func (f *Frontier) Complete(ctx context.Context, l *Lease, r Result) error {
	now := time.Now()
	f.mu.Lock()
	if l.ended {
		f.mu.Unlock()
		return errEnded
	}
	set, h := f.set, l.queue.host
	if r.Excluded == nil {
		h.judge(&r, now)
		h.ended(set, now)
	}
	f.endRequest(l)
	state := h.state()
	f.mu.Unlock()

	c := outcome(&l.Record, &r, set, now, rand.Float64())
	if err := f.applyBrake(ctx, &c, &l.Record, set, now); err != nil {
		return f.committed(l, c, nil, err)
	}
	c.Host = state
	return f.commit(ctx, l, c)
}

// Wait ends a lease of a URL that cannot be fetched before a time, for a reason
// that tells nothing of the URL (robots.txt cannot be had): no error is counted
// and its class stays. A request to the host is taken to have been made.
func (f *Frontier) Wait(ctx context.Context, l *Lease, until time.Time, words string) error {
	f.mu.Lock()
	if l.ended {
		f.mu.Unlock()
		return errEnded
	}
	h := l.queue.host
	h.ended(f.set, time.Now())
	f.endRequest(l)
	state := h.state()
	f.mu.Unlock()
	c := Completion{Next: l.Record, Host: state}
	c.Next.State, c.Next.NextAt, c.Next.LastError = Timed, until, words
	return f.commit(ctx, l, c)
}

// GiveBack ends a lease without an outcome: the URL stands first in its queue
// again. requested says that a request was made to the host (for robots.txt), so
// that its gate closes for the throttle; it also stays closed until a time,
// unless that is zero.
func (f *Frontier) GiveBack(l *Lease, requested bool, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.ended {
		return
	}
	h := l.queue.host
	if requested {
		h.ended(f.set, time.Now())
	}
	if !until.IsZero() {
		h.unsaved = true
		h.closeUntil(until)
	}
	f.unread(l, false)
	f.inFlight--
	l.ended, h.greeted = true, true
	h.requests--
	f.place(h, true)
	f.signal()
}

// endRequest frees the host's connection before the outcome is committed: the
// commit may take longer than the pause.
func (f *Frontier) endRequest(l *Lease) {
	h := l.queue.host
	l.ended, h.greeted = true, true
	h.requests--
	f.place(h, false)
}

// unread puts a lease's URL back into its queue's buffer.
func (f *Frontier) unread(l *Lease, check bool) {
	l.queue.inFlight--
	l.queue.unread(buffered{WaitingURL{Key: l.Key, Seq: l.Seq, Record: l.Record}, check})
	f.buffered++
}

// applyBrake holds the completion's deletion if there are too many.
func (f *Frontier) applyBrake(ctx context.Context, c *Completion, old *Record, set *Settings, now time.Time) error {
	if c.Order == nil || c.Order.Op != OrderDelete || !set.Brake.On {
		return nil
	}
	counts, err := f.store.Counts(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	held := f.brake.admit(set.Brake, now, counts.Indexed)
	f.mu.Unlock()
	if held {
		hold(c, old)
		f.log.Warn("a deletion is held by the brake", "url", old.URL)
	}
	return nil
}

func (f *Frontier) commit(ctx context.Context, l *Lease, c Completion) error {
	c.Key, c.Taken, c.Seq = l.Key, l.Place, l.Seq
	places, err := f.store.Complete(ctx, c)
	return f.committed(l, c, places, err)
}

// committed takes over what a commit, or a failure of it, means in memory.
func (f *Frontier) committed(l *Lease, c Completion, places []Place, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := l.queue.host
	switch {
	case err == nil:
		h.unsaved = !h.nextAt.Equal(c.Host.NextAt)
		l.queue.inFlight--
		if !c.Forget && c.Next.State == Timed {
			f.dueBy(c.Next.NextAt)
		}
	case errors.Is(err, ErrNotFound):
		f.log.Info("a URL was removed or re-queued while it was fetched", "url", l.Record.URL)
		l.queue.inFlight--
		err = nil
	default:
		// All of it may be stored nevertheless: the URL is looked up before it is
		// given out again, and new work is looked for wherever there may be some.
		err = fmt.Errorf("completing %s: %w", l.Record.URL, err)
		f.unread(l, true)
		h.closeUntil(time.Now().Add(errorPause))
		places = possiblePlaces(c)
		f.dueBy(c.Next.NextAt)
	}
	f.inFlight--
	f.announce(places)
	f.place(h, false)
	if f.inFlight == 0 {
		f.signal()
	}
	return err
}

// possiblePlaces are those that a completion can bring work to.
func possiblePlaces(c Completion) []Place {
	places := linkPlaces(c.Links)
	if c.Next.State == Waiting {
		places = append(places, Place{Source: c.Next.Source, Host: c.Next.Host})
	}
	return places
}

func linkPlaces(links []Link) []Place {
	places := make([]Place, 0, len(links))
	for _, l := range links {
		places = append(places, Place{Source: l.Fifo, Host: l.URL.HostKey()})
	}
	return places
}

// Add makes links known that no page found, as Store.Add does, and gives how many
// URLs were new or re-queued.
func (f *Frontier) Add(ctx context.Context, links []Link, requeue bool) (int, error) {
	places, n, err := f.store.Add(ctx, links, requeue)
	if err != nil {
		places = linkPlaces(links)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if requeue {
		f.recheck(links)
	}
	f.announce(places)
	return n, err
}

// recheck marks buffered URLs of the refresh source that may have been re-queued
// from there.
func (f *Frontier) recheck(links []Link) {
	moved := map[weburl.Key]bool{}
	for _, l := range links {
		moved[l.URL.Key()] = true
	}
	for _, l := range links {
		h := f.hosts[l.URL.HostKey()]
		if h == nil || h.queues[Refresh] == nil {
			continue
		}
		for i := range h.queues[Refresh].buffer {
			b := &h.queues[Refresh].buffer[i]
			b.check = b.check || moved[b.Key]
		}
	}
}

// Announce makes work known that others brought into the store. A place that has
// none costs a read.
func (f *Frontier) Announce(places []Place) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announce(places)
}

// announce makes places known that got work. The mutex is held.
func (f *Frontier) announce(places []Place) {
	for _, p := range places {
		h := f.entry(p.Host, "")
		q := h.queues[p.Source]
		if q == nil {
			q = &queue{host: h, source: p.Source}
			h.queues[p.Source] = q
		}
		q.more = true
		q.announced++
		f.place(h, false)
	}
}

// entry is a host's entry, made if there is none.
func (f *Frontier) entry(key weburl.HostKey, origin string) *host {
	h := f.hosts[key]
	if h == nil {
		h = &host{key: key, origin: origin, nextAt: f.notBefore, heapIndex: -1}
		f.hosts[key] = h
	}
	return h
}

// dueBy makes Run look for due URLs by a time. The mutex is held.
func (f *Frontier) dueBy(t time.Time) {
	if t.IsZero() || !f.dueAt.IsZero() && !t.Before(f.dueAt) {
		return
	}
	f.dueAt = t
	if f.wakeAt.IsZero() || t.Before(f.wakeAt) {
		f.kickRun()
	}
}
