package storetest

import (
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

func addNew(f *fixture) {
	l := f.link("http://a.test/1", scheduler.IndexFollow)
	l.Root, l.Shift, l.Hops, l.Alias = true, -1, 2, "http://a.test/alias"
	places, n, err := f.Add(f.ctx, []scheduler.Link{l}, false)
	f.must(err)
	if n != 1 {
		f.Errorf("Add took %d URLs, want 1", n)
	}
	f.equal("places", places, []scheduler.Place{placeOfLink(l)})
	want := scheduler.Record{
		URL: "http://a.test/1", Host: l.URL.HostKey(), Origin: "http://a.test",
		State: scheduler.Waiting, Source: scheduler.IndexFollow, Fifo: scheduler.IndexFollow,
		Root: true, Shift: -1, Depth: 3, Hops: 2, Referrer: "http://from.test/", Aliases: []string{"http://a.test/alias"},
	}
	f.equal("record", f.lookup(l), want)
	f.equal("record in its queue", f.waiting(l).Record, want)
	if c := f.counts(); c.Known != 1 || c.Hosts != 1 || c.Pending[scheduler.IndexFollow] != 1 || c.ByClass[scheduler.Pending] != 1 {
		f.Errorf("Counts = %+v", c)
	}
}

func addDuplicates(f *fixture) {
	l := f.link("http://a.test/1", scheduler.Index)
	other := l
	other.Fifo = scheduler.Follow
	places, n, err := f.Add(f.ctx, []scheduler.Link{l, other, l}, false)
	f.must(err)
	if n != 1 {
		f.Errorf("Add took %d URLs, want 1", n)
	}
	f.equal("places", places, []scheduler.Place{placeOfLink(l)})
	f.equal("queue", keysOf(f.queue(placeOfLink(l))), keysOfLinks(l))
}

func addKnown(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	other := l
	other.Fifo, other.Depth, other.Alias, other.Root = scheduler.User, 0, "http://a.test/alias", true
	places, n, err := f.Add(f.ctx, []scheduler.Link{other}, false)
	f.must(err)
	if n != 0 || len(places) != 0 {
		f.Errorf("Add of a known URL gave %v, %d; want nothing", places, n)
	}
	f.equal("record", f.lookup(l), w.Record)
	if got := f.waiting(l).Seq; got != w.Seq {
		f.Errorf("Seq = %d, want %d: the URL lost its place", got, w.Seq)
	}
}

// requeue re-queues l into fifo and expects that it was taken.
func (f *fixture) requeue(l scheduler.Link, fifo scheduler.Source) {
	f.Helper()
	l.Fifo = fifo
	places, n, err := f.Add(f.ctx, []scheduler.Link{l}, true)
	f.must(err)
	if n != 1 {
		f.Errorf("Add took %d URLs, want 1", n)
	}
	f.equal("places", places, []scheduler.Place{placeOfLink(l)})
	if w := f.waiting(l); w.Record.Source != fifo || w.Record.Fifo != fifo {
		f.Errorf("waits in %d (fifo %d), want %d", w.Record.Source, w.Record.Fifo, fifo)
	}
}

func requeueTimed(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	f.timed(w, time.Unix(1e9, 0))
	f.requeue(l, scheduler.Follow)
	places, next, err := f.Due(f.ctx, time.Unix(2e9, 0), scheduler.Refresh, 10)
	f.must(err)
	if len(places) != 0 || !next.IsZero() {
		f.Errorf("Due = %v, %v: the URL is still timed", places, next)
	}
	if r := f.lookup(l); r.Class != scheduler.OK || r.Status != 200 || !r.Settled {
		f.Errorf("the record lost known values: %+v", r)
	}
}

func requeueAtRest(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	f.complete(completion(w))
	f.requeue(l, scheduler.Index)
}

func requeueRefresh(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	f.timed(w, time.Unix(1e9, 0))
	_, _, err := f.Due(f.ctx, time.Unix(1e9, 0), scheduler.Refresh, 10)
	f.must(err)
	p := placeOf(f.waiting(l).Record)
	f.requeue(l, scheduler.User)
	if q := f.queue(p); len(q) != 0 {
		f.Errorf("the URL is still in the refresh source: %v", q)
	}
}

func requeueWaiting(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	other := l
	other.Fifo = scheduler.User
	places, n, err := f.Add(f.ctx, []scheduler.Link{other}, true)
	f.must(err)
	if n != 0 || len(places) != 0 {
		f.Errorf("Add gave %v, %d; want nothing: the URL waits in a fifo", places, n)
	}
	if got := f.waiting(l); got.Seq != w.Seq || got.Record.Source != scheduler.Index {
		f.Errorf("the URL moved: %+v", got)
	}
}

func requeueRoot(f *fixture) {
	l, w := f.put("http://a.test/1", scheduler.Index)
	f.complete(completion(w))
	l.Root = true
	f.requeue(l, scheduler.User)
	f.complete(completion(f.waiting(l)))
	if !f.lookup(l).Root {
		f.Error("the URL is not a root")
	}
	l.Root = false
	f.requeue(l, scheduler.User)
	if !f.lookup(l).Root {
		f.Error("the URL is no longer a root")
	}
}

func addKinds(f *fixture) {
	sitemap, item := f.link("http://a.test/sitemap.xml", scheduler.Index), f.link("http://a.test/item", scheduler.Index)
	sitemap.Kind, item.Kind = scheduler.KindNamedSitemap, scheduler.KindItem
	places, n, err := f.Add(f.ctx, []scheduler.Link{sitemap, item}, false)
	f.must(err)
	f.equal("new", n, 2)
	f.equal("places", places, []scheduler.Place{placeOfLink(sitemap)})
	f.equal("waiting", keysOf(f.queue(placeOfLink(sitemap))), keysOfLinks(sitemap))
	if got := f.lookup(sitemap).Kind; got != scheduler.KindNamedSitemap {
		f.Errorf("kind of the sitemap is %s", got)
	}
	if r := f.lookup(item); r.Kind != scheduler.KindItem || r.State != scheduler.AtRest {
		f.Errorf("the item has kind %s and state %d", r.Kind, r.State)
	}
}

func addItems(f *fixture) {
	page, pw := f.put("http://a.test/page", scheduler.Index)
	at := time.Unix(1e9, 0).UTC()
	item := f.link("http://a.test/item", scheduler.Index)
	item.Kind, item.Referrer = scheduler.KindItem, "http://a.test/feed"
	page.Kind = scheduler.KindItem
	adds := func(what string, hash byte, always bool, want uint64) {
		f.Helper()
		for _, l := range []*scheduler.Link{&item, &page} {
			l.Item = &scheduler.Item{
				Document: scheduler.Document{Body: []byte("{}"), Hash: [16]byte{hash}, Source: "src"}, At: at, RulesVersion: 7, Always: always,
			}
		}
		_, _, err := f.Add(f.ctx, []scheduler.Link{item, page}, false)
		f.must(err)
		f.equal(what+": waiting orders", f.counts().Outbox.Waiting, want)
		r := f.lookup(item)
		if !r.Indexed || r.Hash != item.Item.Hash || r.PushedSource != "src" || r.Class != scheduler.OK || r.RulesVersion != 7 || r.State != scheduler.AtRest || !r.CheckedAt.Equal(at) {
			f.Errorf("%s: the item is %+v", what, r)
		}
	}
	adds("new", 1, false, 1)
	adds("changed", 2, false, 1) // in place of the first
	f.equal("a page stays one", f.lookup(page), pw.Record)
}
