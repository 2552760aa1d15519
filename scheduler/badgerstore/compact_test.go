package badgerstore

import (
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
		b.must(b.o.Bury(t.Context(), "down", e, "bad", time.Unix(5, 0)))
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
