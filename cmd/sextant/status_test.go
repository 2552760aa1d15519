package main

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// TestStatusOfFullDisk: that nothing is stored has a line of its own.
func TestStatusOfFullDisk(t *testing.T) {
	const line = "disk        399 MiB free, 512 MiB needed: nothing is stored\n"
	for free, want := range map[int64]bool{399: true, 512: false} {
		var out strings.Builder
		s := admin.Status{Store: &admin.StoreStatus{DiskFree: free << 20, DiskSize: 100 << 30, DiskNeeded: 512 << 20}}
		printStatus(&out, &s, unpainted)
		if strings.Contains(out.String(), line) != want {
			t.Errorf("%d MiB free:\n%s", free, out.String())
		}
	}
}

// TestStatusOfRendering: the row says how the browser stands, also while it has rendered nothing.
func TestStatusOfRendering(t *testing.T) {
	some := &meter.RenderedStatus{Pages: 6, Failed: 2, TimedOut: 1}
	for want, s := range map[string]crawl.Status{
		"6 pages by a browser, 2 failed (1 timed out)\n":                                           {Rendered: some},
		"6 pages by a browser, 2 failed (1 timed out); 1 of 2 browsers at work, 3 pages waiting\n": {Rendered: some, Browser: &render.Status{Limit: 2, Running: 1, Rendering: 1, Waiting: 3}},
		"0 pages by a browser, 0 failed; no browser runs at present\n":                             {Browser: &render.Status{Limit: 1}},
		"0 pages by a browser, 0 failed; no browser can be started: no sandbox\n":                  {Browser: &render.Status{Trouble: "no sandbox"}},
	} {
		var out strings.Builder
		printStatus(&out, &admin.Status{Status: s}, unpainted)
		if !strings.Contains(out.String(), "rendered    "+want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}
