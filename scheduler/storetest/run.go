package storetest

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Store is the store under test: a scheduler.Store that can be closed.
type Store interface {
	scheduler.Store
	io.Closer
}

// Opener opens the store of a directory, a new one if it is empty. The suites
// close every store that they open.
type Opener = func(t *testing.T, dir string) Store

// Run is the conformance suite: each sentence of the scheduler.Store contract.
func Run(t *testing.T, open Opener) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*fixture)
	}{
		{"add makes a link known and queues it", addNew},
		{"add takes a URL once however often it is named", addDuplicates},
		{"add leaves a known URL alone", addKnown},
		{"a link gives its kind, and an item rests", addKinds},
		{"an item brings its document", addItems},
		{"requeue puts a URL that waits for a time into its fifo", requeueTimed},
		{"requeue puts a URL at rest into its fifo", requeueAtRest},
		{"requeue takes a URL out of the refresh source", requeueRefresh},
		{"requeue leaves a URL in a fifo where it stands", requeueWaiting},
		{"requeue makes a submitted URL a root", requeueRoot},
		{"complete stores record links order and host at once", completeAll},
		{"complete queues the next record anew", completeWaiting},
		{"complete settles in the order of the commits", settleOrder},
		{"complete settles what is refused", settleRefused},
		{"complete settles all before a store is closed", settleClose},
		{"complete goes on when its context ends", settleContext},
		{"complete refuses a URL that was forgotten", completeForgotten},
		{"complete refuses a place that the URL left", completeMoved},
		{"complete refuses a URL twice", completeTwice},
		{"complete refuses a wrong seq source or host", completeWrongPlace},
		{"complete stores of a known link its alias and shorter depth", linksKnown},
		{"complete takes links to one URL once", linksDuplicate},
		{"complete keeps what links said while the URL was in flight", linksInFlight},
		{"complete has a page wait whose links are no longer too deep", linksNearer},
		{"complete passes over links that were not judged", linksNotJudged},
		{"complete has a URL wait that was shut out while a shorter way to it was found", linksShutOutInFlight},
		{"complete of a page that links to itself", linkToSelf},
		{"complete with many links", linksMany},
		{"complete forgets a status and a new link brings the URL back", forgetStatus},
		{"an order replaces the older one", orderReplaces},
		{"a document does not replace a move off a target", orderBesideMove},
		{"cancelling drops a pending loss alone", cancelDeletion},
		{"a pending loss keeps every field", deletionStays},
		{"a loss that is seen again is joined", deletionSeen},
		{"a loss of another edit is a new one", deletionOfEdit},
		{"a URL that is forgotten has no loss pending", deletionForgotten},
		{"what cannot be pending", deletionRefused},
		{"groups of losses", deletionGroups},
		{"losses are listed by a filter", deletionFilter},
		{"a listing of losses stops at an error", deletionsError},
		{"revise deletions marks and sends", deletionsMoved},
		{"revise deletions of URLs that wait", deletionsWaiting},
		{"revise deletions passes over the others", deletionsPassed},
		{"revise deletions forgets", deletionsForget},
		{"revise of many deletions", deletionsMany},
		{"complete is refused if the document was changed", completeChanged},
		{"documents of a host are counted", documentsCounted},
		{"documents of small hosts and lost ones are counted", documentsPooled},
		{"a sample of a host's documents", documentsSample},
		{"a link brings a URL back that is gone", goneLinked},
		{"a shorter way brings a URL back that the crawl space shut out", shutOutLinked},
		{"a URL that is gone waits already", goneWaiting},
		{"a large page brings a URL back that is gone", goneLarge},
		{"a URL that is gone outlives reopening", goneReopened},
		{"queue is in order of arrival", queueOrder},
		{"queue reads again what is in flight", queueInFlight},
		{"queues of hosts and sources are apart", queueApart},
		{"due moves what is due, earliest first", dueOrder},
		{"due sends retries to their fifo and documents to refresh", dueSource},
		{"places names each place that holds work", placesAll},
		{"places counts what waits", placesCount},
		{"places stops at an error", placesError},
		{"a floor hides nothing that waits", floors},
		{"a queue goes on after it was empty", queueEmptied},
		{"an old record is not trusted when the stored one has changed", oldStale},
		{"an old record of a URL that left its place changes nothing", oldGone},
		{"an old record of another process is not trusted", oldReopened},
		{"complete leaves depths alone unless asked", depthsNotAsked},
		{"complete keeps the first aliases", aliasesMany},
		{"complete and revise store notes", notes},
		{"complete forgets and a page in flight brings the URL back", forgetConcurrent},
		{"revise asks once about a key", reviseTwice},
		{"host state is kept to the nanosecond", hostState},
		{"lookup of an unknown URL", lookupUnknown},
		{"a record keeps every field", recordFields},
		{"forget takes a URL out of wherever it is", forget},
		{"inspect filters", inspectFilters},
		{"inspect stops at an error", inspectError},
		{"inspect begins at a key and goes in order", inspectFrom},
		{"revise changes what no lease is about", reviseStates},
		{"revise passes over what waits and what is not known", reviseWaiting},
		{"revise puts a URL back into a queue", reviseRequeue},
		{"revise stores orders and cancels deletions", reviseOrders},
		{"revise forgets", reviseForgets},
		{"revise of many URLs", reviseMany},
		{"revise beside completions", reviseConcurrent},
		{"values", values},
		{"closed cleanly", closedCleanly},
		{"everything outlives reopening", reopened},
		{"calls at once", concurrent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // a store waits for its disk most of the time
			f := newFixture(t, open)
			c.test(f)
			f.checkCounts()
		})
	}
}

