package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// otherDisk is the other copy's disk, as a node asks for it.
type otherDisk struct {
	dir   string
	err   error
	wrong bool // it has something else
	asked int
}

func (d *otherDisk) Bodies(_ context.Context, places []record.BodyPlace) ([][]byte, error) {
	d.asked++
	all := make([][]byte, len(places))
	for i, p := range places {
		all[i], _ = ReadBody(d.dir, p)
		if d.wrong && all[i] != nil {
			all[i][0]++
		}
	}
	return all, d.err
}

// awayCopies are two copies, the second of which leads, with a document of each: first that of the one that
// follows, then its own. rec changes the first document's record.
func awayCopies(t *testing.T, rec func(*scheduler.Record)) (*copies, *otherDisk, [2]string) {
	t.Helper()
	c := newCopies(t, rand.New(rand.NewPCG(1, 1)))
	disk := &otherDisk{dir: c.all[0].dir}
	urls := [2]string{"http://h.test/0", "http://h.test/1"}
	for turn, u := range urls {
		c.all[turn].options.Elsewhere = disk
		c.promote(turn)
		key := parse(t, u).Key()
		_, _, err := c.s.Add(t.Context(), []scheduler.Link{linkTo(t, u)}, true)
		c.must(err)
		was, err := c.s.Lookup(t.Context(), key)
		c.must(err)
		next := scheduler.Completion{Key: key, Taken: placeOf(&was), Seq: was.Seq, Next: was, Order: &scheduler.Order{Source: "src", Moved: true, Body: bytes.Repeat([]byte(u), 100)}}
		next.Next.State, next.Next.Indexed, next.Next.ETag, next.Next.Hash = scheduler.AtRest, true, `"e"`, [16]byte{1}
		if turn == 0 && rec != nil {
			rec(&next.Next)
		}
		_, err = scheduler.CompleteAndWait(t.Context(), c.s, next)
		c.must(err)
		if turn == 0 {
			c.follow()
		}
	}
	return c, disk, urls
}

func (c *copies) entries(after uint64) []push.Entry {
	c.t.Helper()
	all, err := c.s.Outbox().Entries(c.t.Context(), after, 100, 1<<20)
	c.must(err)
	return all
}

// TestBodiesAreAskedOfOtherCopies: what the other node wrote is pushed by this one. While that node does not answer,
// nothing behind its document is, and nothing is given up.
func TestBodiesAreAskedOfOtherCopies(t *testing.T) {
	c, disk, urls := awayCopies(t, nil)
	disk.err = errors.New("no answer")
	if all, err := c.s.Outbox().Entries(t.Context(), 0, 100, 1<<20); !errors.Is(err, push.ErrElsewhere) {
		t.Errorf("without an answer: %d entries, %v, want ErrElsewhere", len(all), err)
	}
	disk.err = nil
	all := c.entries(0)
	for i, u := range urls {
		if len(all) != 2 || all[i].URL != u || all[i].Damage != "" || all[i].Lost || !bytes.Equal(all[i].Body, bytes.Repeat([]byte(u), 100)) {
			t.Fatalf("with the other node: %+v", all)
		}
	}
	asked := disk.asked
	if own := c.entries(all[0].Seq); len(own) != 1 || own[0].URL != urls[1] || disk.asked != asked {
		t.Errorf("behind it: %d entries, asked %d times, want its own document without a question", len(own), disk.asked-asked)
	}
	// The entries before a body that cannot be had now are given at once.
	c.follow()
	c.promote(0)
	c.all[0].options.Elsewhere = disk
	disk.err = errors.New("no answer")
	if mine := c.entries(0); len(mine) != 1 || mine[0].URL != urls[0] || mine[0].Damage != "" {
		t.Errorf("on the first node: %+v, want its own document", mine)
	}
}

