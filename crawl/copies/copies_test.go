package copies

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/copysites"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func leaseOf(t *testing.T, raw string) *scheduler.Lease {
	t.Helper()
	u := parsed(t, raw)
	return &scheduler.Lease{URL: u, Key: u.Key()}
}

// exactly is what is compared of a page that is too short to be nearly another.
func exactly(n byte) *Content {
	c := &Content{hash: [16]byte{n}}
	c.setPlace()
	return c
}

// records is a Store that calls reading after each look-up.
type records struct {
	Store
	known   map[weburl.Key]scheduler.Record
	reading func()
}

func (s *records) Lookup(_ context.Context, k weburl.Key) (scheduler.Record, error) {
	r, ok := s.known[k]
	s.reading()
	if !ok {
		return r, scheduler.ErrNotFound
	}
	return r, nil
}

// TestStoreIsReadWithoutTheMutex: all workers ask one Detector, so none may make the others
// wait for the store. What changes while it is read is seen all the same.
func TestStoreIsReadWithoutTheMutex(t *testing.T) {
	of, page := leaseOf(t, "http://h/original"), leaseOf(t, "http://h/copy")
	is := exactly(1)
	for _, changes := range []bool{false, true} {
		store := &records{known: map[weburl.Key]scheduler.Record{of.Key: {URL: of.URL.String(), Indexed: true, Hash: is.hash}}}
		d := New(store, nil, nil)
		d.addPage(is.place, of.Key, false)
		reads := 0
		store.reading = func() {
			if !d.mu.TryLock() {
				t.Fatal("the store is read under the mutex of all workers")
			}
			d.mu.Unlock()
			if reads++; reads == 1 && changes {
				store.known[of.Key] = scheduler.Record{URL: of.URL.String(), Indexed: true, Hash: [16]byte{2}}
				d.settled(of)
			}
		}
		got, why, _, err := d.Original(t.Context(), page, exactly(1))
		if err != nil {
			t.Fatal(err)
		}
		if found := got != nil; found == changes || found != (why == scheduler.ReasonCopy) {
			t.Errorf("the original changed meanwhile: %v; found %v, %v", changes, got, why)
		}
	}
}

// TestLoadedInFlight: a copy whose record is read while it is fetched again, and is one
// still, is known when its original goes.
func TestLoadedInFlight(t *testing.T) {
	of, page := parsed(t, "http://h/original"), leaseOf(t, "http://h/copy")
	own := exactly(1)
	own.copyOf = of.Key()
	page.Record = scheduler.Record{URL: page.URL.String(), DuplicateOf: of.String(), Reason: scheduler.ReasonCopy, Hash: own.hash}
	for _, goes := range []bool{false, true} {
		store := &records{known: map[weburl.Key]scheduler.Record{of.Key(): {URL: of.String()}}, reading: func() {}}
		d := New(store, nil, nil)
		d.inFlight[page.Key] = own
		d.inFlight[of.Key()] = exactly(1)
		if orphan, err := d.load(t.Context(), page.Key, &page.Record); orphan || err != nil {
			t.Fatalf("an orphan: %v, error %v", orphan, err)
		}
		if goes {
			own.copyOf = weburl.Key{}
		}
		d.settled(page)
		want := []weburl.Key{page.Key}
		if goes {
			want = nil
		}
		if diff := cmp.Diff(want, d.take(of.Key())); diff != "" {
			t.Errorf("it is no copy any more: %v: copies (-want +got):\n%s", goes, diff)
		}
	}
}

