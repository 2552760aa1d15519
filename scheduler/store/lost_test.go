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
	b.must(b.o.Bury(b.Context(), "x", entries[0], entries[0].Damage, time.Unix(5, 0)))
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
