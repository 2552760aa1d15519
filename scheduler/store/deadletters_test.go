package store

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

func TestDeadLetters(t *testing.T) {
	b := newBench(t, "x", "y")
	for i := range 3 {
		b.crawl(fmt.Sprintf("http://a.test/%d", i), document("doc"))
		b.addDead("x", uint64(i+1), fmt.Sprintf("http://a.test/%d", i))
	}
	b.addDead("y", 1, "http://a.test/0")
	b.addDead("y", 1, "http://a.test/0") // twice is once
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
	b.addDead("x", 5, "http://a.test/0") // 4 or 5
	b.addDead("y", 5, "http://a.test/0")
	b.open("y")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2, Dead: 1})
}

// TestUnknownTarget: who misspells a target is told which there are, and nothing changes.
func TestUnknownTarget(t *testing.T) {
	b := newBench(t, "x", "y")
	b.crawl("http://a.test/0", document("doc"))
	b.addDead("x", 1, "http://a.test/0")
	sel := push.Selection{Target: "z"}
	for name, do := range map[string]func() error{
		"Orders":    func() error { return b.s.Orders(t.Context(), sel, func(push.Listed) error { return nil }) },
		"RetryDead": func() error { _, err := b.s.RetryDead(t.Context(), sel); return err },
		"DropDead":  func() error { _, err := b.s.DropDead(t.Context(), sel); return err },
	} {
		if err := do(); err == nil || err.Error() != `no push target is named "z": write x or y` {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := b.s.DropDead(t.Context(), push.Selection{Target: "y"}); n != 0 || err != nil {
		t.Errorf("a target without dead letters: %d, %v", n, err)
	}
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1, Dead: 1})
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
