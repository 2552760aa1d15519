package badgerstore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
	"github.com/sextant-crawler/sextant/weburl"
)

// eachDeletion calls fn for the deletions that rest or are held, oldest first, with their
// bodies.
func eachDeletion(ctx context.Context, s *Store, fn func(push.Entry, scheduler.StoredDeletion) error) error {
	return s.viewBodies(ctx, func(txn *badger.Txn, r *segments.Reader) error {
		keys, err := s.deletionKeys(ctx, txn, &scheduler.DeletionFilter{}, nil)
		if err != nil {
			return err
		}
		return s.eachOrder(ctx, txn, keys, func(item *badger.Item) error {
			seq, k, o, err := s.order(item)
			if err != nil {
				return err
			}
			e := o.Entry(seq)
			if e.Body, e.Damage, err = r.Body(&o); err != nil {
				return err
			}
			p, _, err := record.SplitDeletionKey(item.Key())
			if err != nil {
				return err
			}
			return fn(e, o.Listed(k, p))
		})
	})
}

// deletionsOf are the keys of the deletions that a filter selects.
func deletionsOf(ctx context.Context, s *Store, f scheduler.DeletionFilter) (keys []weburl.Key, err error) {
	err = s.HeldDeletions(ctx, f, func(d scheduler.StoredDeletion) error { keys = append(keys, d.Key); return nil })
	return keys, err
}