// TestUnchangedPage: the signature of a page that has not changed is taken from its record,
// unless the frame of its host is learnt from it, or the record has none that can be read.
func TestUnchangedPage(t *testing.T) {
	pages := copysites.Site(copysites.Layout{Host: "a.example", Frame: 100, Own: 200, Pages: 400, Seed: 3})
	w := newWorld(t, pages)
	w.crawl(in(1, pages)...)
	taken := 0
	for i := range pages {
		u, p := w.urls[i], &pages[i]
		r := w.records[u.Key()]
		l := &scheduler.Lease{URL: u, Key: u.Key(), Record: r}
		document := push.Document{Text: p.Text, Title: p.Title, Source: "all"}
		same := w.d.Compare(l, &document, p.Title, u.HostKey(), r.Hash)
		if same.text == nil {
			taken++
		}
		changed := w.d.Compare(l, &document, p.Title, u.HostKey(), [16]byte{1})
		l.Record.Signature = "\x02 cannot be read"
		old := w.d.Compare(l, &document, p.Title, u.HostKey(), r.Hash)
		if changed.text == nil || old.text == nil || same.Stored() != r.Signature || changed.Stored() != r.Signature || old.Stored() != r.Signature {
			t.Fatalf("%s has another signature", p.URL())
		}
	}
	if taken != len(pages)-32 {
		t.Errorf("of %d pages %d are not read again, want all but the 32 of the frame", len(pages), taken)
	}
}

// TestEqualTokensAreNoTitle: titles that differ in a number have, one in some, a token in
// common with another. No record is read for that, and none is judged again; for a page that
// has the title of another one is.
func TestEqualTokensAreNoTitle(t *testing.T) {
	pages := copysites.Site(copysites.Layout{Host: "a.example", Frame: 50, Own: 100, Pages: 1000, Seed: 9})
	store, reads := &records{}, 0
	store.reading = func() { reads++ }
	d := New(store, nil, nil)
	d.keepHost(&host{})
	for i := range pages {
		l := leaseOf(t, pages[i].URL())
		c := d.Compare(l, &push.Document{Text: pages[i].Text}, fmt.Sprint("Article ", i, " of the shop"), weburl.HostKey{}, [16]byte{byte(i), byte(i >> 8), 1})
		if _, _, _, err := d.Original(t.Context(), l, c); err != nil {
			t.Fatal(err)
		}
		if len(c.review) > 0 {
			t.Errorf("the titles of article %d are looked at again", i)
		}
	}
	if reads > 0 {
		t.Errorf("%d records were read", reads)
	}
	l := leaseOf(t, "http://a.example/again")
	c := d.Compare(l, &push.Document{Text: pages[7].Text + " and more"}, "Article 7 of the shop", weburl.HostKey{}, [16]byte{2})
	if _, _, _, err := d.Original(t.Context(), l, c); err != nil || reads != 1 || len(c.review) == 0 {
		t.Errorf("of a page with the title of another %d records were read (%v), and titles %v looked at again", reads, err, c.review)
	}
}

// BenchmarkDuplicate is what looking for copies costs of one page, with 600 words of which
// 200 are of the frame: its signature, the frame of its host, and the look-up.
func BenchmarkDuplicate(b *testing.B) {
	pages := copysites.Site(copysites.Layout{Host: "a.example", Frame: 200, Own: 400, Pages: 1000, Seed: 3})
	d := New(teststore.New(b), nil, nil)
	leases := make([]*scheduler.Lease, len(pages))
	for i := range pages {
		u, err := weburl.Parse(pages[i].URL())
		if err != nil {
			b.Fatal(err)
		}
		leases[i] = &scheduler.Lease{URL: u, Key: u.Key()}
	}
	for i := range 100_000 {
		c := exactly(0)
		c.place.Body = uint32(i) * 0x9e3779b1
		d.addPage(c.place, weburl.Key{byte(i), byte(i >> 8), byte(i >> 16)}, false)
	}
	b.ReportMetric(float64(len(pages[0].Text)), "B/page")
	for i := 0; b.Loop(); i++ {
		p, l := &pages[i%len(pages)], leases[i%len(pages)]
		c := d.Compare(l, &push.Document{Text: p.Text}, p.Title, weburl.HostKey{1}, [16]byte{byte(i), byte(i >> 8)})
		if _, _, _, err := d.Original(context.Background(), l, c); err != nil {
			b.Fatal(err)
		}
		if c.Stored() == "" {
			b.Fatal(fmt.Sprint("no signature of ", p.URL()))
		}
		d.Abandon(l.Key)
	}
}