// TestBodiesThatAreGone: the document is fetched again, whatever the site says of changes. Its order keeps its
// place, is for no indexer, and is no dead letter.
func TestBodiesThatAreGone(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		t.Run(fmt.Sprint("damaged ", wrong), func(t *testing.T) {
			c, disk, urls := awayCopies(t, nil)
			if disk.wrong = wrong; !wrong {
				disk.dir = t.TempDir()
			}
			for range 2 { // as found out, and as read again, also after a restart of the relay
				all := c.entries(0)
				if len(all) != 2 || !all[0].Lost || all[0].Damage == "" || !all[0].Moved || all[0].Body != nil || all[1].Damage != "" {
					t.Fatalf("entries %+v, want the first lost", all)
				}
			}
			if disk.asked != 1 {
				t.Errorf("the other node was asked %d times, want once", disk.asked)
			}
			r, err := c.s.Lookup(t.Context(), parse(t, urls[0]).Key())
			c.must(err)
			if fate, why := r.Fate(); fate != scheduler.FateBodyLost || why != scheduler.ReasonBodyLost {
				t.Errorf("its fate is %v because of %v", fate, why)
			}
			if r.State != scheduler.Waiting || r.Source != scheduler.User || r.ETag != "" || r.Hash != [16]byte{} || !r.Indexed {
				t.Errorf("the record is %+v, want it to wait before what is new, without validators", r)
			}
			if n := c.counts(); n.Lost != 1 || n.Indexed != 2 {
				t.Errorf("%d documents are lost of %d, want 1 of 2", n.Lost, n.Indexed)
			}
			if st := c.s.committed.Load(); st.Dead != 0 || st.Waiting != 2 {
				t.Errorf("%d dead letters and %d orders, want 0 and 2", st.Dead, st.Waiting)
			}
			mustVerify(t, c.s)
			c.must(c.s.Outbox().Safe(t.Context(), "target", 1<<62))
			if left := c.entries(0); len(left) != 0 {
				t.Errorf("left: %+v", left)
			}
			mustVerify(t, c.s)
		})
	}
}

func (c *copies) counts() scheduler.Counts {
	c.t.Helper()
	n, err := c.s.Counts(c.t.Context())
	c.must(err)
	return n
}

// TestLostGoesFirst: a document that was lost is given out before all that is new, without a restart; a lease of it
// that was taken before counts no longer, since the page may have said that nothing changed. It is lost until it is had.
func TestLostGoesFirst(t *testing.T) {
	c, disk, urls := awayCopies(t, nil)
	disk.dir = t.TempDir()
	key := parse(t, urls[0]).Key()
	_, _, err := c.s.Add(t.Context(), []scheduler.Link{linkTo(t, urls[0])}, true)
	c.must(err)
	before, err := c.s.Lookup(t.Context(), key)
	c.must(err)
	var news []scheduler.Link
	for i := range 100 {
		news = append(news, linkTo(t, fmt.Sprintf("http://h%d.test/new", i)))
	}
	_, _, err = c.s.Add(t.Context(), news, false)
	c.must(err)
	set := scheduler.DefaultSettings()
	set.Throttle, set.Policy = 0, scheduler.Cautious
	f := scheduler.New(c.s, set, slog.New(slog.DiscardHandler))
	c.s.OnWork(f.Announce)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	defer func() { end(); c.must(<-ended) }()
	first, err := f.Next(ctx) // the frontier has read where work waits
	c.must(err)
	f.GiveBack(first, false, time.Time{})

	if all := c.entries(0); len(all) != 2 || !all[0].Lost {
		t.Fatalf("entries %+v, want the first lost", all)
	}
	old := scheduler.Completion{Key: key, Taken: placeOf(&before), Seq: before.Seq, Old: &before, Next: before}
	if _, err := scheduler.CompleteAndWait(t.Context(), c.s, old); !errors.Is(err, scheduler.ErrNotFound) {
		t.Errorf("a lease from before: %v, want ErrNotFound", err)
	}
	l, err := f.Next(ctx)
	c.must(err)
	if l.Record.URL != urls[0] || l.Record.ETag != "" {
		t.Fatalf("%s comes first (ETag %q), want the lost document, asked for whatever it is", l.Record.URL, l.Record.ETag)
	}
	c.must(f.Complete(ctx, l, scheduler.Result{Status: 503}))
	r, err := c.s.Lookup(t.Context(), key)
	c.must(err)
	if fate, _ := r.Fate(); fate != scheduler.FateBodyLost || r.DueSource(scheduler.Refresh) != scheduler.User || r.Status != 503 || c.counts().Lost != 1 {
		t.Errorf("after a visit that failed: %v, %+v", fate, r)
	}
	_, _, err = c.s.Add(ctx, []scheduler.Link{linkTo(t, urls[0])}, true)
	c.must(err)
	waits, err := c.s.Lookup(t.Context(), key)
	c.must(err)
	f.Announce([]scheduler.Place{placeOf(&waits)})
	for {
		if l, err = f.Next(ctx); err != nil || l.Key == key {
			break
		}
	}
	c.must(err)
	c.must(f.Complete(ctx, l, scheduler.Result{Status: 200, Document: &scheduler.Document{Body: []byte("{}"), Source: "src", Hash: [16]byte{9}}}))
	r, err = c.s.Lookup(t.Context(), key)
	c.must(err)
	if fate, _ := r.Fate(); fate != scheduler.FateIndexed || c.counts().Lost != 0 {
		t.Errorf("when it is had: %v, %d lost", fate, c.counts().Lost)
	}
	mustVerify(t, c.s)
}

