package main

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/admin"
)

// TestStatusOfFullDisk: that nothing is stored has a line of its own.
func TestStatusOfFullDisk(t *testing.T) {
	const line = "disk        399 MiB free, 512 MiB needed: nothing is stored\n"
	for free, want := range map[int64]bool{399: true, 512: false} {
		var out strings.Builder
		s := admin.Status{Details: admin.Details{Store: &admin.StoreStatus{DiskFree: free << 20, DiskSize: 100 << 30, DiskNeeded: 512 << 20}}}
		printStatus(&out, &s, unpainted)
		if strings.Contains(out.String(), line) != want {
			t.Errorf("%d MiB free:\n%s", free, out.String())
		}
	}
}
