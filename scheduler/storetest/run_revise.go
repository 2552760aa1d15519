package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The goroutines of these tests revise and complete at once; each test waits for its own.

// revise applies one function to the URLs of links.
func (f *fixture) revise(fn func(scheduler.Record) *scheduler.Revision, links ...scheduler.Link) ([]scheduler.Place, int) {
	f.Helper()
	places, n, err := f.Revise(f.ctx, keysOfLinks(links...), func(k weburl.Key, r scheduler.Record) *scheduler.Revision {
		if u, err := weburl.Parse(r.URL); err != nil || u.Key() != k {
			f.Errorf("key %s came with the record of %s", k, r.URL)
		}
		return fn(r)
	})
	f.must(err)
	return places, n
}

// exclude lets a URL rest with status 760.
func exclude(r scheduler.Record) *scheduler.Revision {
	r.State, r.Class, r.Status, r.LastError = scheduler.AtRest, scheduler.Ignored, 760, "rule"
	return &scheduler.Revision{Next: r}
}

func reviseStates(f *fixture) {
	timed, w := f.put("http://a.test/timed", scheduler.Index)
	f.timed(w, time.Unix(1e9, 0))
	rests, w := f.put("http://a.test/rests", scheduler.Index)
	f.complete(completion(w))
	left, w := f.put("http://a.test/left", scheduler.Index)
	f.complete(completion(w))
	var want []scheduler.Record
	for _, l := range []scheduler.Link{timed, rests} {
		want = append(want, exclude(f.lookup(l)).Next)
	}
	want = append(want, f.lookup(left))
	places, n := f.revise(func(r scheduler.Record) *scheduler.Revision {
		if r.URL == left.URL.String() {
			return nil
		}
		return exclude(r)
	}, timed, rests, left)
	f.equal("changed", n, 2)
	f.equal("places", len(places), 0)
	for i, l := range []scheduler.Link{timed, rests, left} {
		f.equal(l.URL.String(), f.lookup(l), want[i])
	}
	_, next, err := f.Due(f.ctx, time.Unix(2e9, 0), scheduler.Refresh, 10)
	f.must(err)
	if !next.IsZero() || f.counts().Timed != 0 {
		f.Errorf("Due names %v and %d are timed, want nothing", next, f.counts().Timed)
	}
	// A revision can also let a URL wait for a time.
	f.revise(func(r scheduler.Record) *scheduler.Revision {
		r.State, r.NextAt = scheduler.Timed, time.Unix(1e9, 0)
		return &scheduler.Revision{Next: r}
	}, left)
	f.reopen()
	places, _, err = f.Due(f.ctx, time.Unix(1e9, 0), scheduler.Refresh, 10)
	f.must(err)
	f.equal("places that are due", len(places), 1)
	f.waiting(left)
}

func reviseWaiting(f *fixture) {
	waits, w := f.put("http://a.test/waits", scheduler.Index)
	due, d := f.put("http://a.test/due", scheduler.Index)
	f.timed(d, time.Unix(1e9, 0))
	_, _, err := f.Due(f.ctx, time.Unix(1e9, 0), scheduler.Refresh, 10)
	f.must(err)
	before := f.counts()
	_, n := f.revise(func(r scheduler.Record) *scheduler.Revision {
		f.Errorf("fn was asked about %s, which waits", r.URL)
		return exclude(r)
	}, waits, due, f.link("http://a.test/stranger", scheduler.Index))
	f.equal("changed", n, 0)
	f.equal("Counts", f.counts(), before)
	f.complete(completion(w)) // its place in the queue is as it was
	f.waiting(due)
}

func reviseRequeue(f *fixture) {
	first, _ := f.put("http://a.test/first", scheduler.Follow)
	l, w := f.put("http://a.test/1", scheduler.Index)
	f.complete(completion(w))
	want := f.lookup(l)
	want.State, want.Source, want.Fifo = scheduler.Waiting, scheduler.Follow, scheduler.Follow
	places, n := f.revise(func(r scheduler.Record) *scheduler.Revision {
		r.State, r.Source, r.Fifo, r.Seq = scheduler.Waiting, scheduler.Follow, scheduler.Follow, 0
		return &scheduler.Revision{Next: r}
	}, l)
	f.equal("changed", n, 1)
	f.equal("places", places, []scheduler.Place{placeOfLink(first)})
	f.equal("queue", keysOf(f.queue(placeOfLink(first))), keysOfLinks(first, l))
	f.equal("record", f.lookup(l), want)
	f.complete(completion(f.waiting(l)))
}

