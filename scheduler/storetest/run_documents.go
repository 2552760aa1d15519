package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// documents returns how many a link's host has, and sees to it that the sample holds such
// alone.
func (f *fixture) documents(l scheduler.Link) int {
	f.Helper()
	docs, err := f.Documents(f.ctx, l.URL.HostKey())
	f.must(err)
	if len(docs.Sample) > scheduler.DocumentSample || uint64(len(docs.Sample)) > docs.Count {
		f.Errorf("a sample of %d for %d documents", len(docs.Sample), docs.Count)
	}
	for i, k := range docs.Sample {
		if slices.Contains(docs.Sample[:i], k) {
			f.Errorf("key %s is twice in the sample", k)
		}
		if r, err := f.Lookup(f.ctx, k); err != nil || !r.Indexed || r.Host != l.URL.HostKey() {
			f.Errorf("%s is in the sample: %v, %+v", k, err, r)
		}
	}
	return int(docs.Count)
}

// index completes a waiting URL as a document, or as none.
func (f *fixture) index(l scheduler.Link, indexed bool) {
	f.Helper()
	c := withOld(f.waiting(l))
	c.Next.Indexed = indexed
	f.complete(c)
}

func documentsCounted(f *fixture) {
	unknown, err := f.Documents(f.ctx, weburl.HostKey{1})
	f.must(err)
	f.equal("documents of an unknown host", unknown, scheduler.HostDocuments{})
	one, _ := f.put("http://a.test/1", scheduler.Index)
	two, _ := f.put("http://a.test/2", scheduler.Index)
	other, _ := f.put("http://b.test/1", scheduler.Index)
	f.equal("documents", f.documents(one), 0)
	f.index(one, true)
	f.index(two, true)
	f.index(other, true)
	f.equal("documents", f.documents(one), 2)
	f.requeue(one, scheduler.Index)
	f.index(one, true)
	f.equal("documents after a visit", f.documents(one), 2)
	f.reopen()
	f.requeue(one, scheduler.Index)
	f.index(one, false)
	f.equal("documents after one went", f.documents(one), 1)
	f.revise(func(r scheduler.Record) *scheduler.Revision { r.Indexed = true; return &scheduler.Revision{Next: r} }, one)
	f.equal("documents after a revision", f.documents(one), 2)
	f.must(f.Forget(f.ctx, one.URL.Key(), nil))
	f.requeue(two, scheduler.Index)
	c := withOld(f.waiting(two))
	c.Forget = true
	f.complete(c)
	f.equal("documents after both are forgotten", f.documents(one), 0)
	f.equal("documents of the other host", f.documents(other), 1)
}

// documentsPooled: of hosts with fewer than PoolBelow, whichever way they come to that; and which are lost.
func documentsPooled(f *fixture) {
	var links []scheduler.Link
	for i := range scheduler.PoolBelow {
		l, _ := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		links = append(links, l)
		f.index(l, true)
		f.equal("pooled", f.counts().Pooled, uint64(i+1)%scheduler.PoolBelow)
	}
	other, _ := f.put("http://b.test/", scheduler.Index)
	f.index(other, true)
	f.equal("pooled", f.counts().Pooled, uint64(1))
	lost := func() uint64 {
		d, err := f.Documents(f.ctx, links[0].URL.HostKey())
		f.must(err)
		return d.Lost
	}
	lose := func(r scheduler.Record) *scheduler.Revision {
		r.Indexed, r.LostAt = false, time.Unix(1e9, 0)
		return &scheduler.Revision{Next: r}
	}
	f.revise(lose, links[0])
	f.equal("pooled after one was lost", f.counts().Pooled, uint64(scheduler.PoolBelow))
	f.reopen()
	f.equal("pooled after reopening", f.counts().Pooled, uint64(scheduler.PoolBelow))
	f.equal("lost", lost(), uint64(1))
	f.requeue(links[0], scheduler.Index)
	f.equal("lost while it waits", lost(), uint64(1))
	c := withOld(f.waiting(links[0]))
	c.Next.Indexed, c.Next.LostAt = true, time.Time{}
	f.complete(c)
	f.equal("pooled after it was had back", f.counts().Pooled, uint64(1))
	f.equal("lost after it was had back", lost(), uint64(0))
	// A host all of which is lost is remembered until it is forgotten or given up.
	f.revise(lose, links...)
	f.equal("pooled after all were lost", f.counts().Pooled, uint64(1))
	f.equal("lost", lost(), uint64(scheduler.PoolBelow))
	f.equal("documents", f.documents(links[0]), 0)
	f.must(f.Forget(f.ctx, links[0].URL.Key(), nil))
	f.revise(func(r scheduler.Record) *scheduler.Revision {
		r.LostAt = time.Time{}
		return &scheduler.Revision{Next: r}
	}, links[1])
	f.equal("lost after one is forgotten and one given up", lost(), uint64(scheduler.PoolBelow-2))
}

