package store

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// complete ends the visit of a URL that waits.
func completeOne(t *testing.T, s *Store, l scheduler.Link, change func(*scheduler.Completion)) {
	t.Helper()
	place := scheduler.Place{Source: l.Fifo, Host: l.URL.HostKey()}
	waiting, err := s.Queue(t.Context(), place, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(waiting, func(w scheduler.WaitingURL) bool { return w.Key == l.URL.Key() })
	if i < 0 {
		t.Fatalf("%s does not wait", l.URL)
	}
	w := waiting[i]
	c := scheduler.Completion{Key: w.Key, Taken: place, Seq: w.Seq, Next: w.Record, Old: &w.Record, AsOf: w.AsOf}
	c.Next.State, c.Next.Class = scheduler.AtRest, scheduler.OK
	change(&c)
	if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
		t.Fatal(err)
	}
}

// graphOf returns all that is stored of links.
func graphOf(t *testing.T, s *Store) map[weburl.Key][]scheduler.LinkPrint {
	t.Helper()
	graph := map[weburl.Key][]scheduler.LinkPrint{}
	err := s.Outlinks(t.Context(), weburl.Key{}, func(k weburl.Key, links scheduler.LinkPrints) error {
		graph[k] = slices.Collect(links.All())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

func TestOutlinks(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{})
	page, a, b := linkTo(t, "http://h.test/"), linkTo(t, "http://h.test/a"), linkTo(t, "http://h.test/b")
	add := func(l scheduler.Link, requeue bool) {
		if _, _, err := s.Add(t.Context(), []scheduler.Link{l}, requeue); err != nil {
			t.Fatal(err)
		}
	}
	want := map[weburl.Key][]scheduler.LinkPrint{}
	check := func(when string) {
		t.Helper()
		if diff := cmp.Diff(want, graphOf(t, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	visit := func(o scheduler.Outlinks, links ...scheduler.Link) {
		completeOne(t, s, page, func(c *scheduler.Completion) {
			c.Outlinks, c.Links, c.Next.Linked = o, links, o == scheduler.ReplaceOutlinks || c.Old.Linked && o == scheduler.KeepOutlinks
		})
		add(page, true)
	}
	add(page, false)
	k, printA, printB := page.URL.Key(), scheduler.PrintOf(a.URL.Key()), scheduler.PrintOf(b.URL.Key())
	visit(scheduler.ReplaceOutlinks, scheduler.Link{URL: b.URL, Known: b.URL.Key()}, a)
	want[k] = []scheduler.LinkPrint{printB, printA}
	check("in page order")
	visit(scheduler.KeepOutlinks, a)
	check("kept")
	visit(scheduler.ReplaceOutlinks, a)
	want[k] = []scheduler.LinkPrint{printA}
	check("replaced")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir, Options{})
	check("after reopening")
	visit(scheduler.DropOutlinks)
	clear(want)
	check("dropped")
	visit(scheduler.ReplaceOutlinks, a)
	if err := s.Forget(t.Context(), k, nil); err != nil {
		t.Fatal(err)
	}
	check("forgotten")
}

func TestOutlinksAreBounded(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	page := linkTo(t, "http://h.test/")
	if _, _, err := s.Add(t.Context(), []scheduler.Link{page}, false); err != nil {
		t.Fatal(err)
	}
	links := make([]scheduler.Link, scheduler.MaxOutlinks+7)
	for i := range links {
		links[i] = linkTo(t, "http://h.test/"+time.Duration(i).String())
	}
	completeOne(t, s, page, func(c *scheduler.Completion) {
		c.Outlinks, c.Links, c.Next.Linked = scheduler.ReplaceOutlinks, links, true
	})
	got := graphOf(t, s)[page.URL.Key()]
	if len(got) != scheduler.MaxOutlinks || got[len(got)-1] != scheduler.PrintOf(links[scheduler.MaxOutlinks-1].URL.Key()) {
		t.Errorf("%d links are stored, want the first %d", len(got), scheduler.MaxOutlinks)
	}
}

// goneOf returns what is left of the only URL that was forgotten.
func goneOf(t *testing.T, s *Store) (left []scheduler.Gone) {
	t.Helper()
	if err := s.Gone(t.Context(), weburl.Key{}, func(_ weburl.Key, g scheduler.Gone) error {
		left = append(left, g)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return left
}

func TestGone(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	l := linkTo(t, "http://h.test/")
	now := time.Now().UTC().Truncate(time.Second)
	forget := func(g scheduler.Gone) {
		if _, _, err := s.Add(t.Context(), []scheduler.Link{l}, false); err != nil {
			t.Fatal(err)
		}
		completeOne(t, s, l, func(c *scheduler.Completion) { c.Forget, c.Gone = true, &g })
	}
	first := scheduler.Gone{
		URL: l.URL.String(), At: now, Since: now.Add(-time.Hour), GoodAt: now.Add(-2 * time.Hour), FoundAt: now.Add(-3 * time.Hour), Visits: 2,
		Status: 404, Fault: fault.Reset, Words: "gone", Referrer: "http://r.test/", Indexed: true, Source: "web",
	}
	forget(first)
	if diff := cmp.Diff([]scheduler.Gone{first}, goneOf(t, s)); diff != "" {
		t.Error(diff)
	}
	again := scheduler.Gone{URL: l.URL.String(), At: now.Add(time.Hour), Since: now.Add(time.Hour), Visits: 1, Status: 410}
	forget(again)
	want := again
	want.Since, want.FoundAt, want.Visits = first.Since, first.FoundAt, 3
	if diff := cmp.Diff([]scheduler.Gone{want}, goneOf(t, s)); diff != "" {
		t.Error(diff)
	}
	// It was good between.
	after := scheduler.Gone{URL: l.URL.String(), At: now.Add(3 * time.Hour), Since: now.Add(3 * time.Hour), GoodAt: now.Add(2 * time.Hour), Visits: 1}
	forget(after)
	if diff := cmp.Diff([]scheduler.Gone{after}, goneOf(t, s)); diff != "" {
		t.Error(diff)
	}

	// What is left is dropped in time, also where it came out of a backup.
	var backup bytes.Buffer
	if _, err := s.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(t.Context(), dir, &backup, Options{}); err != nil {
		t.Fatal(err)
	}
	restored := openStore(t, dir, Options{})
	for name, store := range map[string]*Store{"store": s, "restored": restored} {
		if diff := cmp.Diff([]scheduler.Gone{after}, goneOf(t, store)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		key := l.URL.Key()
		if err := badgerOf(store).View(func(txn *badger.Txn) error {
			item, err := txn.Get(record.GoneKey(key))
			if err == nil && item.ExpiresAt() != uint64(after.At.Add(scheduler.GoneFor).Unix()) {
				t.Errorf("%s: it expires at %d", name, item.ExpiresAt())
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
	forget(scheduler.Gone{URL: l.URL.String(), At: now.Add(-2 * scheduler.GoneFor), GoodAt: now.Add(4 * time.Hour)})
	if left := goneOf(t, s); len(left) != 0 {
		t.Errorf("what is too old is still there: %v", left)
	}
}

func TestVerifyTrace(t *testing.T) {
	s := openStore(t, t.TempDir(), Options{})
	known, other := linkTo(t, "http://h.test/"), linkTo(t, "http://h.test/other")
	if _, _, err := s.Add(t.Context(), []scheduler.Link{known}, false); err != nil {
		t.Fatal(err)
	}
	k, o := known.URL.Key(), other.URL.Key()
	left := scheduler.Gone{URL: other.URL.String(), At: time.Now()}
	for _, c := range []struct {
		key, value []byte
		want       string
	}{
		{record.GoneKey(o), record.AppendGone(nil, &left), ""},
		{record.GoneKey(k), record.AppendGone(nil, &left), "under the key of another URL"},
		{record.GoneKey(o), []byte{1, 1}, "ends too early"},
	} {
		if err := s.change(t.Context(), func(g *group) error { g.set(c.key, c.value); return nil }); err != nil {
			t.Fatal(err)
		}
		var faults []string
		if _, err := s.Verify(t.Context(), func(f Fault) { faults = append(faults, f.Words) }); err != nil {
			t.Fatal(err)
		}
		if c.want == "" && len(faults) > 0 || c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], c.want)) {
			t.Errorf("key %q: faults %q, want %q", c.key, faults, c.want)
		}
		if err := s.change(t.Context(), func(g *group) error { g.remove(c.key); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}
