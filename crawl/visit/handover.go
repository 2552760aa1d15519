package visit

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/trace"
	"github.com/sextant-crawler/sextant/scheduler"
)

// A worker hands the outcome of its page over and goes on with the next one. What follows when
// it is stored happens in the goroutine of the store that tells of it, for all pages of a
// commit; only what waits for the store again has a goroutine of its own. The mutex of
// handedOver guards the pages in flight, and is taken when a page is handed over, when it has ended, and to
// tell of the oldest.

const (
	// HandedMost and handedBytes limit the pages whose outcomes are being stored. More than a few commits' worth brings no
	// gain.
	HandedMost  = 512
	handedBytes = 16 << 20
	// linkBytes is the approximate memory of a link.
	linkBytes = 512
)

// handedOver tracks the pages whose outcomes are being stored.
type handedOver struct {
	after sync.WaitGroup // goroutines of pages that wait for the store again

	mu    sync.Mutex
	room  sync.Cond // on mu: there is room
	empty sync.Cond // on mu: no outcome is being stored
	pages list.List // of time.Time, the oldest first
	bytes int
	most  int // pages at once
	load  int // bytes at once
}

func newHandedOver() *handedOver {
	h := &handedOver{most: HandedMost, load: handedBytes}
	h.room.L, h.empty.L = &h.mu, &h.mu
	return h
}

// begin counts a page of n bytes until end.
func (h *handedOver) begin(n int) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	page := h.pages.PushBack(time.Now())
	h.bytes += n
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.pages.Remove(page)
		h.bytes -= n
		h.room.Signal()
		if h.pages.Len() == 0 {
			h.empty.Broadcast()
		}
	}
}

// awaitRoom waits until there is room for one more page.
func (h *handedOver) awaitRoom() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.pages.Len() >= h.most || h.bytes >= h.load {
		h.room.Wait()
	}
	h.room.Signal() // and for another one, until it is there
}

// oldest returns the time since the earliest of these pages was handed over.
func (h *handedOver) oldest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if first := h.pages.Front(); first != nil {
		return time.Since(first.Value.(time.Time))
	}
	return 0
}

// wait waits until no outcome is being stored.
func (h *handedOver) wait() {
	h.mu.Lock()
	for h.pages.Len() > 0 {
		h.empty.Wait()
	}
	h.mu.Unlock()
	h.after.Wait()
}

// AwaitRoom waits while so many outcomes are being stored that no more pages should be fetched. A worker calls it
// without a URL: one page for each worker is not counted by the limits.
func (r *Visitor) AwaitRoom() { r.handed.awaitRoom() }

// AwaitStored waits until all pages that were handed over have ended.
func (r *Visitor) AwaitStored() { r.handed.wait() }

// Storing returns the age of the oldest outcome that is not stored yet, or 0.
func (r *Visitor) Storing() time.Duration { return r.handed.oldest() }

// sizeOf estimates the memory of an outcome.
func sizeOf(r *scheduler.Result) int {
	n := linkBytes * (1 + len(r.Links))
	if r.Document != nil {
		n += len(r.Document.Body)
	}
	return n
}

// outcome completes the outcome of the visit with the data that it was based on.
func (v *visit) outcome(ctx context.Context, s *step) error {
	r := s.outcome
	if v.log.Enabled(ctx, slog.LevelDebug) {
		v.log.Debug("page", "url", v.lease.URL.String(), "status", r.Status, "links", len(r.Links),
			"document", r.Document != nil, "words", r.Words)
	}
	r.RulesVersion = v.policy.Version
	if v.lease.Record.Kind.IsSource() {
		r.RulesVersion = v.policy.SourceVersion(v.lease.Key)
	}
	if v.verdict.Inside() {
		r.Decided = policy.FifoOf(v.verdict.Decision)
	}
	return v.visitor.trial.completed(r)
}

// handOver passes the outcome to the frontier. ended is called when it is stored and its consequences are complete.
func (v *visit) handOver(ctx context.Context, s *step, ended func(error)) {
	if s.response != nil {
		s.status = s.response.Status
		s.response.Release() // it is read, and its relevant part copied
		s.response = nil
	}
	end := v.visitor.handed.begin(sizeOf(s.outcome))
	busy := v.frontier.Busy()
	// A page that was fetched is committed even while the service stops.
	ctx = context.WithoutCancel(ctx)
	ctx, storing := trace.Start(ctx, "store")
	finish := func(err error) {
		storing.End(err)
		traced(v, err)
		v.visitor.copies.Abandon(v.lease.Key)
		ended(err)
		busy()
		end()
	}
	v.slot = nil // the worker keeps using it
	v.frontier.HandOver(ctx, v.lease, *s.outcome, func(err error) { v.stored(ctx, s, err, finish) })
}

// stored handles the consequences when the outcome is stored, or has failed. It does not wait for the store: anything
// that does, also when other rules came into force, runs in a separate goroutine.
func (v *visit) stored(ctx context.Context, s *step, err error, finish func(error)) {
	var copied, named func(context.Context) error
	if err == nil {
		v.meter.Outcomes.Count(v.lease.Effect())
		v.logFetched(s)
		v.logRoot(s.outcome)
		named = v.reconsider(s.outcome)
		if s.outcome.Document == nil || !v.lease.Effect().Pending { // else the index has the old text
			copied = v.visitor.copies.Settle(v.lease, s.outcome)
		}
	}
	if copied == nil && named == nil && v.visitor.sites.InForce().Policy == v.began {
		finish(err)
		return
	}
	v.visitor.handed.after.Go(func() {
		for _, do := range [...]func(context.Context) error{copied, named} {
			if do != nil {
				err = errors.Join(err, do(ctx))
			}
		}
		finish(err)
	})
}