// fixture is one subtest's store with helpers.
type fixture struct {
	*testing.T
	Store
	ctx  context.Context
	dir  string
	open Opener
}

func newFixture(t *testing.T, open Opener) *fixture {
	t.Helper()
	f := &fixture{T: t, ctx: t.Context(), dir: t.TempDir(), open: open}
	f.Store = open(t, f.dir)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return f
}

func (f *fixture) reopen() {
	f.Helper()
	f.must(f.Close())
	f.Store = f.open(f.T, f.dir)
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) link(raw string, fifo scheduler.Source) scheduler.Link {
	f.Helper()
	u, err := weburl.Parse(raw)
	f.must(err)
	return scheduler.Link{URL: u, Fifo: fifo, Depth: 3, Referrer: "http://from.test/"}
}

// put adds a URL and returns it with its place in its queue.
func (f *fixture) put(raw string, fifo scheduler.Source) (scheduler.Link, scheduler.WaitingURL) {
	f.Helper()
	l := f.link(raw, fifo)
	_, n, err := f.Add(f.ctx, []scheduler.Link{l}, false)
	f.must(err)
	if n != 1 {
		f.Fatalf("Add(%s) took %d URLs, want 1", raw, n)
	}
	return l, f.waiting(l)
}

// waiting finds a URL in the queue that its record names.
func (f *fixture) waiting(l scheduler.Link) scheduler.WaitingURL {
	f.Helper()
	r := f.lookup(l)
	if r.State != scheduler.Waiting {
		f.Fatalf("%s is in state %d, want waiting", l.URL, r.State)
	}
	for _, w := range f.queue(placeOf(r)) {
		if w.Key == l.URL.Key() {
			return w
		}
	}
	f.Fatalf("%s waits but is not in its queue", l.URL)
	return scheduler.WaitingURL{}
}

func (f *fixture) queue(p scheduler.Place) []scheduler.WaitingURL {
	f.Helper()
	q, err := f.Queue(f.ctx, p, 0, 1<<20)
	f.must(err)
	return q
}

func (f *fixture) lookup(l scheduler.Link) scheduler.Record {
	f.Helper()
	r, err := f.Lookup(f.ctx, l.URL.Key())
	f.must(err)
	return r
}

func (f *fixture) counts() scheduler.Counts {
	f.Helper()
	c, err := f.Counts(f.ctx)
	f.must(err)
	return c
}

// completion returns a completion of a waiting URL that leaves its record unchanged, at rest.
func completion(w scheduler.WaitingURL) scheduler.Completion {
	next := w.Record
	next.State, next.Class, next.Status, next.Settled = scheduler.AtRest, scheduler.OK, 200, true
	return scheduler.Completion{Key: w.Key, Seq: w.Seq, Taken: placeOf(w.Record), Next: next}
}

func (f *fixture) complete(c scheduler.Completion) []scheduler.Place {
	f.Helper()
	p, err := scheduler.CompleteAndWait(f.ctx, f, c)
	f.must(err)
	return p
}

// timed completes w so that it is due at a time.
func (f *fixture) timed(w scheduler.WaitingURL, at time.Time) {
	f.Helper()
	c := completion(w)
	c.Next.State, c.Next.NextAt = scheduler.Timed, at
	f.complete(c)
}

// checkCounts compares the kept counters with a full recount of the records.
func (f *fixture) checkCounts() {
	f.Helper()
	got := f.counts()
	want := scheduler.Counts{ByClass: map[scheduler.Class]uint64{}}
	documents := map[weburl.HostKey]uint64{}
	f.must(f.Inspect(f.ctx, scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		tally(&want, r)
		if r.Indexed {
			documents[r.Host]++
		}
		return nil
	}))
	want.Pooled = pooled(documents)
	want.Hosts, want.Outbox = got.Hosts, got.Outbox
	f.equal("Counts against a full recount", got, want)
}

// equal compares everything that the contract defines. It ignores the order of aliases and places, zero entries of a
// map, and times without meaning.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if d := difference(got, want); d != "" {
		f.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func difference(got, want any) string {
	return cmp.Diff(want, got,
		cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b string) bool { return a < b }),
		cmpopts.SortSlices(func(a, b scheduler.Place) bool { return fmt.Sprint(a) < fmt.Sprint(b) }),
		cmpopts.IgnoreMapEntries(func(_ scheduler.Class, n uint64) bool { return n == 0 }),
		cmp.Transformer("Defined", func(r scheduler.Record) definedRecord {
			return definedRecord(normal(r))
		}))
}

// definedRecord returns a Record without the fields that have no meaning in its state.
type definedRecord scheduler.Record

// keysOf lists a queue's keys in order.
func keysOf(q []scheduler.WaitingURL) []weburl.Key {
	var keys []weburl.Key
	for _, w := range q {
		keys = append(keys, w.Key)
	}
	return keys
}

func keysOfLinks(links ...scheduler.Link) []weburl.Key {
	var keys []weburl.Key
	for _, l := range links {
		keys = append(keys, l.URL.Key())
	}
	return keys
}

func placeOfLink(l scheduler.Link) scheduler.Place {
	return scheduler.Place{Source: l.Fifo, Host: l.URL.HostKey()}
}