func reviseOrders(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	c := completion(w)
	c.Next.Indexed = true
	c.Order = &scheduler.Order{Op: scheduler.OrderAdd, Body: []byte("{}")}
	f.complete(c)
	step := func(indexed, cancel bool, o *scheduler.Order, want scheduler.OutboxCounts) {
		f.Helper()
		f.revise(func(r scheduler.Record) *scheduler.Revision {
			r.Indexed = indexed
			return &scheduler.Revision{Next: r, Order: o, CancelDeletion: cancel}
		}, l)
		f.equal("outbox", f.counts().Outbox, want)
		if f.lookup(l).Indexed != indexed {
			f.Errorf("Indexed is not %t", indexed)
		}
	}
	deletion := &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("{}")}
	step(true, true, nil, scheduler.OutboxCounts{Waiting: 1}) // it is not pending
	step(true, false, replacing(0), scheduler.OutboxCounts{Waiting: 1, Pending: 1})
	step(true, true, nil, scheduler.OutboxCounts{Waiting: 1})
	step(true, false, leaving(0), scheduler.OutboxCounts{Waiting: 1, Pending: 1})
	step(false, true, deletion, scheduler.OutboxCounts{Waiting: 1})
}

func reviseForgets(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	c := completion(w)
	c.Next.Indexed, c.Order = true, leaving(0)
	f.complete(c)
	waits, _ := f.put("http://a.test/waits", scheduler.Index)
	_, n := f.revise(func(r scheduler.Record) *scheduler.Revision {
		return &scheduler.Revision{Next: r, Forget: true, Gone: &scheduler.Gone{URL: r.URL, At: time.Unix(1e9, 0)}}
	}, l, waits)
	f.equal("changed", n, 1)
	if _, err := f.Lookup(f.ctx, l.URL.Key()); !errors.Is(err, scheduler.ErrNotFound) {
		f.Errorf("Lookup = %v, want ErrNotFound", err)
	}
	f.equal("outbox", f.counts().Outbox, scheduler.OutboxCounts{})
	f.equal("documents", f.documents(l), 0)
	f.waiting(waits)
	f.put("http://a.test/1", scheduler.Index)
}

// many is more URLs than fit into one transaction of Badger with the smallest memtables, 1,638 entries: each has two or
// more.
func many() int {
	if testing.Short() {
		return 1_000
	}
	return 2_000
}

// reviseMany revises more URLs than fit into one transaction.
func reviseMany(f *fixture) {
	n := many()
	_, page := f.put("http://a.test/sitemap.xml", scheduler.Index)
	c := completion(page)
	for i := range n {
		c.Links = append(c.Links, f.link(fmt.Sprint("http://a.test/p", i), scheduler.Follow))
	}
	f.complete(c)
	for _, w := range f.queue(placeOfLink(c.Links[0])) {
		f.complete(completion(w))
	}
	_, changed := f.revise(func(r scheduler.Record) *scheduler.Revision {
		v := exclude(r)
		v.Order = &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("{}")}
		return v
	}, c.Links...)
	f.equal("changed", changed, n)
	f.equal("outbox", f.counts().Outbox.Waiting, uint64(n))
	f.equal("excluded", f.counts().ByClass[scheduler.Ignored], uint64(n))
}

// reviseConcurrent revises URLs while others complete them and queue them again:
// none is lost, and a revision never meets a URL that waits.
func reviseConcurrent(f *fixture) {
	const urls, rounds = 12, 40
	var links []scheduler.Link
	for i := range urls {
		l, _ := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		links = append(links, l)
	}
	place := placeOfLink(links[0])
	var wg sync.WaitGroup
	wg.Go(func() {
		for range rounds {
			waiting, err := f.Queue(f.ctx, place, 0, urls)
			if err != nil {
				f.Errorf("Queue: %v", err)
			}
			for _, w := range waiting {
				if _, err := scheduler.CompleteAndWait(f.ctx, f, completion(w)); err != nil {
					f.Errorf("Complete: %v", err) // nobody else takes URLs out of the queue
				}
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			for range rounds {
				_, _, err := f.Revise(f.ctx, keysOfLinks(links...), func(_ weburl.Key, r scheduler.Record) *scheduler.Revision {
					if r.State == scheduler.Waiting {
						f.Errorf("%s waits", r.URL)
					}
					r.State, r.Source = scheduler.Waiting, scheduler.Index
					r.Errors++
					return &scheduler.Revision{Next: r}
				})
				if err != nil {
					f.Errorf("Revise: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for _, l := range links {
		if r := f.lookup(l); r.State == scheduler.Waiting {
			f.waiting(l)
		}
	}
	f.equal("known", f.counts().Known, uint64(urls))
}
