package store

import (
	"context"
	"testing"
	"time"
)

// A round of a compaction is bounded over all kinds of orders.
func TestCompactionIsBounded(t *testing.T) {
	b := newSegmentBench(t, t.TempDir(), "x", "down")
	for i := range 9 {
		b.crawl(pageURL(i), document(long("body")))
	}
	entries, err := b.o.Entries(t.Context(), 0, 9, 1<<20)
	b.must(err)
	for _, e := range entries {
		b.must(b.o.AddDead(t.Context(), "down", e, "bad", time.Unix(5, 0)))
	}
	b.settle()
	all := map[uint64]bool{}
	for n := range uint64(1000) {
		all[n+1] = true
	}
	for most, want := range map[int]int{4: 4, 9: 9, 12: 12, 1000: 18} {
		list, err := b.s.namedIn(all, most)
		b.must(err)
		if len(list) != want {
			t.Errorf("%d orders and dead letters are moved in a round of at most %d, want %d", len(list), most, want)
		}
	}
}

// A store that is being closed leaves emptying to the next process, since it would read a closed database.
func TestNothingIsEmptiedByClose(t *testing.T) {
	b := newSegmentBench(t, t.TempDir(), "x")
	for i := range 200 {
		b.crawl(pageURL(i), document(long("body")))
	}
	entries, err := b.o.Entries(t.Context(), 0, 200, 1<<20)
	b.must(err)
	for i := 0; i < len(entries); i += 4 { // one of each segment's four stays
		b.must(b.o.AddDead(t.Context(), "x", entries[i], "bad", time.Unix(5, 0)))
	}
	b.settle()
	leaveToClose(t, b.s, b.gate, func(ctx context.Context) error { return b.o.Safe(ctx, "x", 200) })
	closeStore(t, b.s)
	b.s.background.Wait()
	if len(b.s.segments.Empty(b.s.committed.Load().Segment)) == 0 { // it gives none while it is at it
		t.Error("nothing is left to be emptied after Close, which has begun it, or nothing was due")
	}
}
