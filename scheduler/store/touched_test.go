package store

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
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
