package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// bench is a store with its outbox, and short words for what tests do to it.
type bench struct {
	gate *gate
	*testing.T
	s *Store
	o push.Outbox
}

func newBench(t *testing.T, targets ...string) bench {
	t.Helper()
	b := bench{T: t, s: openStore(t, t.TempDir(), Options{Durability: OS, MemtableBytes: MinMemtableBytes})}
	b.o = b.s.Outbox()
	b.open(targets...)
	t.Cleanup(func() { mustVerify(t, b.s) })
	return b
}

func (b bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b bench) open(targets ...string) {
	b.Helper()
	b.must(b.o.Open(b.Context(), targets))
}

// crawl makes url known if it is not and completes it with an order.
func (b bench) crawl(url string, o *scheduler.Order, change ...func(*scheduler.Completion)) {
	b.Helper()
	l := linkTo(b, url)
	_, _, err := b.s.Add(b.Context(), []scheduler.Link{l}, true)
	b.must(err)
	rec, err := b.s.Lookup(b.Context(), l.URL.Key())
	b.must(err)
	c := scheduler.Completion{Key: l.URL.Key(), Taken: placeOf(&rec), Seq: rec.Seq, Next: rec, Order: o}
	c.Next.State, c.Next.Class = scheduler.AtRest, scheduler.OK
	if o != nil && o.Op == scheduler.OrderAdd {
		c.Next.Indexed = true
	}
	for _, f := range change {
		f(&c)
	}
	_, err = scheduler.CompleteAndWait(b.Context(), b.s, c)
	b.must(err)
}

func document(body string) *scheduler.Order {
	return &scheduler.Order{Op: scheduler.OrderAdd, Source: "src", Body: []byte(body)}
}

func deletion() *scheduler.Order {
	return &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("gone")}
}

// waiting returns the orders after a number, in words.
func (b bench) waiting(after uint64) []string {
	b.Helper()
	entries, err := b.o.Entries(b.Context(), after, 1000, 1<<30)
	b.must(err)
	var words []string
	for _, e := range entries {
		words = append(words, fmt.Sprintf("%d %s %s %s", e.Seq, e.Op, e.URL, e.Body))
	}
	return words
}

func (b bench) wantWaiting(want ...string) {
	b.Helper()
	if d := cmp.Diff(want, b.waiting(0)); d != "" {
		b.Errorf("waiting orders: %s", d)
	}
}

func (b bench) wantCounts(want scheduler.OutboxCounts) {
	b.Helper()
	c, err := b.s.Counts(b.Context())
	b.must(err)
	if c.Outbox != want {
		b.Errorf("counts: %+v, want %+v", c.Outbox, want)
	}
}

func (b bench) wantCursor(target string, want uint64) {
	b.Helper()
	if c, err := b.o.Cursor(b.Context(), target); err != nil || c != want {
		b.Errorf("cursor of %s: %d, %v, want %d", target, c, err, want)
	}
}

func (b bench) dead() (words []string) {
	b.Helper()
	b.must(b.s.Dead(b.Context(), func(d push.Dead) error {
		words = append(words, d.Target+" "+d.URL+" "+d.Words)
		return nil
	}))
	return words
}

// addDead makes the only waiting order of the URL a dead letter.
func (b bench) addDead(target string, seq uint64, url string) {
	b.Helper()
	e := push.Entry{Seq: seq, URL: url, Body: []byte("doc")}
	b.must(b.o.AddDead(b.Context(), target, e, "bad", time.Unix(5, 0)))
}

func TestEntriesInOrder(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://a.test/1", document("one"))
	b.crawl("http://a.test/2", document("two"))
	b.crawl("http://a.test/3", deletion())
	b.wantWaiting("1 add http://a.test/1 one", "2 add http://a.test/2 two", "3 delete http://a.test/3 gone")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 3})
	if got := b.s.OutboxBytes(); got != 10 {
		t.Errorf("OutboxBytes: %d", got)
	}
	for _, c := range []struct{ n, bytes, want int }{{1, 100, 1}, {9, 6, 2}, {9, 1, 1}, {9, 0, 1}, {0, 100, 0}} {
		e, err := b.o.Entries(t.Context(), 0, c.n, c.bytes)
		if err != nil || len(e) != c.want {
			t.Errorf("Entries(n %d, bytes %d): %d, %v, want %d", c.n, c.bytes, len(e), err, c.want)
		}
	}
	if d := cmp.Diff([]string{"3 delete http://a.test/3 gone"}, b.waiting(2)); d != "" {
		t.Error(d)
	}
}

// What is sent soon after it was stored is not read from its file, which may be as good as gone meanwhile.
func TestRecentBodiesAreInMemory(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://a.test/1", document("one"))
	names, err := filepath.Glob(filepath.Join(b.s.dir, "*"+bodyfiles.Ext))
	if err != nil || len(names) != 1 {
		t.Fatalf("segments: %v, %v", names, err)
	}
	aside := filepath.Join(t.TempDir(), "aside")
	b.must(os.Rename(names[0], aside))
	b.wantWaiting("1 add http://a.test/1 one")
	b.must(os.Rename(aside, names[0])) // it is verified at the end
}

