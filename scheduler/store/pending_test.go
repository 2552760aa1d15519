package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
	"github.com/sextant-crawler/sextant/weburl"
)

// eachDeletion calls fn for the pending losses, oldest first, with their bodies.
func eachDeletion(ctx context.Context, s *Store, fn func(push.Entry, scheduler.StoredDeletion) error) error {
	return s.viewBodies(ctx, func(view kv.View, r *segments.Reader) error {
		keys, err := s.deletionKeys(ctx, view, &scheduler.DeletionFilter{}, nil)
		if err != nil {
			return err
		}
		return s.eachOrder(ctx, view, keys, func(key, value []byte) error {
			seq, k, o, err := s.order(key, value)
			if err != nil {
				return err
			}
			e := o.Entry(seq)
			if e.Body, e.Damage, err = r.Body(&o); err != nil {
				return err
			}
			p, _, err := record.SplitDeletionKey(key)
			if err != nil {
				return err
			}
			return fn(e, o.Listed(k, p))
		})
	})
}

// deletionsOf returns the keys of the losses that a filter selects.
func deletionsOf(ctx context.Context, s *Store, f scheduler.DeletionFilter) (keys []weburl.Key, err error) {
	err = s.PendingDeletions(ctx, f, func(d scheduler.StoredDeletion) error { keys = append(keys, d.Key); return nil })
	return keys, err
}

// release carries out the losses that a filter selects.
func release(ctx context.Context, s *Store, f scheduler.DeletionFilter) (int, error) {
	keys, err := deletionsOf(ctx, s, f)
	if err != nil {
		return 0, err
	}
	_, n, err := s.ReviseDeletions(ctx, keys, func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if r.Indexed, r.Hash = d.Replaces, d.Hash; !d.Replaces {
			r.PushedSource = ""
		}
		return &scheduler.Revision{Next: r, Move: scheduler.SendDeletion}
	})
	return n, err
}

// dropDeletions cancels those that a filter selects, and has their URLs asked again.
func dropDeletions(ctx context.Context, s *Store, f scheduler.DeletionFilter) ([]scheduler.Place, int, error) {
	keys, err := deletionsOf(ctx, s, f)
	if err != nil {
		return nil, 0, err
	}
	return s.ReviseDeletions(ctx, keys, func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if r.State != scheduler.Waiting {
			r.State, r.Source = scheduler.Waiting, scheduler.Refresh
		}
		return &scheduler.Revision{Next: r, CancelDeletion: true}
	})
}

// markDeletions notes of those that a filter selects that their hosts answer well.
func markDeletions(ctx context.Context, s *Store, f scheduler.DeletionFilter) (int, error) {
	keys, err := deletionsOf(ctx, s, f)
	if err != nil {
		return 0, err
	}
	_, n, err := s.ReviseDeletions(ctx, keys, func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		return &scheduler.Revision{Next: r, Move: scheduler.MarkWell}
	})
	return n, err
}

// pendingDeletion returns the order of a deletion that is pending, pendingText that of a new text.
func pendingDeletion(edit uint64) *scheduler.Order {
	loss := scheduler.NewLoss(true, time.Unix(1e9, 0).UTC())
	return &scheduler.Order{
		Op: scheduler.OrderDelete, Body: []byte("gone"), Loss: &loss, Day: 24 * time.Hour,
		Edit: edit, Reason: scheduler.ReasonNotFound, Text: "status 404",
	}
}

func pendingText(body string) *scheduler.Order {
	loss := scheduler.NewLoss(false, time.Unix(1e9, 0).UTC())
	loss.Hash, loss.Sketch.Title = [16]byte{1, 15: byte(len(body))}, 5
	return &scheduler.Order{
		Op: scheduler.OrderAdd, Source: "src", Body: []byte(body), Loss: &loss, Day: 24 * time.Hour,
		Reason: scheduler.ReasonNewText, Text: "another text",
	}
}

// pending returns the losses by URL, with their bodies.
func (b bench) pending() map[string]string {
	b.Helper()
	all := map[string]string{}
	b.must(eachDeletion(b.Context(), b.s, func(e push.Entry, _ scheduler.StoredDeletion) error {
		all[e.URL] = strings.TrimRight(string(e.Body), ".") + e.Damage
		return nil
	}))
	return all
}