// release lets the deletions that a filter selects leave.
func release(ctx context.Context, s *Store, f scheduler.DeletionFilter) (int, error) {
	keys, err := deletionsOf(ctx, s, f)
	if err != nil {
		return 0, err
	}
	_, n, err := s.ReviseDeletions(ctx, keys, func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		r.Indexed, r.Hash, r.PushedSource = false, [16]byte{}, ""
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

// moveDeletions holds those that a filter selects, or lets them rest.
func moveDeletions(ctx context.Context, s *Store, f scheduler.DeletionFilter, m scheduler.DeletionMove) (int, error) {
	keys, err := deletionsOf(ctx, s, f)
	if err != nil {
		return 0, err
	}
	_, n, err := s.ReviseDeletions(ctx, keys, func(_ scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		return &scheduler.Revision{Next: r, Move: m, Hold: scheduler.HeldForAll}
	})
	return n, err
}

var heldAlone = scheduler.DeletionFilter{State: scheduler.DeletionHeld}

// restingOrder is that of a deletion that rests.
func restingOrder(edit uint64) *scheduler.Order {
	return &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("gone"), Deletion: scheduler.DeletionResting, Edit: edit, Reason: scheduler.ReasonNotFound, Text: "status 404"}
}

func TestRelease(t *testing.T) {
	b := newBench(t, "x")
	for i := range 4 {
		b.crawl(fmt.Sprintf("http://a.test/%d", i), deletion(true), indexed)
	}
	b.must(b.s.Forget(t.Context(), parse(t, "http://a.test/3").Key(), nil))
	b.wantCounts(scheduler.OutboxCounts{Held: 3})
	n, err := release(t.Context(), b.s, scheduler.DeletionFilter{URLs: []string{"http://a.test/1", "http://unknown.test/"}})
	if err != nil || n != 1 {
		t.Fatalf("release of one: %d, %v", n, err)
	}
	if b.record("http://a.test/1").Indexed || !b.record("http://a.test/0").Indexed {
		t.Error("the released URL alone must not be indexed any more")
	}
	if d := cmp.Diff([]string{"http://a.test/0", "http://a.test/2"}, b.held()); d != "" {
		t.Errorf("held: %s", d)
	}
	if n, err = release(t.Context(), b.s, heldAlone); err != nil || n != 2 {
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
	b.crawl("http://a.test/1", deletion(true), indexed)
	b.crawl("http://a.test/2", restingOrder(0), indexed, waits)
	places, n, err := dropDeletions(t.Context(), b.s, heldAlone)
	if err != nil || n != 1 {
		t.Fatalf("drop: %d, %v", n, err)
	}
	rec := b.record("http://a.test/1")
	if rec.State != scheduler.Waiting || rec.Source != scheduler.Refresh || !rec.Indexed || rec.Deletion != scheduler.NoDeletion {
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

// A deletion that rests stands beside the document that waits: that reaches its target, and
// stays there if the deletion is cancelled; nothing of the deletion is seen before it leaves.
func TestRestsBesideADocument(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://a.test/1", document("one"))
	b.crawl("http://a.test/1", restingOrder(0), indexed)
	b.wantWaiting("1 add http://a.test/1 one")
	b.must(b.o.Safe(t.Context(), "x", 1))
	b.wantCounts(scheduler.OutboxCounts{Resting: 1})
	b.crawl("http://a.test/1", document("two"))
	b.wantWaiting("3 add http://a.test/1 two")
	b.crawl("http://a.test/1", restingOrder(7), indexed)
	if n, err := release(t.Context(), b.s, scheduler.DeletionFilter{}); n != 1 || err != nil {
		t.Fatalf("release: %d, %v", n, err)
	}
	b.wantWaiting("5 delete http://a.test/1 gone")
	b.must(b.o.Safe(t.Context(), "x", 5))
	b.wantCounts(scheduler.OutboxCounts{})
	// A document that comes in the place of a deletion under another source tells of it.
	moved := func(source string) bool {
		b.crawl("http://a.test/2", deletion(true), indexed, func(c *scheduler.Completion) { c.Order.Source = source })
		b.crawl("http://a.test/2", document("back"))
		entries, err := b.o.Entries(t.Context(), 0, 10, 1<<20)
		b.must(err)
		return entries[0].Moved
	}
	if moved("src") || !moved("other") {
		t.Error("the document does not tell whether it was elsewhere before")
	}
}

// TestRestingAreListed: the outbox lists what rests and what is held, by state and URL.
func TestRestingAreListed(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://b.test/1", restingOrder(0), indexed)
	b.crawl("http://a.test/2", restingOrder(9), indexed)
	b.crawl("http://a.test/3", deletion(true), indexed)
	b.crawl("http://a.test/4", restingOrder(0), indexed)
	list := func(s push.Selection) (urls []string) {
		b.must(b.s.Orders(t.Context(), s, func(l push.Listed) error { urls = append(urls, string(l.State)+" "+l.URL); return nil }))
		return urls
	}
	rest := []string{"resting http://b.test/1", "resting http://a.test/2", "resting http://a.test/4"}
	for _, c := range []struct {
		s    push.Selection
		want []string
	}{
		{push.Selection{}, append(slices.Clone(rest), "held http://a.test/3")},
		{push.Selection{State: "resting"}, rest},
		{push.Selection{State: push.HeldBack}, []string{"held http://a.test/3"}},
		{push.Selection{URLs: []string{"http://a.test/4", "http://a.test/3"}}, []string{"resting http://a.test/4", "held http://a.test/3"}},
	} {
		if d := cmp.Diff(c.want, list(c.s)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c.s, d)
		}
	}
}

// TestReviseDeletionsAsksAgain: what others change between a look at deletions and their
// revision counts, and the revision is asked for again.
func TestReviseDeletionsAsksAgain(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://a.test/1", restingOrder(0), indexed)
	b.crawl("http://a.test/2", restingOrder(0), indexed)
	keys, err := deletionsOf(t.Context(), b.s, scheduler.DeletionFilter{})
	b.must(err)
	var states []scheduler.Deletion
	_, n, err := b.s.ReviseDeletions(t.Context(), keys, func(d scheduler.StoredDeletion, r scheduler.Record) *scheduler.Revision {
		if states = append(states, d.State); len(states) == 1 { // outside of the committer
			_, err := moveDeletions(t.Context(), b.s, scheduler.DeletionFilter{URLs: []string{"http://a.test/1"}}, scheduler.HoldDeletion)
			b.must(err)
			_, _, err = dropDeletions(t.Context(), b.s, scheduler.DeletionFilter{URLs: []string{"http://a.test/2"}})
			b.must(err)
		}
		r.Misses++
		return &scheduler.Revision{Next: r, Move: scheduler.RestDeletion}
	})
	if err != nil || n != 1 {
		t.Errorf("%d changed, %v; want one", n, err)
	}
	want := []scheduler.Deletion{scheduler.DeletionResting, scheduler.DeletionResting, scheduler.DeletionHeld}
	if d := cmp.Diff(want, states); d != "" {
		t.Errorf("asked about (-want +got):\n%s", d)
	}
	b.wantCounts(scheduler.OutboxCounts{Resting: 1})
}

// TestTimesOfDeletions: when it was ordered stays, and when it was asked again follows.
func TestTimesOfDeletions(t *testing.T) {
	b := newBench(t, "x")
	url := "http://a.test/1"
	b.crawl(url, restingOrder(0), indexed)
	// As if that had been long ago.
	p, o, err := b.s.deletionOf(parse(t, url).Key(), func(key []byte) (v []byte, err error) {
		err = b.s.db.View(func(txn *badger.Txn) error { v, err = read(txn, key); return err })
		return v, err
	})
	b.must(err)
	o.At = time.Unix(1000, 0).UTC()
	put(t, b.s, p.Key(parse(t, url).Key()), o.Append(nil))
	times := func() (d scheduler.StoredDeletion) {
		b.must(eachDeletion(t.Context(), b.s, func(_ push.Entry, stored scheduler.StoredDeletion) error { d = stored; return nil }))
		return d
	}
	begin := time.Now().Truncate(time.Second)
	b.crawl(url, restingOrder(0), indexed)
	again := times().Again
	if d := times(); !d.At.Equal(o.At) || again.Before(begin) || again.After(time.Now()) {
		t.Errorf("ordered at %v, asked again at %v", d.At, d.Again)
	}
	for _, m := range []scheduler.DeletionMove{scheduler.HoldDeletion, scheduler.RestDeletion} {
		if n, err := moveDeletions(t.Context(), b.s, scheduler.DeletionFilter{}, m); n != 1 || err != nil {
			t.Fatalf("move %d: %d, %v", m, n, err)
		}
		if d := times(); !d.At.Equal(o.At) || !d.Again.Equal(again) {
			t.Errorf("after move %d: ordered at %v, asked again at %v", m, d.At, d.Again)
		}
	}
	b.crawl(url, restingOrder(3), indexed)
	if d := times(); d.At.Before(begin) || !d.Again.IsZero() {
		t.Errorf("of another edit: ordered at %v, asked again at %v", d.At, d.Again)
	}
}