// documentsSample: the lowest keys, and as many as there are once the documents are
// visited again.
func documentsSample(f *fixture) {
	const n = 40
	var links []scheduler.Link
	for i := range n {
		l, _ := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		links = append(links, l)
		f.index(l, true)
	}
	keys := keysOfLinks(links...)
	slices.SortFunc(keys, func(a, b weburl.Key) int { return slices.Compare(a[:], b[:]) })
	sample := func() []weburl.Key {
		f.equal("documents", f.documents(links[0]), n)
		docs, err := f.Documents(f.ctx, links[0].URL.HostKey())
		f.must(err)
		return docs.Sample
	}
	f.equal("sample", sample(), keys[:scheduler.DocumentSample])
	f.reopen()
	f.equal("sample after reopening", sample(), keys[:scheduler.DocumentSample])
	low := links[slices.IndexFunc(links, func(l scheduler.Link) bool { return l.URL.Key() == keys[3] })]
	f.requeue(low, scheduler.Index)
	f.index(low, false)
	f.equal("documents", f.documents(low), n-1)
	f.requeue(low, scheduler.Index)
	f.index(low, true)
	f.equal("sample after one went and came", sample(), keys[:scheduler.DocumentSample])
}

// gone makes a URL one that is gone.
func (f *fixture) gone(raw string) scheduler.Link {
	f.Helper()
	l, w := f.put(raw, scheduler.Index)
	c := completion(w)
	c.Next.Class, c.Next.Status, c.Next.Settled, c.Next.Gone, c.Next.Misses = scheduler.Permanent, 404, true, true, 1
	c.Next.State, c.Next.NextAt = scheduler.Timed, time.Unix(2e9, 0)
	f.complete(c)
	return l
}

// find completes a page with links and gives the places that got work.
func (f *fixture) find(page string, links ...scheduler.Link) []scheduler.Place {
	f.Helper()
	_, w := f.put(page, scheduler.User)
	c := withOld(w)
	c.Links = links
	return f.complete(c)
}

// back expects that a URL was queued again in a fifo.
func (f *fixture) back(l scheduler.Link, fifo scheduler.Source) {
	f.Helper()
	w := f.waiting(l)
	if r := w.Record; r.Gone || r.Settled || r.Source != fifo || r.Fifo != fifo || r.Misses != 1 || r.Class != scheduler.Permanent || !r.NextAt.IsZero() {
		f.Errorf("%s waits as %+v", l.URL, r)
	}
	if _, next, err := f.Due(f.ctx, time.Unix(1, 0), scheduler.Refresh, 10); err != nil || !next.IsZero() {
		f.Errorf("Due names %v, %v", next, err)
	}
}

func goneLinked(f *fixture) {
	l := f.gone("http://a.test/1")
	if _, n, err := f.Add(f.ctx, []scheduler.Link{l}, false); n != 0 || err != nil {
		f.Errorf("Add took %d URLs, %v", n, err)
	}
	l.Fifo, l.Alias = scheduler.Follow, "http://b.test/alias"
	f.equal("places", f.find("http://b.test/", l, l), []scheduler.Place{placeOfLink(l)})
	f.back(l, scheduler.Follow)
	f.equal("aliases", f.lookup(l).Aliases, []string{"http://b.test/alias"})
	l.Fifo = scheduler.Index
	f.equal("places of the next link", len(f.find("http://b.test/2", l)), 0)
	f.back(l, scheduler.Follow)
	f.complete(completion(f.waiting(l)))
	// A page that was gone is there again, and links to itself.
	l = f.gone("http://a.test/2")
	f.requeue(l, scheduler.Index)
	c := withOld(f.waiting(l))
	c.Next.Gone, c.Links = false, []scheduler.Link{l}
	f.equal("places", len(f.complete(c)), 0)
	f.equal("record", f.lookup(l), c.Next)
	// So is one that a revision makes gone.
	f.revise(func(r scheduler.Record) *scheduler.Revision {
		r.Gone, r.Misses, r.Class = true, 1, scheduler.Permanent
		return &scheduler.Revision{Next: r}
	}, l)
	f.find("http://b.test/3", l)
	f.back(l, scheduler.Index)
}

