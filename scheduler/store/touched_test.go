package store

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestTakenBetweenTwoBatches: one page changes the records of so many URLs that it takes
// several batches. What is taken when the first of them is durable, and the next is not,
// may be of before or after the change; a completion from it must not undo the change.
func TestTakenBetweenTwoBatches(t *testing.T) {
	const pages, alias = 2000, "http://alias.test/"
	var first atomic.Uint64 // the batch after which the writer stops
	stopped, proceed := make(chan struct{}), make(chan struct{})
	var s *Store
	o := quick
	o.MemtableBytes = MinMemtableBytes
	o.at = func(point string) {
		if n := first.Load(); point == atBeforeCommit && n > 0 && s.commits.Load() == n {
			first.Store(0)
			close(stopped)
			<-proceed
		}
	}
	s = openStore(t, t.TempDir(), o)
	settled(t, s)
	links := make([]scheduler.Link, pages)
	for i := range links {
		links[i] = linkTo(t, fmt.Sprintf("http://h%d.test/%d", i%5, i))
	}
	addLinks(t, s, append(links, linkTo(t, "http://page.test/"))...)
	page := waitingAt(t, s, "http://page.test/")
	c := scheduler.Completion{Key: page.Key, Taken: placeOf(&page.Record), Seq: page.Seq, Next: page.Record, Links: slices.Clone(links)}
	c.Next.State = scheduler.AtRest
	for i := range c.Links {
		c.Links[i].Alias = alias
	}
	first.Store(s.commits.Load() + 1)
	completed := make(chan error)
	go func() {
		_, err := scheduler.CompleteAndWait(t.Context(), s, c)
		completed <- err
	}()
	<-stopped
	taken := waiting(t, s)
	close(proceed)
	if err := <-completed; err != nil {
		t.Fatal(err)
	}
	for i := range taken {
		w := &taken[i]
		if w.Key == page.Key {
			continue
		}
		c := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Next: w.Record, Old: &w.Record, AsOf: w.AsOf}
		c.Next.State = scheduler.AtRest
		if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Inspect(t.Context(), scheduler.Filter{}, func(k weburl.Key, r scheduler.Record) error {
		if k != page.Key && !slices.Equal(r.Aliases, []string{alias}) {
			t.Errorf("%s has the aliases %q", r.URL, r.Aliases)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mustVerify(t, s)
}

// waitingAt returns a URL that waits.
func waitingAt(t *testing.T, s *Store, url string) scheduler.WaitingURL {
	t.Helper()
	urls := waiting(t, s)
	i := slices.IndexFunc(urls, func(w scheduler.WaitingURL) bool { return w.Record.URL == url })
	if i < 0 {
		t.Fatalf("%s does not wait", url)
	}
	return urls[i]
}

// recordReads counts the records that are read from an engine.
type recordReads struct {
	kv.Engine
	n atomic.Int64
}

func (e *recordReads) View() kv.View { return recordsView{e.Engine.View(), e} }

type recordsView struct {
	kv.View
	of *recordReads
}

func (v recordsView) Get(key []byte) ([]byte, error) {
	if key[0] == record.KindURL {
		v.of.n.Add(1)
	}
	return v.View.Get(key)
}

// TestQueueFromMemory: the records of URLs that were queued a short time ago are not read from the database, and are
// the same as there.
func TestQueueFromMemory(t *testing.T) {
	const urls = 20
	e := &recordReads{Engine: &memkv.Engine{}}
	s, err := On(e, "in memory", Options{Logger: discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	var links []scheduler.Link
	for i := range urls {
		links = append(links, linkTo(t, fmt.Sprintf("http://h.test/%d", i)))
	}
	addLinks(t, s, links...)
	addLinks(t, s, linkTo(t, "http://other.test/")) // is stored once memory knows of the batch before
	p := scheduler.Place{Source: links[0].Fifo, Host: links[0].URL.HostKey()}
	var read [2][]scheduler.WaitingURL
	for i, want := range []int64{0, urls} {
		e.n.Store(0)
		if read[i], err = s.Queue(t.Context(), p, 0, urls+1); err != nil {
			t.Fatal(err)
		}
		if n := e.n.Load(); n != want {
			t.Errorf("call %d of Queue reads %d records, want %d", i+1, n, want)
		}
	}
	for i := range urls {
		if !reflect.DeepEqual(read[0][i].Record, read[1][i].Record) || read[0][i].Seq != read[1][i].Seq {
			t.Errorf("%+v in memory, %+v stored", read[0][i], read[1][i])
		}
	}
}

// TestQueuedIsBounded: records that find no room are left out, and those that do not wait any more make room.
func TestQueuedIsBounded(t *testing.T) {
	value := func(s scheduler.State) []byte {
		return record.Append(nil, &scheduler.Record{URL: "http://h.test/", State: s}, nil)
	}
	waits, timed := value(scheduler.Waiting), value(scheduler.Timed)
	q := newQueued(2 * len(waits))
	for i := range byte(3) {
		q.learn(weburl.Key{i}, waits, uint64(i))
	}
	if r := q.take(weburl.Key{2}); r.value != nil {
		t.Error("the third of two is kept")
	}
	q.learn(weburl.Key{0}, timed, 3)
	q.learn(weburl.Key{2}, waits, 4)
	q.learn(weburl.Key{1}, waits, 5)
	if a, b, c := q.take(weburl.Key{0}), q.take(weburl.Key{1}), q.take(weburl.Key{2}); a.value != nil || b.asOf != 5 || c.asOf != 4 {
		t.Errorf("%v, %v, %v", a, b, c)
	}
	if q.left != 2*len(waits) || len(q.records) > 0 {
		t.Errorf("%d bytes are left, with %d records", q.left, len(q.records))
	}
}
