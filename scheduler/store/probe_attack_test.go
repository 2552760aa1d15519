package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// probe checks the known URLs: a page with links must store each unknown URL once, and neither store nor change known
// ones.
func (l *ledger) probe(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	before := recordsOf(t, s)
	var links, stored []int
	for i := range l.web {
		_, known := before[webKey(i)]
		if known {
			stored = append(stored, i)
		}
		if i%3 == 0 || known {
			links = append(links, i)
		}
	}
	if _, n, err := s.Add(ctx, webLinks(stored, ""), false); err != nil || n != 0 {
		t.Errorf("%d of %d stored URLs were added again: %v", n, len(stored), err)
	}
	prober, err := weburl.Parse(fmt.Sprintf("http://probe.test/%d", l.last)) // never seen before
	if err != nil {
		t.Fatal(err)
	}
	places, n, err := s.Add(ctx, []scheduler.Link{{URL: prober, Fifo: scheduler.User}}, false)
	if err != nil || n != 1 || len(places) != 1 {
		t.Fatalf("adding %s: %d, %v", prober, n, err)
	}
	urls, err := s.Queue(ctx, places[0], 0, 1)
	if err != nil || len(urls) != 1 {
		t.Fatalf("queue of %s: %v, %v", prober, urls, err)
	}
	c := scheduler.Completion{Key: urls[0].Key, Taken: places[0], Seq: urls[0].Seq, Forget: true, Links: webLinks(append(links, links...), "")}
	if _, err := scheduler.CompleteAndWait(ctx, s, c); err != nil {
		t.Fatal(err)
	}
	a := act{Kind: actAdd, URLs: links}
	l.begin(&a)
	l.done(&a, nil, false)
	delete(l.under, 0)
	after := recordsOf(t, s)
	for _, i := range links {
		k := webKey(i)
		old, known := before[k]
		if old.Gone {
			old = broughtBack(old, after[k], scheduler.Source(i%5))
		}
		switch now, ok := after[k]; {
		case !ok:
			t.Errorf("%s was linked to and is not stored (it was before: %v)", webURL(i), known)
		case known && !cmp.Equal(old, now):
			t.Errorf("%s was linked to and changed:\n%s", webURL(i), cmp.Diff(old, now))
		case !known && (now.State != scheduler.Waiting || now.ETag != ""):
			t.Errorf("%s was linked to anew and is %+v", webURL(i), now)
		}
		delete(before, k)
		delete(after, k)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("links changed other URLs:\n%s", diff)
	}
	checkCounts(t, s, recordsOf(t, s))
}

// broughtBack returns what the first link to a URL that was gone makes of its record.
func broughtBack(old, now scheduler.Record, fifo scheduler.Source) scheduler.Record {
	old.Gone, old.Settled = false, false
	if old.State != scheduler.Waiting || old.Source == scheduler.Refresh {
		old.State, old.Source, old.Fifo, old.Seq, old.NextAt = scheduler.Waiting, fifo, fifo, now.Seq, time.Time{}
	}
	return old
}