// goneWaiting: out of the refresh source, as at Add; in a fifo it stays.
func goneWaiting(f *fixture) {
	l := f.gone("http://a.test/1")
	_, _, err := f.Due(f.ctx, time.Unix(2e9, 0), scheduler.Refresh, 1)
	f.must(err)
	inFlight := f.waiting(l)
	f.equal("source", inFlight.Record.Source, scheduler.Refresh)
	f.equal("places", f.find("http://b.test/", l), []scheduler.Place{placeOfLink(l)})
	f.back(l, scheduler.Index)
	f.refused(withOld(inFlight))
	l = f.gone("http://a.test/2")
	f.requeue(l, scheduler.Index)
	before := f.waiting(l)
	l.Fifo = scheduler.Follow
	f.equal("places", len(f.find("http://b.test/2", l)), 0)
	f.back(l, scheduler.Index)
	f.equal("Seq", f.waiting(l).Seq, before.Seq)
}

func goneLarge(f *fixture) {
	n := 20_000
	if testing.Short() {
		n = 5_000
	}
	page := f.gone("http://a.test/sitemap.xml")
	_, _, err := f.Due(f.ctx, time.Unix(2e9, 0), scheduler.Refresh, 1)
	f.must(err)
	l := f.gone("http://a.test/1")
	c := withOld(f.waiting(page))
	c.Next.Gone = false
	for i := range n {
		c.Links = append(c.Links, f.link(fmt.Sprint("http://c.test/p", i), scheduler.Follow))
		if i%1000 == 500 {
			c.Links = append(c.Links, l, page)
		}
	}
	f.complete(c)
	f.equal("record", f.lookup(page), c.Next)
	f.back(l, scheduler.Index)
	f.equal("queue", len(f.queue(placeOfLink(l))), 1)
}

func goneReopened(f *fixture) {
	var links []scheduler.Link
	for i := range 20 {
		links = append(links, f.gone(fmt.Sprint("http://a.test/", i)))
	}
	f.reopen()
	f.find("http://b.test/1", links[:10]...)
	f.reopen()
	f.find("http://b.test/2", links...)
	for _, l := range links {
		f.back(l, scheduler.Index)
	}
}

// shutOutLinked: a link that leads to a URL in fewer steps queues it, if the crawl space
// excluded it; any other is left where it is.
func shutOutLinked(f *fixture) {
	for i, reason := range []scheduler.Reason{scheduler.ReasonCrawlSpace, scheduler.ReasonRules, scheduler.ReasonRobots} {
		l, w := f.put(fmt.Sprint("http://a.test/", i), scheduler.Index)
		c := completion(w)
		c.Next.State, c.Next.Class, c.Next.Reason, c.Next.Settled, c.Next.Depth = scheduler.AtRest, scheduler.Ignored, reason, true, 3
		f.complete(c)
		for _, depth := range []uint16{3, 2} {
			_, page := f.put(fmt.Sprint("http://b.test/", i, depth), scheduler.Index)
			c := completion(page)
			said := l
			said.Depth, said.Fragment = depth, "part"
			c.Links, c.Levels = []scheduler.Link{said}, 9
			f.complete(c)
			waits := f.lookup(l).State == scheduler.Waiting
			if want := reason == scheduler.ReasonCrawlSpace && depth == 2; waits != want {
				f.Errorf("%s, a link of depth %d: it waits: %t", reason, depth, waits)
			}
		}
		if r := f.lookup(l); !r.Settled || r.State == scheduler.Waiting && r.Fragment != "part" {
			f.Errorf("%s: %+v", reason, r)
		}
	}
}
