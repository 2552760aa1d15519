package service

import "testing"

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
		{1 << 30, 1, 4 * mib}, {1 << 30, 2, 4 * mib}, {1 << 30, 4, 3 * mib}, {1 << 30, 100, 2 * mib},
		{8 << 30, 4, 4 * mib}, {256 * mib, 2, 2 * mib}, {NoMemoryLimit, 9, 4 * mib},
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
