package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/internal/notices"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// TestWatch: the status is printed again at each tick, and a look that the user breaks off is not.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ticks, n := make(chan time.Time, 2), 0
	ticks <- time.Time{}
	ticks <- time.Time{}
	var out strings.Builder
	err := watch(ctx, &out, "clear ", ticks, func(w io.Writer) error {
		if n++; n == 3 {
			cancel()
		}
		_, err := fmt.Fprintln(w, n)
		return err
	})
	if err != nil || out.String() != "clear 1\nclear 2\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

// TestStatusOfFullDisk: that nothing is stored has a line of its own.
func TestStatusOfFullDisk(t *testing.T) {
	const line = "disk        399 MiB free, 512 MiB needed: nothing is stored\n"
	for free, want := range map[int64]bool{399: true, 512: false} {
		var out strings.Builder
		s := admin.Status{Store: &admin.StoreStatus{Stats: store.Stats{Stats: kv.Stats{DiskFree: free << 20, DiskSize: 100 << 30, DiskNeeded: 512 << 20}}}}
		if err := printStatus(&out, &s, unpainted); err != nil {
			t.Fatal(err)
		}
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
		if err := printStatus(&out, &admin.Status{Status: s}, unpainted); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "rendered    "+want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// TestStatusLines: hosts, edits and receivers have a line each.
func TestStatusLines(t *testing.T) {
	at := time.Now().Add(-2 * time.Hour)
	s := admin.Status{
		Losing: []admin.LosingHost{{
			Host: "http://b", Pending: 3, NewTexts: 1, Documents: 9, Class: "most", Ill: true, SilentSince: &at, GoneAt: &at,
		}},
		Edits: []admin.EditStatus{
			{Edit: deletion.Edit{Number: 17, State: deletion.EditHeld}, LossCounts: admin.LossCounts{Pending: 1}},
			{Edit: deletion.Edit{Number: 18, State: deletion.EditOpen}},
		},
		HostList: []admin.HostStatus{{Host: "http://h", Waiting: 3, ClosedUntil: &at, ClosedBy: scheduler.ByBackoff.String(), Errors: 3, Ill: true}},
		Notices:  []notices.Status{{Receiver: "command a", Sent: 2, Failed: 1, LastError: "no"}},
	}
	s.Outbox.Pending, s.Errors = 4, map[string]uint64{"bot_wall": 37}
	var out strings.Builder
	if err := printStatus(&out, &s, unpainted); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"            http://b: 2 deletions and 1 new text pending of 9 documents (most), ill, no good response since " +
			clock.Local(at) + ", gone at " + clock.Local(at) + "\n",
		"rules       edit 17: 1 deletion pending; sextant deletions release --edit 17 carries them out\n",
		"rules       edit 18: stored URLs are being judged by it\n",
		"host        http://h                                      3 URLs; closed until " + clock.Local(at) +
			": it failed; failed 3 times in a row; ill: none of its documents is deleted or replaced\n",
		"notices     command a: 2 sent, 1 failed: no\n",
		"bot walls   37 responses of a bot wall in place of a site's: see sextant urls --reason bot_wall\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// TestStatusOfEdits: each edit with pending deletions has a line, and of many the oldest share one.
func TestStatusOfEdits(t *testing.T) {
	s := admin.Status{}
	s.Outbox.Pending = 75
	for n := range uint64(25) {
		s.Edits = append(s.Edits, admin.EditStatus{Edit: deletion.Edit{Number: n + 1, State: deletion.EditHeld}, LossCounts: admin.LossCounts{Pending: 3, Moves: 1}})
	}
	var out strings.Builder
	if err := printStatus(&out, &s, unpainted); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "5 older edits: see sextant deletions --by edit") ||
		strings.Contains(got, "edit 5:") || !strings.Contains(got, "edit 6:") || !strings.Contains(got, "edit 25:") {
		t.Error(got)
	}
}

// TestOneZone: all times of an answer are in this process's zone, with its offset, those within the service's sentences
// too.
func TestOneZone(t *testing.T) {
	before := time.Local
	defer func() { time.Local = before }()
	time.Local = time.FixedZone("", 3600)
	at := time.Date(2026, 11, 24, 6, 14, 49, 0, time.UTC)
	stamp := clock.Stamp(at)
	s := admin.Status{
		Status: crawl.Status{
			Timed: 1, Idle: "all hosts with work rest, the first until " + stamp, IdleCode: string(scheduler.IdleClosed),
			RootsFailing: []crawl.RootStatus{{URL: "http://a.test/?at=" + stamp, Words: "rests until " + stamp, Since: &at, Next: &at}},
			Sessions:     []visit.SessionStatus{{Name: "s", State: "in", Until: &at, Since: &at}},
			Targets:      []crawl.TargetStatus{{Name: "t", DownSince: &at, LastError: "refused until " + stamp}},
		},
		NextDue:  &at,
		Ill:      []scheduler.IllHost{{Origin: "http://a.test", Since: at}},
		HostList: []admin.HostStatus{{Host: "http://a.test", ClosedUntil: &at}},
	}
	var out strings.Builder
	if err := printStatus(&out, &s, unpainted); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(out.String(), "http://a.test/?at="+stamp, "")
	if n := strings.Count(text, "2026-11-24 07:14:49 +01:00"); n != 12 || strings.Contains(text, "06:14") {
		t.Errorf("%d times in the zone +01:00, want 12:\n%s", n, &out)
	}
}