func TestRelease(t *testing.T) {
	b := newBench(t, "x")
	for i := range 4 {
		b.crawl(fmt.Sprintf("http://a.test/%d", i), pendingDeletion(0), indexed)
	}
	b.must(b.s.Forget(t.Context(), parse(t, "http://a.test/3").Key(), nil))
	b.wantCounts(scheduler.OutboxCounts{Pending: 3})
	n, err := release(t.Context(), b.s, scheduler.DeletionFilter{URLs: []string{"http://a.test/1", "http://unknown.test/"}})
	if err != nil || n != 1 {
		t.Fatalf("release of one: %d, %v", n, err)
	}
	if b.record("http://a.test/1").Indexed || !b.record("http://a.test/0").Indexed {
		t.Error("the released URL alone must not be indexed any more")
	}
	if d := cmp.Diff(map[string]string{"http://a.test/0": "gone", "http://a.test/2": "gone"}, b.pending()); d != "" {
		t.Errorf("pending: %s", d)
	}
	if n, err = release(t.Context(), b.s, scheduler.DeletionFilter{}); err != nil || n != 2 {
		t.Fatalf("release of all: %d, %v", n, err)
	}
	b.wantWaiting("5 delete http://a.test/1 gone", "6 delete http://a.test/0 gone", "7 delete http://a.test/2 gone")
	if c, err := b.s.Counts(t.Context()); err != nil || c.Indexed != 0 {
		t.Errorf("Counts: %+v, %v", c, err)
	}
}

func TestDropDeletions(t *testing.T) {
	b := newBench(t, "x")
	waits := func(c *scheduler.Completion) { c.Next.State, c.Next.Source = scheduler.Waiting, scheduler.User }
	b.crawl("http://a.test/1", pendingDeletion(0), indexed)
	b.crawl("http://a.test/2", pendingDeletion(0), indexed, waits)
	places, n, err := dropDeletions(t.Context(), b.s, scheduler.DeletionFilter{URLs: []string{"http://a.test/1"}})
	if err != nil || n != 1 {
		t.Fatalf("drop: %d, %v", n, err)
	}
	rec := b.record("http://a.test/1")
	if rec.State != scheduler.Waiting || rec.Source != scheduler.Refresh || !rec.Indexed || rec.LossPending {
		t.Errorf("record: %+v", rec)
	}
	if d := cmp.Diff([]scheduler.Place{placeOf(&rec)}, places); d != "" {
		t.Errorf("places: %s", d)
	}
	if places, n, err = dropDeletions(t.Context(), b.s, scheduler.DeletionFilter{}); err != nil || n != 1 || len(places) != 0 {
		t.Fatalf("drop of all: %v, %d, %v", places, n, err)
	}
	if rec := b.record("http://a.test/2"); rec.Source != scheduler.User {
		t.Errorf("a URL that waits was moved: %+v", rec)
	}
	b.wantCounts(scheduler.OutboxCounts{})
}

// A pending loss stands beside the waiting document, which reaches its target, and stays there if the loss is
// cancelled; the loss is invisible before it is carried out.
func TestPendsBesideADocument(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://a.test/1", document("one"))
	b.crawl("http://a.test/1", pendingDeletion(0), indexed)
	b.wantWaiting("1 add http://a.test/1 one")
	b.must(b.o.Safe(t.Context(), "x", 1))
	b.wantCounts(scheduler.OutboxCounts{Pending: 1})
	b.crawl("http://a.test/1", document("two"))
	b.wantWaiting("3 add http://a.test/1 two")
	b.crawl("http://a.test/1", pendingDeletion(7), indexed)
	if n, err := release(t.Context(), b.s, scheduler.DeletionFilter{}); n != 1 || err != nil {
		t.Fatalf("release: %d, %v", n, err)
	}
	b.wantWaiting("5 delete http://a.test/1 gone")
	b.must(b.o.Safe(t.Context(), "x", 5))
	b.wantCounts(scheduler.OutboxCounts{})
	// A document that comes in the place of a deletion under another source tells of it.
	moved := func(source string) bool {
		b.crawl("http://a.test/2", pendingDeletion(0), indexed, func(c *scheduler.Completion) { c.Order.Source = source })
		b.crawl("http://a.test/2", document("back"))
		entries, err := b.o.Entries(t.Context(), 0, 10, 1<<20)
		b.must(err)
		return entries[0].Moved
	}
	if moved("src") || !moved("other") {
		t.Error("the document does not tell whether it was elsewhere before")
	}
}