func TestNewerOrderReplaces(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://a.test/1", document("one"))
	b.crawl("http://a.test/2", document("two"))
	b.crawl("http://a.test/1", deletion())
	b.wantWaiting("2 add http://a.test/2 two", "3 delete http://a.test/1 gone")
	b.crawl("http://a.test/2", pendingDeletion(0))
	b.wantWaiting("2 add http://a.test/2 two", "3 delete http://a.test/1 gone")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2, Pending: 1})
	b.crawl("http://a.test/2", document("new"))
	b.wantWaiting("3 delete http://a.test/1 gone", "5 add http://a.test/2 new")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2})
	b.addDead("x", 5, "http://a.test/2")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2, Dead: 1})
	b.crawl("http://a.test/2", document("newer"))
	b.wantCounts(scheduler.OutboxCounts{Waiting: 2})
}

func TestSafeWaitsForSlowestTarget(t *testing.T) {
	b := newBench(t, "x", "y")
	for i := range 5 {
		b.crawl(fmt.Sprintf("http://a.test/%d", i), document("d"))
	}
	b.must(b.o.Safe(t.Context(), "x", 4))
	b.wantCounts(scheduler.OutboxCounts{Waiting: 5})
	b.must(b.o.Safe(t.Context(), "y", 2))
	b.wantCounts(scheduler.OutboxCounts{Waiting: 3})
	b.must(b.o.Safe(t.Context(), "y", 1))
	b.wantCursor("y", 2)
	b.must(b.o.Safe(t.Context(), "y", 1000)) // more than there is: what comes next is not safe
	b.wantCursor("y", 5)
	b.wantWaiting("5 add http://a.test/4 d")
	b.crawl("http://a.test/9", document("later"))
	b.wantWaiting("5 add http://a.test/4 d", "6 add http://a.test/9 later")
	if err := b.o.Safe(t.Context(), "z", 1); err == nil {
		t.Error("Safe of an unknown target gave no error")
	}
	if _, err := b.o.Cursor(t.Context(), "z"); err == nil {
		t.Error("Cursor of an unknown target gave no error")
	}
}

func TestTargetsComeAndGo(t *testing.T) {
	b := newBench(t, "x", "y")
	for i := range 4 {
		b.crawl(fmt.Sprintf("http://a.test/%d", i), document("d"))
	}
	b.must(b.o.Safe(t.Context(), "x", 3))
	b.must(b.o.Safe(t.Context(), "y", 1))
	b.addDead("y", 2, "http://a.test/1")
	b.open("x", "y", "new")
	b.wantCursor("new", 1)
	b.open("x", "new")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 3})
	b.open("x")
	b.wantCursor("x", 3)
	b.wantWaiting("4 add http://a.test/3 d")
	b.open() // no target: nothing is lost
	b.wantWaiting("4 add http://a.test/3 d")
	b.open("later")
	b.wantCursor("later", 3)
	for _, name := range []string{"", "a\x00b"} {
		if err := b.o.Open(t.Context(), []string{name}); err == nil {
			t.Errorf("Open with target %q gave no error", name)
		}
	}
}

// TestLateTargets names targets of a store before, while and after it sends what it has.
func TestLateTargets(t *testing.T) {
	var log testlog.Buffer
	b := bench{T: t, s: openStore(t, t.TempDir(), Options{Durability: OS, MemtableBytes: MinMemtableBytes, Logger: slog.New(slog.NewTextHandler(&log, nil))})}
	b.o = b.s.Outbox()
	response := func(want ...string) {
		t.Helper()
		var got []string
		for _, m := range regexp.MustCompile(`refresh --all --full.* target=(.*)`).FindAllStringSubmatch(log.String(), -1) {
			got = append(got, m[1])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("late targets (-want +got):\n%s", d)
		}
	}
	b.open("first")
	b.crawl("http://a.test/1", document("d"))
	b.crawl("http://a.test/2", document("d"))
	b.open("first", "in-time") // both still wait
	response()
	b.must(b.o.Safe(t.Context(), "first", 1))
	b.must(b.o.Safe(t.Context(), "in-time", 1))
	b.open("in-time", "late")
	response("late documents=2")
	b.open("in-time", "late") // as after a restart
	response("late documents=2")
	b.open("in-time", "first") // forgotten meanwhile
	response("late documents=2", "first documents=2")
}

// addOrder puts an order of a URL without a deletion into the outbox.
func addOrder(g *group, u weburl.URL, o *scheduler.Order) error {
	_, err := g.order(u.Key(), &scheduler.Record{URL: u.String()}, false, o, false)
	return err
}

