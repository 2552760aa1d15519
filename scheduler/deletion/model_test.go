package deletion_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// auditor checks and counts what is really stored.
type auditor struct {
	scheduler.Store
	t       *testing.T
	seed    uint64
	mu      *sync.Mutex
	deleted map[weburl.Key]int // orders to delete, by URL
}

func (a *auditor) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	if c.Old == nil || c.Old.URL != c.Next.URL && !c.Forget || c.Host != nil && c.Host.Origin == "" {
		a.t.Errorf("seed %d: completion without what it was made from: %+v", a.seed, c)
	}
	return a.Store.Complete(ctx, c, func(is scheduler.Completed) {
		if is.Err == nil {
			a.completed(&c)
		}
		settled(is)
	})
}

func (a *auditor) completed(c *scheduler.Completion) {
	if c.Order != nil && c.Order.Op == scheduler.OrderDelete && c.Order.Deletion == scheduler.NoDeletion {
		a.mu.Lock()
		a.deleted[c.Key]++
		a.mu.Unlock()
	}
	first, err := a.Queue(context.WithoutCancel(a.t.Context()), c.Taken, 0, 1)
	switch {
	case err != nil || len(first) == 0:
	case first[0].Seq < c.Floor:
		a.t.Errorf("seed %d: a URL waits in %v under %d, below the floor %d", a.seed, c.Taken, first[0].Seq, c.Floor)
	case c.Floor <= c.Seq && c.Floor == 0:
		a.t.Errorf("seed %d: no floor", a.seed)
	}
}

func (a *auditor) ReviseDeletions(ctx context.Context, keys []weburl.Key, fn func(scheduler.StoredDeletion, scheduler.Record) *scheduler.Revision) ([]scheduler.Place, int, error) {
	return a.Store.ReviseDeletions(ctx, keys, func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		v := fn(d, r)
		if v != nil && v.Move == scheduler.SendDeletion {
			a.mu.Lock()
			a.deleted[d.Key]++
			a.mu.Unlock()
		}
		return v
	})
}

// world is a site, what is known to have happened at it, and a crawler of it that
// is killed again and again.
type world struct {
	t     *testing.T
	seed  uint64
	store *storetest.Memory
	set   scheduler.Settings
	pages int
	gone  bool // every seventh page is
	stays bool // the crawler runs on when all is done

	mu      sync.Mutex
	rnd     *rand.Rand
	life    int // of the crawler
	deleted map[weburl.Key]int
	flying  map[weburl.Key]bool
	running map[weburl.HostKey]int
	ended   map[weburl.HostKey]time.Time
}

func (w *world) chance(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.IntN(n) == 0
}

func (w *world) page(i int) scheduler.Link {
	return storetest.Link(fmt.Sprintf("http://h%d.test/%d", i%8, i), scheduler.Source(i%5))
}

// request is one at the site; a kill of the crawler ends it there.
func (w *world) request(l *scheduler.Lease, life int, d time.Duration) {
	w.mu.Lock()
	if gap := time.Since(w.ended[l.Place.Host]); life == w.life && gap < throttle && !w.set.Aggressive {
		w.t.Errorf("seed %d: %v comes %v after the last request", w.seed, l.URL, gap)
	}
	if w.flying[l.Key] && life == w.life {
		w.t.Errorf("seed %d: %v is fetched twice at once", w.seed, l.URL)
	}
	if life == w.life {
		w.flying[l.Key] = true
	}
	w.mu.Unlock()
	time.Sleep(d)
	w.mu.Lock()
	if life == w.life {
		delete(w.flying, l.Key)
		w.ended[l.Place.Host] = time.Now()
	}
	w.mu.Unlock()
}

// answer is what the site says of page i.
func (w *world) answer(l *scheduler.Lease, i int) scheduler.Result {
	r := scheduler.Result{Status: 200, Decided: l.Record.Fifo}
	switch {
	case w.gone && i%7 == 3:
		return scheduler.Result{Status: 404, Decided: l.Record.Fifo}
	case i%11 == 5 && l.Record.Errors < 3 && w.chance(2):
		return scheduler.Result{Fault: fault.Timeout, Decided: l.Record.Fifo}
	}
	r.Document = &scheduler.Document{Hash: [16]byte{1}, Source: "s"}
	for _, next := range []int{2*i + 1, 2*i + 2, i / 2} {
		if next < w.pages {
			r.Links = append(r.Links, w.page(next))
		}
	}
	return r
}

func (w *world) visit(f *scheduler.Frontier, l *scheduler.Lease, life int) {
	var i int
	if _, err := fmt.Sscanf(l.URL.Path(), "/%d", &i); err != nil {
		w.t.Error(err)
	}
	if w.chance(20) {
		f.GiveBack(l, false, time.Time{})
		return
	}
	w.request(l, life, time.Duration(100+50*(i%10))*time.Millisecond)
	if w.chance(20) {
		f.GiveBack(l, true, time.Time{})
		return
	}
	r := w.answer(l, i)
	if err := f.Complete(w.t.Context(), l, r); err != nil && !errors.Is(err, errDisk) && !errors.Is(err, scheduler.ErrClosed) {
		w.t.Errorf("seed %d: Complete: %v", w.seed, err)
	}
}