// TestItemThatIsGone: what an item's own URL answers is another document, so its feed is read again.
func TestItemThatIsGone(t *testing.T) {
	const feed = "http://h.test/1" // which the second node completes
	c, disk, urls := awayCopies(t, func(r *scheduler.Record) { r.Kind, r.Referrer = scheduler.KindItem, feed })
	disk.dir = t.TempDir()
	if all := c.entries(0); len(all) != 2 || !all[0].Lost {
		t.Fatalf("entries %+v, want the first lost", all)
	}
	type due struct {
		State scheduler.State
		ETag  string
		Hash  [16]byte
	}
	var got [2]due
	for i, u := range urls {
		r, err := c.s.Lookup(t.Context(), parse(t, u).Key())
		c.must(err)
		got[i] = due{r.State, r.ETag, r.Hash}
	}
	if n := c.counts(); n.Lost != 1 {
		t.Errorf("%d documents are lost, want the item", n.Lost)
	}
	if diff := cmp.Diff([2]due{{State: scheduler.AtRest}, {State: scheduler.Waiting}}, got); diff != "" {
		t.Errorf("item and feed (-want +got):\n%s", diff)
	}
	mustVerify(t, c.s)
}

// TestItemWhoseFeedIsElsewhere: an item whose document is gone, and whose feed is in another partition, is fetched as a page.
func TestItemWhoseFeedIsElsewhere(t *testing.T) {
	c, disk, urls := awayCopies(t, func(r *scheduler.Record) { r.Kind, r.Referrer = scheduler.KindItem, "http://elsewhere.test/feed" })
	disk.dir = t.TempDir()
	if all := c.entries(0); len(all) != 2 || !all[0].Lost {
		t.Fatalf("entries %+v, want the first lost", all)
	}
	r, err := c.s.Lookup(t.Context(), parse(t, urls[0]).Key())
	c.must(err)
	if r.Kind != scheduler.KindPage || r.State != scheduler.Waiting || !r.BodyLost() {
		t.Errorf("%+v, want a page that waits", r)
	}
	mustVerify(t, c.s)
}

// TestBackupOfBodiesElsewhere: a backup has the documents that another node wrote, or says whose is missing.
func TestBackupOfBodiesElsewhere(t *testing.T) {
	c, disk, urls := awayCopies(t, nil)
	var out bytes.Buffer
	disk.err = errors.New("no answer")
	if _, err := c.s.Backup(t.Context(), &out); !errors.Is(err, errAway) || !strings.Contains(err.Error(), urls[0]) || errors.Is(err, scheduler.ErrDamaged) {
		t.Errorf("without an answer: %v", err)
	}
	disk.err = nil
	out.Reset()
	if _, err := c.s.Backup(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if found, err := Restore(t.Context(), dir, &out, Options{}); err != nil || found.Faults != 0 {
		t.Fatalf("restored: %+v, %v", found, err)
	}
	s, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.must(s.Close()) }()
	all, err := s.Outbox().Entries(t.Context(), 0, 100, 1<<20)
	if err != nil || len(all) != 2 || !bytes.Equal(all[0].Body, bytes.Repeat([]byte(urls[0]), 100)) {
		t.Errorf("restored: %+v, %v", all, err)
	}
}
