package badgerstore

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

func (b bench) record(url string) scheduler.Record {
	b.Helper()
	rec, err := b.s.Lookup(b.Context(), parse(b, url).Key())
	b.must(err)
	return rec
}

func indexed(c *scheduler.Completion) { c.Next.Indexed = true }

func TestRelease(t *testing.T) {
	b := newBench(t, "x")
	for i := range 4 {
		b.crawl(fmt.Sprintf("http://a.test/%d", i), deletion(true), indexed)
	}
	b.must(b.s.Forget(t.Context(), parse(t, "http://a.test/3").Key(), nil))
	b.wantCounts(scheduler.OutboxCounts{Held: 4})
	n, err := b.s.Release(t.Context(), "http://a.test/1", "http://unknown.test/")
	if err != nil || n != 1 {
		t.Fatalf("Release of one: %d, %v", n, err)
	}
	if b.record("http://a.test/1").Indexed || !b.record("http://a.test/0").Indexed {
		t.Error("the released URL alone must not be indexed any more")
	}
	if d := cmp.Diff([]string{"http://a.test/0", "http://a.test/2", "http://a.test/3"}, b.held()); d != "" {
		t.Errorf("held: %s", d)
	}
	if n, err = b.s.Release(t.Context()); err != nil || n != 3 {
		t.Fatalf("Release of all: %d, %v", n, err)
	}
	b.wantWaiting("5 delete http://a.test/1 gone", "6 delete http://a.test/0 gone", "7 delete http://a.test/2 gone", "8 delete http://a.test/3 gone")
	if c, err := b.s.Counts(t.Context()); err != nil || c.Indexed != 0 {
		t.Errorf("Counts: %+v, %v", c, err)
	}
	if _, err := b.s.Release(t.Context(), "no URL"); err == nil {
		t.Error("Release of no URL gave no error")
	}
}

func TestDropHeld(t *testing.T) {
	b := newBench(t, "x")
	waits := func(c *scheduler.Completion) { c.Next.State, c.Next.Source = scheduler.Waiting, scheduler.User }
	b.crawl("http://a.test/1", deletion(true), indexed)
	b.crawl("http://a.test/2", deletion(true), waits)
	b.crawl("http://b.test/3", deletion(true))
	b.must(b.s.Forget(t.Context(), parse(t, "http://b.test/3").Key(), nil))
	places, n, err := b.s.DropHeld(t.Context(), "http://a.test/1")
	if err != nil || n != 1 {
		t.Fatalf("DropHeld: %d, %v", n, err)
	}
	rec := b.record("http://a.test/1")
	if rec.State != scheduler.Waiting || rec.Source != scheduler.Refresh || !rec.Indexed {
		t.Errorf("record: %+v", rec)
	}
	if d := cmp.Diff([]scheduler.Place{placeOf(&rec)}, places); d != "" {
		t.Errorf("places: %s", d)
	}
	places, n, err = b.s.DropHeld(t.Context())
	if err != nil || n != 2 || len(places) != 0 {
		t.Fatalf("DropHeld of all: %v, %d, %v", places, n, err)
	}
	if rec := b.record("http://a.test/2"); rec.Source != scheduler.User {
		t.Errorf("a URL that waits was moved: %+v", rec)
	}
	b.wantCounts(scheduler.OutboxCounts{})
}

func TestCancelHeld(t *testing.T) {
	b := newBench(t, "x")
	cancel := func(c *scheduler.Completion) { c.CancelHeld = true }
	b.crawl("http://a.test/1", deletion(true))
	b.crawl("http://a.test/1", nil)
	b.wantCounts(scheduler.OutboxCounts{Held: 1})
	b.crawl("http://a.test/1", nil, cancel)
	b.wantCounts(scheduler.OutboxCounts{})
	b.crawl("http://a.test/1", document("d"))
	b.crawl("http://a.test/1", nil, cancel)
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1})
}

func TestDeadLetters(t *testing.T) {
	b := newBench(t, "x", "y")
	for i := range 3 {
		b.crawl(fmt.Sprintf("http://a.test/%d", i), document("doc"))
		b.bury("x", uint64(i+1), fmt.Sprintf("http://a.test/%d", i))
	}
	b.bury("y", 1, "http://a.test/0")
	b.bury("y", 1, "http://a.test/0") // twice is once
	b.must(b.o.Safe(t.Context(), "x", 3))
	b.must(b.o.Safe(t.Context(), "y", 2))
	if d := cmp.Diff([]string{"http://a.test/0", "http://a.test/0", "http://a.test/1", "http://a.test/2"}, urlsOf(b.dead())); d != "" {
		t.Fatalf("dead: %s", d)
	}
	n, err := b.s.RetryDead(t.Context(), push.Selection{URLs: []string{"http://a.test/0", "http://a.test/2"}})
	if err != nil || n != 3 {
		t.Fatalf("RetryDead: %d, %v", n, err)
	}
	// One order for the two dead letters of 0; that of 2, which y still needed, is replaced.
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2, Dead: 1})
	for i, w := range b.waiting(0) {
		if i == 0 && w[0] != '4' || i == 1 && w[0] != '5' {
			t.Errorf("waiting: %s", w)
		}
	}
	if n, err = b.s.DropDead(t.Context(), push.Selection{}); err != nil || n != 1 {
		t.Fatalf("DropDead: %d, %v", n, err)
	}
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2})
	b.bury("x", 5, "http://a.test/0") // 4 or 5
	b.bury("y", 5, "http://a.test/0")
	b.open("y")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2, Dead: 1})
}

func urlsOf(dead []string) []string {
	counts := map[string]int{}
	var urls []string
	for _, d := range dead {
		var target, url, words string
		if _, err := fmt.Sscan(d, &target, &url, &words); err != nil || words != "bad" {
			return []string{d}
		}
		counts[url]++
	}
	for i := range 3 {
		u := fmt.Sprintf("http://a.test/%d", i)
		for range counts[u] {
			urls = append(urls, u)
		}
	}
	return urls
}