// live runs a crawler until it has nothing to do or is killed after d.
func (w *world) live(d time.Duration, requeue []scheduler.Link) {
	w.mu.Lock()
	w.life++
	life := w.life
	w.mu.Unlock()
	fail := func(_ context.Context, method string) error {
		switch method {
		case "Complete", "Queue", "Due", "Lookup", "Host", "Revise", "ReviseDeletions", "Deletions", "Documents":
			if w.chance(25) {
				return errDisk
			}
		}
		return nil
	}
	audited := &auditor{w.store, w.t, w.seed, &w.mu, w.deleted}
	store, log := &storetest.Faulty{Store: audited, Before: fail, After: fail}, slog.New(slog.DiscardHandler)
	f := scheduler.New(store, w.set, log)
	owner := deletion.New(f, store, log)
	ctx, kill := context.WithCancel(w.t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = f.Run(ctx) }) // which cannot store its gates once it is killed
	all.Go(func() {
		if err := owner.Run(ctx); err != nil && !errors.Is(err, scheduler.ErrClosed) {
			w.t.Errorf("seed %d: deletions: %v", w.seed, err)
		}
	})
	for range 6 {
		all.Go(func() {
			for {
				l, err := f.Next(ctx)
				if err != nil {
					return
				}
				w.visit(f, l, life)
			}
		})
	}
	if len(requeue) > 0 {
		added := f.Busy()
		all.Go(func() {
			defer added()
			time.Sleep(w.between(0, 20*time.Second))
			_, _ = f.Add(ctx, requeue, true)
		})
	}
	done, cancel := context.WithTimeout(ctx, d)
	err := f.Drained(done)
	if w.stays {
		<-done.Done()
	}
	cancel()
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		w.t.Errorf("seed %d: Drained: %v", w.seed, err)
	}
	w.mu.Lock()
	w.life++ // requests that run are cut off
	for k := range w.flying {
		delete(w.flying, k)
	}
	for h := range w.ended {
		w.ended[h] = time.Now()
	}
	w.mu.Unlock()
	w.store = w.store.Reopen()
	kill()
	all.Wait()
}

func (w *world) between(least, most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return least + time.Duration(w.rnd.Int64N(int64(most-least)))
}

// TestModel crawls a random site with a store that fails and a crawler that is
// killed again and again. In the end each page is where it belongs, each deletion
// that was due was ordered once, no request was early, and none made twice at once.
func TestModel(t *testing.T) {
	for seed := range few(60) {
		synctest.Test(t, func(t *testing.T) { testModel(t, seed) })
	}
}

func testModel(t *testing.T, seed uint64) {
	const pages = 120
	set := scheduler.DefaultSettings()
	set.Aggressive = seed%2 == 1
	set.SmartRefresh = seed%3 == 1
	set.MinAge = time.Hour
	set.Brake.On = seed%4 >= 2
	w := &world{t: t, seed: seed, store: storetest.NewMemory(), set: set, pages: pages,
		rnd: rand.New(rand.NewPCG(seed, 1)), deleted: map[weburl.Key]int{},
		flying: map[weburl.Key]bool{}, running: map[weburl.HostKey]int{}, ended: map[weburl.HostKey]time.Time{}}
	if _, _, err := w.store.Add(t.Context(), []scheduler.Link{w.page(0)}, false); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		w.live(w.between(time.Second, 40*time.Second), nil)
	}
	for range 8 {
		w.live(time.Hour, nil)
		time.Sleep(7 * time.Hour) // until failed pages are tried again
	}
	w.gone = true
	var all []scheduler.Link
	for i := range pages {
		all = append(all, w.page(i))
	}
	for range 4 {
		w.live(w.between(time.Second, 40*time.Second), all[w.rnd.IntN(pages):])
	}
	if _, _, err := w.store.Add(t.Context(), all, true); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		w.live(time.Hour, nil)
		time.Sleep(7 * time.Hour)
	}
	w.stays = set.Brake.On // each start begins all rests again
	for range 3 {
		w.live(w.between(time.Minute, 40*time.Hour), nil)
	}
	w.live(60*time.Hour, nil)
	w.check(all)
}

func (w *world) check(all []scheduler.Link) {
	for i, l := range all {
		k := l.URL.Key()
		want := 0
		if i%7 == 3 {
			want = 1
		}
		if w.deleted[k] != want {
			w.t.Errorf("seed %d: %v: %d deletions, want %d", w.seed, l.URL, w.deleted[k], want)
		}
		r, err := w.store.Lookup(w.t.Context(), k)
		switch {
		case want == 1 && err == nil && r.Indexed:
			w.t.Errorf("seed %d: %v counts as indexed", w.seed, l.URL)
		case want == 0 && (err != nil || !r.Indexed):
			w.t.Errorf("seed %d: %v: %+v, %v; want it indexed", w.seed, l.URL, r, err)
		}
	}
	c, err := w.store.Counts(w.t.Context())
	if err != nil || c.Pending != [scheduler.Sources]uint64{} {
		w.t.Errorf("seed %d: %+v, %v; want nothing to wait", w.seed, c, err)
	}
}
