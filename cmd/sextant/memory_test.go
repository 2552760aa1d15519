package main

import "testing"

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"512MiB": 512 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "134217728": 128 << 20, "134217728B": 128 << 20, "65536KiB": 64 << 20,
		"": -1, "2G": -1, "-1GiB": -1, "0": -1, "much": -1, "9999999999TiB": -1, "1.5GiB": -1,
	} {
		got, ok := parseSize(s)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
}