// Safe and the forgetting of a target over more orders than one transaction holds.
func TestManyOrders(t *testing.T) {
	const n = 3000
	b := newBench(t, "x", "slow")
	add := func() {
		t.Helper()
		b.must(b.s.change(t.Context(), func(g *group) error {
			for i := range n {
				u := parse(t, fmt.Sprintf("http://a.test/%d", i))
				if err := addOrder(g, u, document("body")); err != nil {
					return err
				}
				if err := g.seal(); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	add()
	b.must(b.o.Safe(t.Context(), "x", n))
	b.wantCounts(scheduler.OutboxCounts{Waiting: n})
	b.must(b.o.Safe(t.Context(), "slow", n-1))
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1})
	add()
	b.must(b.o.Safe(t.Context(), "x", 2*n))
	b.open("x")
	b.wantCounts(scheduler.OutboxCounts{})
}

func TestOutboxOutlivesRestart(t *testing.T) {
	dir := t.TempDir()
	b := bench{T: t, s: openStore(t, dir, quick)}
	b.o = b.s.Outbox()
	b.open("x")
	b.crawl("http://a.test/1", document("one"))
	b.must(b.o.Safe(t.Context(), "x", 1))
	b.crawl("http://a.test/2", document("two"))
	closeStore(t, b.s)
	b.s = openStore(t, dir, quick)
	b.o = b.s.Outbox()
	b.open("x")
	b.wantCursor("x", 1)
	b.must(b.o.Safe(t.Context(), "x", 2))
	b.crawl("http://a.test/3", document("three"))
	b.wantWaiting("3 add http://a.test/3 three") // no number comes twice
	mustVerify(t, b.s)
}

func TestChanged(t *testing.T) {
	b := newBench(t, "x")
	signalled := func() bool {
		select {
		case <-b.o.Changed():
			return true
		default:
			return false
		}
	}
	b.crawl("http://a.test/1", nil)
	b.crawl("http://a.test/1", pendingDeletion(0))
	if signalled() {
		t.Error("signal without a waiting order")
	}
	b.crawl("http://a.test/1", document("one"))
	b.crawl("http://a.test/2", document("two"))
	if !signalled() || signalled() {
		t.Error("want one signal")
	}
	b.crawl("http://a.test/2", pendingDeletion(0))
	_, err := release(t.Context(), b.s, scheduler.DeletionFilter{})
	b.must(err)
	if !signalled() {
		t.Error("no signal after a release")
	}
}

func TestBuryAfterNewerOrder(t *testing.T) {
	b := newBench(t, "x")
	b.crawl("http://a.test/1", document("one"))
	b.crawl("http://a.test/1", document("two"))
	b.addDead("x", 1, "http://a.test/1")
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1})
	e := push.Entry{Seq: 2, URL: "http://a.test/1"}
	if err := b.o.AddDead(t.Context(), "nobody", e, "", time.Time{}); err == nil {
		t.Error("AddDead for an unknown target gave no error")
	}
	e.URL = "::"
	if err := b.o.AddDead(t.Context(), "x", e, "", time.Time{}); err == nil {
		t.Error("AddDead of no URL gave no error")
	}
}

func TestCompleteTooLargeBody(t *testing.T) {
	b := newBench(t, "x")
	c := scheduler.Completion{Order: &scheduler.Order{Body: make([]byte, record.MaxBody+1)}}
	if _, err := scheduler.CompleteAndWait(t.Context(), b.s, c); err == nil || errors.Is(err, scheduler.ErrNotFound) {
		t.Errorf("Complete: %v", err)
	}
}

// A document also reports the move or the end of the order that it replaces.
func TestMovedIsInherited(t *testing.T) {
	b := newBench(t, "x")
	moved := func(url string) bool {
		t.Helper()
		entries, err := b.o.Entries(t.Context(), 0, 1000, 1<<30)
		b.must(err)
		for _, e := range entries {
			if e.URL == url {
				return e.Moved
			}
		}
		t.Fatalf("no order for %s waits", url)
		return false
	}
	first := document("one")
	first.Moved = true
	b.crawl("http://a.test/moved", first)
	b.crawl("http://a.test/moved", document("two"))
	b.crawl("http://a.test/moved", document("three"))
	b.crawl("http://a.test/stays", document("one"))
	b.crawl("http://a.test/stays", document("two"))
	b.crawl("http://a.test/deleted", deletion())
	b.crawl("http://a.test/deleted", document("back"))
	b.crawl("http://a.test/pending", pendingDeletion(0))
	b.crawl("http://a.test/pending", document("back"))
	for url, want := range map[string]bool{"http://a.test/moved": true, "http://a.test/stays": false, "http://a.test/deleted": true, "http://a.test/pending": true} {
		if got := moved(url); got != want {
			t.Errorf("%s: moved %t, want %t", url, got, want)
		}
	}
	b.crawl("http://a.test/dead", document("one"))
	entries, err := b.o.Entries(t.Context(), 0, 1000, 1<<30)
	b.must(err)
	b.must(b.o.AddDead(t.Context(), "x", entries[len(entries)-1], "bad", time.Unix(5, 0)))
	b.must(b.o.Safe(t.Context(), "x", entries[len(entries)-1].Seq))
	b.crawl("http://a.test/dead", document("two"))
	b.crawl("http://a.test/end", first)
	b.crawl("http://a.test/end", deletion())
	for url, want := range map[string]bool{"http://a.test/dead": true, "http://a.test/end": false} {
		if got := moved(url); got != want {
			t.Errorf("%s: moved %t, want %t", url, got, want)
		}
	}
}
