package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
)

// A pending text stands beside the document that waits as well, and takes its place when it is carried out.
func TestPendingText(t *testing.T) {
	b := newBench(t, "x")
	const url = "http://a.test/1"
	b.crawl(url, document("one"))
	b.crawl(url, pendingText("two"))
	b.wantWaiting("1 add http://a.test/1 one")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1, Pending: 1})
	if got := b.s.OutboxBytes(); got != 3 {
		t.Errorf("OutboxBytes: %d, want those of what waits", got)
	}
	b.crawl(url, pendingText("three"))
	if d := cmp.Diff(map[string]string{url: "three"}, b.pending()); d != "" {
		t.Errorf("pending: %s", d)
	}
	if _, err := markDeletions(t.Context(), b.s, scheduler.DeletionFilter{}); err != nil {
		t.Fatal(err)
	}
	entered := b.s.committed.Load().Movements
	if n, err := release(t.Context(), b.s, scheduler.DeletionFilter{}); n != 1 || err != nil {
		t.Fatalf("release: %d, %v", n, err)
	}
	b.wantWaiting("3 add http://a.test/1 three")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1})
	if got := b.s.OutboxBytes(); got != 5 {
		t.Errorf("OutboxBytes: %d", got)
	}
	if r := b.record(url); !r.Indexed || r.LossPending || r.Hash != pendingText("three").Loss.Hash {
		t.Errorf("record: %+v", r)
	}
	entered.Changed++
	if got := b.s.committed.Load().Movements; got != entered {
		t.Errorf("movements %+v, want %+v", got, entered)
	}
	b.crawl(url, pendingText("four"))
	b.crawl(url, nil, func(c *scheduler.Completion) { c.CancelDeletion = true })
	b.wantWaiting("3 add http://a.test/1 three")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1})
	b.crawl(url, pendingText("five"))
	b.must(b.s.Forget(t.Context(), parse(t, url).Key(), nil))
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1})
}

// A body that only a pending loss names stays where it is, over compactions and restarts, until the loss goes.
func TestPendingBodiesInSegments(t *testing.T) {
	dir := t.TempDir()
	b := newSegmentBench(t, dir, "x")
	for i := range 4 {
		b.crawl(pageURL(i), pendingText(long(fmt.Sprint("text ", i))))
	}
	for i := range 60 { // of each segment one body stays
		order := document(long(fmt.Sprint("body ", i)))
		if i%4 == 0 {
			order = pendingText(long(fmt.Sprint("text ", i)))
			order.Edit = uint64(i % 8)
		}
		b.crawl(pageURL(i), order, indexed)
	}
	b.must(b.o.Safe(t.Context(), "x", b.s.committed.Load().Order))
	want := map[string]string{}
	for i := range 60 {
		if i < 4 || i%4 == 0 {
			want[pageURL(i)] = fmt.Sprint("text ", i)
		}
	}
	for i := 1; i < 4; i++ {
		delete(want, pageURL(i)) // a document came in its place
	}
	check := func() {
		t.Helper()
		if d := cmp.Diff(want, b.pending()); d != "" {
			t.Errorf("pending bodies (-want +got):\n%s", d)
		}
		mustVerify(t, b.s)
	}
	check()
	b.settle()
	for range 40 { // what is there is looked at after each batch
		b.must(b.s.SetValue(t.Context(), scheduler.CrawlValue("n"), nil))
		b.settle()
	}
	check()
	if got := len(segmentFiles(t, dir)); got > 2*len(want)/4+segments.Slack+2 {
		t.Errorf("%d segments are there for %d bodies", got, len(want))
	}
	closeStore(t, b.s)
	b = newSegmentBench(t, dir, "x")
	check()
	// All of them, moved one by one.
	all := map[uint64]bool{}
	for _, n := range segmentFiles(t, dir) {
		all[n] = true
	}
	list, err := b.s.namedIn(all, 1000)
	b.must(err)
	if len(list) != len(want) {
		t.Errorf("%d bodies are to be moved, want those of %d losses", len(list), len(want))
	}
	b.must(b.s.compact(all))
	check()
	half := scheduler.DeletionFilter{Edit: 4}
	n, err := release(t.Context(), b.s, half)
	b.must(err)
	sent := b.bodies()
	if len(sent) != n || n == 0 {
		t.Errorf("%d losses are carried out, %d orders wait", n, len(sent))
	}
	for url, body := range sent {
		if want[url] != body {
			t.Errorf("%s is sent with %q, want %q", url, body, want[url])
		}
		delete(want, url)
	}
	check()
	if _, _, err := dropDeletions(t.Context(), b.s, scheduler.DeletionFilter{}); err != nil {
		t.Fatal(err)
	}
	b.must(b.o.Safe(t.Context(), "x", b.s.committed.Load().Order))
	want = map[string]string{}
	check()
	b.wantSegments(b.s.committed.Load().Segment)
	closeStore(t, b.s)
}

// A pending body that is damaged is found when it is moved or sent, and its document is fetched again then.
func TestPendingBodyIsLost(t *testing.T) {
	for _, moved := range []bool{false, true} {
		dir := t.TempDir()
		b := newSegmentBench(t, dir, "x")
		b.crawl(pageURL(0), pendingText(long("zero")), indexed)
		for i := range 8 {
			b.crawl(pageURL(1+i), document(long(fmt.Sprint("body ", i))))
		}
		closeStore(t, b.s)
		name := filepath.Join(dir, bodyfiles.Name(1))
		content, err := os.ReadFile(name)
		b.must(err)
		content[10] ^= 1
		b.must(os.WriteFile(name, content, 0o600))
		b = newSegmentBench(t, dir, "x")
		if moved {
			b.must(b.s.compact(map[uint64]bool{1: true}))
		}
		if n, err := release(t.Context(), b.s, scheduler.DeletionFilter{}); n != 1 || err != nil {
			t.Fatalf("release: %d, %v", n, err)
		}
		entries, err := b.o.Entries(t.Context(), 0, 100, 1<<20)
		b.must(err)
		last := entries[len(entries)-1]
		if last.URL != pageURL(0) || last.Damage == "" || last.Body != nil {
			t.Fatalf("moved %t: the last entry is %+v, want the damaged one", moved, last)
		}
		b.must(b.o.Bury(t.Context(), "x", last, last.Damage, time.Unix(5, 0)))
		if r := b.record(pageURL(0)); !r.BodyLost() || r.State != scheduler.Waiting {
			t.Errorf("moved %t: record %+v, want it fetched again", moved, r)
		}
		b.must(b.o.Safe(t.Context(), "x", last.Seq))
		mustVerify(t, b.s)
		closeStore(t, b.s)
	}
}
