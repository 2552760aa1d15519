package crawl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// heldStore keeps the outcomes of pages back.
type heldStore struct {
	Store
	*storetest.Held
}

// Complete implements scheduler.Store.
func (h heldStore) Complete(ctx context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	return h.Held.Complete(ctx, c, settled)
}

// hold has the store of the crawl keep outcomes back, after the first ones.
func (w *world) hold(after int) (held func() *storetest.Held) {
	var h *storetest.Held
	w.wrap = func(s Store) Store {
		h = storetest.Hold(s, after)
		return heldStore{s, h}
	}
	return func() *storetest.Held { return h }
}

// asked is how many pages were asked for, and of these how many more than once.
func (w *world) asked() (n, twice int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	times := map[string]int{}
	for _, u := range w.visits {
		times[u]++
	}
	for _, n := range times {
		twice += n - 1
	}
	return len(times), twice
}

// TestFetchingDoesNotWaitForTheStore: workers go on while outcomes are kept back; until they are stored
// their URLs stand in their queue, and nobody fetches them again.
func TestFetchingDoesNotWaitForTheStore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.site(hostA, 30)
		held := w.hold(1)
		w.begin()
		time.Sleep(time.Minute)
		if n, twice := w.asked(); n != 31 || twice != 0 {
			t.Errorf("two workers asked for %d pages while nothing was stored, %d twice; want 31", n, twice)
		}
		c, err := w.store.Counts(t.Context())
		if err != nil || c.Pending[scheduler.IndexFollow]+c.Pending[scheduler.Index] != 30 || held().Len() != 30 {
			t.Errorf("%d are held, waiting in queues: %v, %v; want 30", held().Len(), c.Pending, err)
		}
		if code, _ := w.crawl.idle(w.crawl.frontier.Snapshot(), w.crawl.meter.Activities.Snapshot()); code != IdleStoreSlow {
			t.Errorf("the workers wait because of %q, want %q", code, IdleStoreSlow)
		}
		held().Release()
		w.quiet()
		w.wantDocuments("documents", urls)
		w.end()
		if n, twice := w.asked(); n != 31 || twice != 0 {
			t.Errorf("in the end %d pages were asked for, %d twice", n, twice)
		}
	}, hostA+"/")
}

// TestHandedOverIsBounded: no more is fetched than the bound and a page a worker while nothing is stored.
func TestHandedOverIsBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings.Workers = 3
		w.site(hostA, visit.HandedMost+50)
		held := w.hold(1)
		w.begin()
		time.Sleep(time.Hour)
		n, _ := w.asked()
		if most := visit.HandedMost + w.settings.Workers; held().Len() < visit.HandedMost || held().Len() > most || n != held().Len()+1 {
			t.Errorf("%d outcomes are on their way, %d pages asked for; want from %d to %d", held().Len(), n, visit.HandedMost, most)
		}
		held().Release()
		w.quiet()
		w.end()
		if n, twice := w.asked(); n != visit.HandedMost+51 || twice != 0 {
			t.Errorf("in the end %d pages were asked for, %d twice", n, twice)
		}
	}, hostA+"/")
}

// TestStopStoresWhatWasHandedOver: Run does not end before the outcomes on their way are stored.
func TestStopStoresWhatWasHandedOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.site(hostA, 20)
		held := w.hold(1)
		w.begin()
		time.Sleep(time.Minute)
		w.crawl.Stop()
		time.Sleep(time.Hour)
		select {
		case err := <-w.ended:
			t.Fatalf("the crawl ended with %d outcomes on their way: %v", held().Len(), err)
		default:
		}
		held().Release()
		w.end()
		w.wrap = nil
		w.open()
		for _, u := range urls {
			if r := w.record(u); r == nil || !r.Indexed {
				t.Errorf("%s: %+v, want it stored", u, r)
			}
		}
		w.close()
	}, hostA+"/")
}

// TestFailedCommitEndsTheCrawl: when the store cannot go on, the crawl ends with its error, though
// no worker waits for that page; after a restart nothing is missing.
func TestFailedCommitEndsTheCrawl(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.site(hostA, 20)
		held := w.hold(1)
		w.begin()
		time.Sleep(time.Minute)
		held().Fail(fmt.Errorf("a test: %w", scheduler.ErrFull))
		if err := <-w.ended; !errors.Is(err, scheduler.ErrFull) {
			t.Errorf("the crawl ends with %v, want ErrFull", err)
		}
		w.ended = nil
		w.close()
		w.wrap = nil
		if err := w.once(); err != nil {
			t.Error(err)
		}
		w.wantDocuments("documents after a restart", urls)
	}, hostA+"/")
}

// TestPassingFailureIsTriedAgain: an error of the store that may pass is told, and its page
// comes again.
func TestPassingFailureIsTriedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.site(hostA, 3)
		held := w.hold(1)
		w.begin()
		time.Sleep(time.Second)
		held().Fail(errors.New("a test's error"))
		w.quiet()
		w.end()
		w.wantDocuments("documents", urls)
		if n := strings.Count(w.logged.String(), "page not completed"); n != 3 {
			t.Errorf("%d errors are told, want 3", n)
		}
	}, hostA+"/")
}

// TestMaxPagesCountsWhatIsStored: pages on their way into the store count.
func TestMaxPagesCountsWhatIsStored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings.Workers = 4
		w.site(hostA, 30)
		held := w.hold(1)
		w.open()
		ended := make(chan error, 1)
		go func() { ended <- w.crawl.Run(t.Context(), Once{MaxPages: 10}) }()
		time.Sleep(time.Minute)
		if n, twice := w.asked(); n != 10 || twice != 0 {
			t.Errorf("%d pages were asked for, %d twice; want 10", n, twice)
		}
		held().Release()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := len(w.index()); n != 10 {
			t.Errorf("%d documents, want 10", n)
		}
		w.close()
		if n, _ := w.asked(); n != 10 {
			t.Errorf("in the end %d pages were asked for, want 10", n)
		}
	}, hostA+"/")
}

// TestRulesChangeWhileOutcomesAreStored: what was judged by old rules is judged again when
// it is stored, and the rules' change counts as done only then.
func TestRulesChangeWhileOutcomesAreStored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.site(hostA, 10)
		out := hostA + "/p003.html"
		held := w.hold(1)
		w.begin()
		time.Sleep(time.Minute)
		w.settings.Space.Exclude = text("/p003.html")
		w.reload()
		time.Sleep(time.Minute)
		if s := w.status(); s.Rules == nil || !s.Rules.Running {
			t.Errorf("%+v: the change of the rules counts as done while pages are judged by the old ones", s.Rules)
		}
		held().Release()
		w.quiet()
		time.Sleep(48 * time.Hour) // deletions rest
		w.end()
		var want []string
		for _, u := range urls {
			if u != out {
				want = append(want, u)
			}
		}
		w.wantDocuments("documents", want)
	}, hostA+"/")
}
