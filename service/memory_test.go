package service

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"512MiB": 512 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "134217728": 128 << 20, "134217728B": 128 << 20, "65536KiB": 64 << 20,
		"": -1, "2G": -1, "-1GiB": -1, "0": -1, "much": -1, "9999999999TiB": -1, "1.5GiB": -1,
	} {
		got, ok := ParseSize(s)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
}

func TestMemtableOf(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	const mib = 1 << 20
	for _, c := range []struct {
		budget int64
		stores int
		want   int64
	}{
		{1 << 30, 1, 8 * mib}, {1 << 30, 2, 6 * mib}, {1 << 30, 4, 3 * mib}, {1 << 30, 100, 2 * mib},
		{8 << 30, 4, 8 * mib}, {256 * mib, 2, 2 * mib}, {NoMemoryLimit, 9, 8 * mib},
	} {
		if got := memtableOf(c.budget, c.stores); got != c.want {
			t.Errorf("%d bytes over %d stores: memtables of %d instead of %d", c.budget, c.stores, got, c.want)
		}
	}
	t.Setenv("GOMEMLIMIT", "512MiB")
	if got := memtableOf(8<<30, 2); got != 3*mib {
		t.Errorf("GOMEMLIMIT does not count: %d", got)
	}
}

// TestSmallerMemtableAfterCrash opens what a crash left of large memtables as a store
// with small ones.
func TestSmallerMemtableAfterCrash(t *testing.T) {
	data := t.TempDir()
	store, err := badgerstore.Open(Home{Dir: data}.Store(), badgerstore.Options{MinFree: -1, Durability: badgerstore.OS})
	if err != nil {
		t.Fatal(err)
	}
	value := []byte(strings.Repeat("v", 100<<10))
	for i := range 60 {
		if err := store.SetValue(t.Context(), fmt.Sprint("value ", i), value); err != nil {
			t.Fatal(err)
		}
	}
	// The directory as it is now is what a crash would leave.
	crashed := Home{Dir: t.TempDir()}
	if err := os.CopyFS(crashed.Store(), os.DirFS(Home{Dir: data}.Store())); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	size := memtableFor(crashed, leastMemtable)
	if size != badgerstore.DefaultMemtableBytes {
		t.Errorf("memtables of %d after a crash", size)
	}
	again, err := badgerstore.Open(crashed.Store(), badgerstore.Options{MinFree: -1, MemtableBytes: size})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if got, err := again.Value(t.Context(), fmt.Sprint("value ", i)); err != nil || len(got) != len(value) {
			t.Fatalf("value %d: %d bytes, %v", i, len(got), err)
		}
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if size := memtableFor(crashed, leastMemtable); size != leastMemtable {
		t.Errorf("memtables of %d after a clean stop", size)
	}
}
