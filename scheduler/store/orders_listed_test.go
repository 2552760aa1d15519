package store

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
)

// TestOrdersOfURLs wants of some URLs what a list of all has of them, in its order.
func TestOrdersOfURLs(t *testing.T) {
	b := newBench(t, "x", "y")
	for i := range 9 {
		order := document(fmt.Sprint("doc", i))
		if i%3 == 2 {
			if order = pendingDeletion(0); i == 5 {
				order = pendingText("new")
			}
		}
		b.crawl(fmt.Sprintf("http://a.test/%d", 8-i), order)
	}
	b.addDead("x", 1, "http://a.test/8")
	b.must(b.o.Safe(t.Context(), "x", 4))
	list := func(s push.Selection) (lines []string) {
		b.must(b.s.Orders(t.Context(), s, func(l push.Listed) error {
			lines = append(lines, fmt.Sprint(l.State, l.Seq, l.Op, l.URL, l.Target, l.Bytes))
			return nil
		}))
		return lines
	}
	for _, target := range []string{"", "x", "y"} {
		for _, state := range []push.State{"", push.Waiting, push.Pending, push.DeadLetter} {
			s := push.Selection{Target: target, State: state}
			all := list(s)
			if len(all) == 0 && (target != "y" || state != push.DeadLetter) {
				t.Errorf("%+v: nothing is listed", s)
			}
			for i := range 9 {
				s.URLs = append(s.URLs, fmt.Sprintf("http://a.test/%d", i))
			}
			if d := cmp.Diff(all, list(s)); d != "" {
				t.Errorf("%+v (-all +by URL): %s", s, d)
			}
		}
	}
	some := list(push.Selection{URLs: []string{"http://a.test/8", "http://a.test/6", "http://unknown.test/", "http://a.test/3"}})
	if len(some) != 4 { // 8 is a dead letter too
		t.Errorf("of three URLs: %q", some)
	}
}