// TestPendingAreListed: the outbox lists what is pending, by state and URL.
func TestPendingAreListed(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://b.test/1", pendingDeletion(0), indexed)
	b.crawl("http://a.test/2", pendingDeletion(9), indexed)
	b.crawl("http://a.test/3", pendingText("three"))
	b.crawl("http://a.test/4", document("four"))
	list := func(s push.Selection) (orders []string) {
		b.must(b.s.Orders(t.Context(), s, func(l push.Listed) error {
			orders = append(orders, fmt.Sprintln(l.State, l.Op, l.URL, l.Bytes))
			return nil
		}))
		return orders
	}
	waits := "waiting add http://a.test/4 4\n"
	pending := []string{"pending delete http://b.test/1 4\n", "pending delete http://a.test/2 4\n", "pending add http://a.test/3 5\n"}
	for _, c := range []struct {
		s    push.Selection
		want []string
	}{
		{push.Selection{}, append([]string{waits}, pending...)},
		{push.Selection{State: push.Pending}, pending},
		{push.Selection{State: push.Waiting}, []string{waits}},
		{push.Selection{URLs: []string{"http://a.test/4", "http://a.test/3"}}, []string{waits, pending[2]}},
	} {
		if d := cmp.Diff(c.want, list(c.s)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c.s, d)
		}
	}
}

// TestReviseDeletionsAsksAgain: a concurrent change makes fn be called again.
func TestReviseDeletionsAsksAgain(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://a.test/1", pendingDeletion(0), indexed)
	b.crawl("http://a.test/2", pendingText("two"))
	keys, err := deletionsOf(t.Context(), b.s, scheduler.DeletionFilter{})
	b.must(err)
	var well []uint8
	_, n, err := b.s.ReviseDeletions(t.Context(), keys, func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if well = append(well, d.WellDay); len(well) == 1 { // outside of the committer
			_, err := markDeletions(t.Context(), b.s, scheduler.DeletionFilter{URLs: []string{"http://a.test/1"}})
			b.must(err)
			_, _, err = dropDeletions(t.Context(), b.s, scheduler.DeletionFilter{URLs: []string{"http://a.test/2"}})
			b.must(err)
		}
		r.Misses++
		return &scheduler.Revision{Next: r, Move: scheduler.MarkWell}
	})
	if err != nil || n != 1 {
		t.Errorf("%d changed, %v; want one", n, err)
	}
	if d := cmp.Diff([]uint8{0, 0, 1}, well); d != "" {
		t.Errorf("asked about (-want +got):\n%s", d)
	}
	b.wantCounts(scheduler.OutboxCounts{Pending: 1})
}

// What was pending for days counts as an order from when it is carried out, not from when it was seen.
func TestPendingOrderIsNew(t *testing.T) {
	b := newBench(t, "x")
	const url = "http://a.test/1"
	b.crawl(url, pendingText("one"))
	k := parse(t, url).Key()
	p, o, err := b.s.deletionOf(k, func(key []byte) ([]byte, error) {
		view := b.s.kv.View()
		defer view.Close()
		return view.Get(key)
	})
	b.must(err)
	o.At = time.Unix(1000, 0).UTC() // as if that had been long ago
	put(t, b.s, p.Key(k), o.Append(nil))
	begin := time.Now().Truncate(time.Second)
	_, err = release(t.Context(), b.s, scheduler.DeletionFilter{})
	b.must(err)
	f, err := b.s.OutboxFigures(t.Context())
	b.must(err)
	if f.Oldest.Before(begin) {
		t.Errorf("the oldest order that waits is of %v, want it not before %v", f.Oldest, begin)
	}
}
