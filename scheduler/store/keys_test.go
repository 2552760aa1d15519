package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// keysCase is a crawl whose keys are counted: all its pages are fetched, or fetched again.
type keysCase struct {
	hosts, links int
	refresh      bool
	most         float64 // keys a page
}

// TestKeysAPage counts the keys of a page, with its share of those of queues, hosts and batches, from the link to the
// delivery of its document: batches of 64 pages with a document each, whose links are stored.
func TestKeysAPage(t *testing.T) {
	for name, c := range map[string]keysCase{
		"one host":  {hosts: 1, links: 20, most: 7.4},
		"20 hosts":  {hosts: 20, links: 20, most: 8.4},
		"200 links": {hosts: 1, links: 200, most: 7.4},
		"refresh":   {hosts: 1, links: 20, refresh: true, most: 6.5},
	} {
		t.Run(name, func(t *testing.T) {
			got := keysAPage(t, c)
			t.Logf("%.2f keys a page", got)
			if got > c.most {
				t.Errorf("%.2f keys a page, want %.1f at most", got, c.most)
			}
		})
	}
}

func keysAPage(t *testing.T, kc keysCase) float64 {
	const batch, batches = 64, 8
	const pages = batch * batches
	b := newBench(t, "target")
	url := func(i int) string { return fmt.Sprintf("http://h%d.test/%d", i%kc.hosts, i) }
	seeds := make([]scheduler.Link, batch)
	for i := range seeds {
		seeds[i] = linkTo(t, url(i))
	}
	_, _, err := b.s.Add(t.Context(), seeds, false)
	b.must(err)
	settled(t, b.s)
	crawl := func(i int, w scheduler.WaitingURL, at time.Time) error {
		c := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Old: &w.Record, AsOf: w.AsOf, Next: w.Record}
		c.Next.State, c.Next.Class, c.Next.NextAt = scheduler.Timed, scheduler.OK, at
		if i%2 == 0 || !w.Record.Indexed { // half of those that are fetched again have changed
			c.Order, c.Next.Indexed = document(fmt.Sprint("document ", i)), true
			c.Outlinks, c.Next.Linked = scheduler.ReplaceOutlinks, true
			for j := range kc.links {
				c.Links = append(c.Links, linkTo(t, url(max(i-j, 0))))
			}
			c.Links = append(c.Links, linkTo(t, url(i+batch)))
		}
		_, err := scheduler.CompleteAndWait(t.Context(), b.s, c)
		return err
	}
	// round completes the next 64 of the queues in one batch, and sends what they order.
	round := func(n int) {
		var urls []scheduler.WaitingURL
		for p := range placesOf(t, b.s) {
			all, err := b.s.Queue(t.Context(), p, 0, batch/kc.hosts+1)
			b.must(err)
			urls = append(urls, all...)
		}
		urls = urls[:min(batch, len(urls))]
		together(t, b.s, len(urls), func(i int) error {
			return crawl(n*batch+i, urls[i], time.Unix(1e9+int64(n*batch+i)*97, int64(i)))
		})
		entries, err := b.o.Entries(t.Context(), 0, 2*batch, 1<<20)
		b.must(err)
		if len(entries) > 0 {
			b.must(b.o.Safe(t.Context(), "target", entries[len(entries)-1].Seq))
		}
	}
	keys := func() uint64 {
		st, err := b.s.Stats()
		b.must(err)
		return st.Keys
	}
	begin := keys()
	for n := range batches {
		round(n)
	}
	if !kc.refresh {
		return float64(keys()-begin) / pages
	}
	c, err := b.s.Counts(t.Context())
	b.must(err)
	if c.Timed != pages {
		t.Fatalf("%d pages are timed, want %d", c.Timed, pages)
	}
	for range batch { // what is left in the queue is not counted
		p := placeOf(&scheduler.Record{Source: scheduler.Index, Host: seeds[0].URL.HostKey()})
		all, err := b.s.Queue(t.Context(), p, 0, 1)
		b.must(err)
		if len(all) > 0 {
			b.must(b.s.Forget(t.Context(), all[0].Key, nil))
		}
	}
	begin = keys()
	for n := range batches {
		_, _, err := b.s.Due(t.Context(), time.Unix(2e9, 0), scheduler.Refresh, batch)
		b.must(err)
		round(n)
	}
	return float64(keys()-begin) / pages
}
