package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
)

// lostPages are the documents of a lossBench; the body of the first one is damaged.
var lostPages = [2]string{"http://h.test/0", "http://h.test/1"}

// newLossBench returns a store with two documents, the first of which is unreadable, so far unnoticed. change changes
// its record.
func newLossBench(t *testing.T, change func(*scheduler.Record)) bench {
	t.Helper()
	dir := t.TempDir()
	b := newSegmentBench(t, dir, "x")
	for i, u := range lostPages {
		b.crawl(u, document(long(fmt.Sprint("body ", i))), func(c *scheduler.Completion) {
			c.Next.Hash, c.Next.ETag = [16]byte{1}, `"e"`
			if i == 0 && change != nil {
				change(&c.Next)
			}
		})
	}
	closeStore(t, b.s)
	name := filepath.Join(dir, bodyfiles.Name(1))
	bytes, err := os.ReadFile(name)
	b.must(err)
	bytes[10] ^= 1
	b.must(os.WriteFile(name, bytes, 0o600))
	b = newSegmentBench(t, dir, "x")
	t.Cleanup(func() {
		mustVerify(t, b.s)
		closeStore(t, b.s)
	})
	return b
}

// lose has the damaged document become a dead letter, as a relay does.
func (b bench) lose() {
	b.Helper()
	entries, err := b.o.Entries(b.Context(), 0, 100, 1<<20)
	b.must(err)
	if len(entries) != 2 || entries[0].URL != lostPages[0] || entries[0].Damage == "" || entries[1].Damage != "" {
		b.Fatalf("entries %+v, want the first damaged", entries)
	}
	b.must(b.o.AddDead(b.Context(), "x", entries[0], entries[0].Damage, time.Unix(5, 0)))
	b.must(b.o.Safe(b.Context(), "x", entries[0].Seq))
}

func (b bench) lookup(url string) scheduler.Record {
	b.Helper()
	r, err := b.s.Lookup(b.Context(), parse(b, url).Key())
	b.must(err)
	return r
}

func (b bench) wantLost(n uint64) {
	b.Helper()
	c, err := b.s.Counts(b.Context())
	b.must(err)
	if c.Lost != n || c.Indexed != 2 {
		b.Errorf("%d of %d documents are lost, want %d of 2", c.Lost, c.Indexed, n)
	}
}

// TestLostGoesFirst: a lost document is given out before new URLs, without a restart; an earlier lease of it no longer
// counts, since the response may have been a 304. It stays lost until it is fetched.
func TestLostGoesFirst(t *testing.T) {
	b := newLossBench(t, nil)
	key := parse(t, lostPages[0]).Key()
	_, _, err := b.s.Add(t.Context(), []scheduler.Link{linkTo(t, lostPages[0])}, true)
	b.must(err)
	before := b.lookup(lostPages[0])
	var news []scheduler.Link
	for i := range 100 {
		news = append(news, linkTo(t, fmt.Sprintf("http://h%d.test/new", i)))
	}
	_, _, err = b.s.Add(t.Context(), news, false)
	b.must(err)
	set := scheduler.DefaultSettings()
	set.Throttle, set.Policy = 0, scheduler.Cautious
	f := scheduler.New(b.s, set, slog.New(slog.DiscardHandler))
	b.s.OnWork(f.Announce)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	defer func() { end(); b.must(<-ended) }()
	first, err := f.Next(ctx) // the frontier has read where work waits
	b.must(err)
	f.GiveBack(first, false, time.Time{})

	b.lose()
	r := b.lookup(lostPages[0])
	if fate, why := r.Fate(); fate != scheduler.FateBodyLost || why != scheduler.ReasonBodyLost {
		t.Errorf("its fate is %v because of %v", fate, why)
	}
	b.wantLost(1)
	old := scheduler.Completion{Key: key, Taken: placeOf(&before), Seq: before.Seq, Old: &before, Next: before}
	if _, err := scheduler.CompleteAndWait(t.Context(), b.s, old); !errors.Is(err, scheduler.ErrNotFound) {
		t.Errorf("a lease from before: %v, want ErrNotFound", err)
	}
	l, err := f.Next(ctx)
	b.must(err)
	if l.Record.URL != lostPages[0] || l.Record.ETag != "" {
		t.Fatalf("%s comes first (ETag %q), want the lost document, asked for whatever it is", l.Record.URL, l.Record.ETag)
	}
	b.must(f.Complete(ctx, l, scheduler.Result{Status: 503}))
	r = b.lookup(lostPages[0])
	if fate, _ := r.Fate(); fate != scheduler.FateBodyLost || r.DueSource(scheduler.Refresh) != scheduler.User || r.Status != 503 {
		t.Errorf("after a visit that failed: %v, %+v", fate, r)
	}
	b.wantLost(1)
	_, _, err = b.s.Add(ctx, []scheduler.Link{linkTo(t, lostPages[0])}, true)
	b.must(err)
	waits := b.lookup(lostPages[0])
	f.Announce([]scheduler.Place{placeOf(&waits)})
	for {
		if l, err = f.Next(ctx); err != nil || l.Key == key {
			break
		}
	}
	b.must(err)
	b.must(f.Complete(ctx, l, scheduler.Result{Status: 200, Document: &scheduler.Document{Body: []byte("{}"), Source: "src", Hash: [16]byte{9}}}))
	r = b.lookup(lostPages[0])
	if fate, _ := r.Fate(); fate != scheduler.FateIndexed {
		t.Errorf("when it is had: %v", fate)
	}
	b.wantLost(0)
}

// TestItemThatIsLost: what an item's own URL answers is another document, so its feed is read again.
func TestItemThatIsLost(t *testing.T) {
	b := newLossBench(t, func(r *scheduler.Record) { r.Kind, r.Referrer = scheduler.KindItem, lostPages[1] })
	b.lose()
	type due struct {
		State scheduler.State
		ETag  string
		Hash  [16]byte
	}
	var got [2]due
	for i, u := range lostPages {
		r := b.lookup(u)
		got[i] = due{r.State, r.ETag, r.Hash}
	}
	b.wantLost(1)
	if diff := cmp.Diff([2]due{{State: scheduler.AtRest}, {State: scheduler.Waiting}}, got); diff != "" {
		t.Errorf("item and feed (-want +got):\n%s", diff)
	}
}

// TestItemWhoseFeedIsUnknown: a lost item whose feed is unknown is fetched as a page.
func TestItemWhoseFeedIsUnknown(t *testing.T) {
	b := newLossBench(t, func(r *scheduler.Record) { r.Kind, r.Referrer = scheduler.KindItem, "http://elsewhere.test/feed" })
	b.lose()
	r := b.lookup(lostPages[0])
	if r.Kind != scheduler.KindPage || r.State != scheduler.Waiting || !r.BodyLost() {
		t.Errorf("%+v, want a page that waits", r)
	}
}

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
		b.must(b.o.AddDead(t.Context(), "x", last, last.Damage, time.Unix(5, 0)))
		if r := b.record(pageURL(0)); !r.BodyLost() || r.State != scheduler.Waiting {
			t.Errorf("moved %t: record %+v, want it fetched again", moved, r)
		}
		b.must(b.o.Safe(t.Context(), "x", last.Seq))
		mustVerify(t, b.s)
		closeStore(t, b.s)
	}
}
