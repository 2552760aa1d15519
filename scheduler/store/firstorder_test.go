package store

import "testing"

// TestFirstOrder: numbers of orders continue above FirstOrder at each opening, and never go back; waiting orders
// remain, and the store is intact.
func TestFirstOrder(t *testing.T) {
	dir := t.TempDir()
	options := func(first uint64) Options {
		return Options{Durability: OS, MemtableBytes: MinMemtableBytes, FirstOrder: first}
	}
	want := []uint64{}
	for i, tt := range []struct{ first, seq uint64 }{
		{0, 1}, {1_700_000_000_000_000, 1_700_000_000_000_001}, {5, 1_700_000_000_000_002}, {1_800_000_000_000_000, 1_800_000_000_000_001},
	} {
		s, err := Open(dir, options(tt.first))
		if err != nil {
			t.Fatal(err)
		}
		b := bench{T: t, s: s, o: s.Outbox()}
		b.open("a")
		b.crawl("http://a.test/"+string(rune('0'+i)), document("text"))
		want = append(want, tt.seq)
		entries, err := b.o.Entries(t.Context(), 0, 10, 1<<20)
		b.must(err)
		if len(entries) != len(want) {
			t.Fatalf("%d entries, want %d", len(entries), len(want))
		}
		for j, e := range entries {
			if e.Seq != want[j] {
				t.Errorf("opening %d: entry %d has number %d, want %d", i, j, e.Seq, want[j])
			}
		}
		mustVerify(t, s)
		b.must(s.Close())
	}
}
