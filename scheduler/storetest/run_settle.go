package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The goroutines of a test stand for workers; what was settled is guarded by calls of settled
// coming one at a time, which the race detector sees.

// settleOrder completes pages that each find the next one and stand for a number each.
func settleOrder(f *fixture) {
	const pages, workers = 120, 6
	var waiting []scheduler.WaitingURL
	for i := range pages {
		_, w := f.put(fmt.Sprintf("http://a.test/%d", i), scheduler.Index)
		waiting = append(waiting, w)
	}
	var settled []scheduler.WaitingURL // no mutex: calls come one at a time
	var running atomic.Int32
	var all, under sync.WaitGroup
	all.Add(pages)
	for n := range workers {
		under.Go(func() {
			for i := n; i < pages; i += workers {
				c := completion(waiting[i])
				c.Next.State = scheduler.Waiting // under a new number, which is the order of commits
				c.Links = []scheduler.Link{f.link(fmt.Sprintf("http://b.test/%d", i), scheduler.Index)}
				err := f.Complete(f.ctx, c, func(is scheduler.Completed) {
					defer all.Done()
					if running.Add(1) != 1 {
						f.Error("two completions are settled at once")
					}
					defer running.Add(-1)
					if is.Err != nil || len(is.Places) != 2 {
						f.Errorf("settled with %v, %v", is.Places, is.Err)
					}
					// What it tells of can be read, that of the link too.
					r, err := f.Lookup(f.ctx, c.Key)
					if _, other := f.Lookup(f.ctx, c.Links[0].URL.Key()); errors.Join(err, other) != nil {
						f.Errorf("settled, but not stored: %v, %v", err, other)
					}
					settled = append(settled, scheduler.WaitingURL{Key: c.Key, Seq: r.Seq})
				})
				if err != nil {
					all.Done()
					f.Error(err)
				}
			}
		})
	}
	under.Wait()
	all.Wait()
	for i := 1; i < len(settled); i++ {
		if settled[i-1].Seq >= settled[i].Seq {
			f.Fatalf("number %d was settled before number %d", settled[i-1].Seq, settled[i].Seq)
		}
	}
	if len(settled) != pages {
		f.Errorf("%d were settled, want %d", len(settled), pages)
	}
}

// settleRefused: one that is refused is settled, and the others are not held up by it.
func settleRefused(f *fixture) {
	_, first := f.put("http://a.test/1", scheduler.Index)
	_, second := f.put("http://a.test/2", scheduler.Index)
	done := make(chan error, 3)
	for _, w := range []scheduler.WaitingURL{first, first, second} {
		f.must(f.Complete(f.ctx, completion(w), func(is scheduler.Completed) { done <- is.Err }))
	}
	refused := 0
	for range 3 {
		if err := <-done; errors.Is(err, scheduler.ErrNotFound) {
			refused++
		} else if err != nil {
			f.Error(err)
		}
	}
	f.equal("refused", refused, 1)
}

// settleClose: all that was taken is settled, and stored, before the store is closed.
func settleClose(f *fixture) {
	const pages = 50
	settled := map[weburl.Key]bool{}
	for i := range pages {
		_, w := f.put(fmt.Sprintf("http://a.test/%d", i), scheduler.Index)
		f.must(f.Complete(f.ctx, completion(w), func(is scheduler.Completed) { settled[w.Key] = is.Err == nil }))
	}
	f.reopen()
	f.equal("settled", len(settled), pages)
	for k, ok := range settled {
		r, err := f.Lookup(f.ctx, k)
		f.must(err)
		if !ok || r.State != scheduler.AtRest {
			f.Errorf("%s: settled well: %t, stored as %v", r.URL, ok, r.State)
		}
	}
}

// settleContext: ctx bounds only the wait until a completion is taken.
func settleContext(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	ctx, cancel := context.WithCancel(f.ctx)
	done := make(chan error, 1)
	f.must(f.Complete(ctx, completion(w), func(is scheduler.Completed) { done <- is.Err }))
	cancel()
	f.must(<-done)
	f.equal("state", f.lookup(l).State, scheduler.AtRest)
	_, w = f.put("http://a.test/2", scheduler.Index)
	if err := f.Complete(ctx, completion(w), func(scheduler.Completed) { f.Error("settled, though not taken") }); !errors.Is(err, context.Canceled) {
		f.Errorf("Complete with a context that has ended = %v", err)
	}
}
