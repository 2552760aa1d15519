package report

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
)

// kept keeps the entries of a report.
type kept struct{ entries []Entry }

func (k *kept) Put(e Entry) error { k.entries = append(k.entries, e); return nil }
func (k *kept) End() error        { return nil }

// made makes a report by the parameters of the API.
func made(t *testing.T, s Store, kind, query string) []Entry {
	t.Helper()
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseOptions(kind, q, time.Unix(2e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	var k kept
	total := -1
	o.Counted = func(n int) { total = n - len(k.entries) }
	if err := Write(t.Context(), kind, s, o, &k); err != nil {
		t.Fatal(err)
	}
	if o.Limit == 0 && Streamed(kind) && total != len(k.entries) {
		t.Errorf("%s?%s: the total is %d, with %d entries", kind, query, total, len(k.entries))
	}
	return k.entries
}

// TestReportsInOrder: a log of changes is one of time, broken links come by their pages,
// and each column sorts both, page by page as at once, also the CSV's.
func TestReportsInOrder(t *testing.T) {
	s := manyURLs(60)
	for i := range 12 { // pages that link to URLs that are not found
		var links []string
		for n := range i % 4 {
			links = append(links, fmt.Sprintf("http://a.test/%03d", 10*n+3))
		}
		s.put(scheduler.Record{URL: fmt.Sprintf("http://b.test/%02d", i), Class: scheduler.OK, Status: 200, FoundAt: time.Unix(1e9+int64(7*i%12), 0)}, links...)
	}
	var times []time.Time
	for _, e := range made(t, s, KindChanges, "since=2000-01-01") {
		times = append(times, e.(Change).At)
	}
	if len(times) < 60 || !slices.IsSortedFunc(times, func(a, b time.Time) int { return b.Compare(a) }) {
		t.Errorf("%d changes, not the latest first: %v", len(times), times)
	}
	var pages []int
	for _, e := range made(t, s, KindBroken, "") {
		pages = append(pages, e.(Broken).Pages)
	}
	if want := []int{9, 6, 3, 0, 0, 0}; !slices.Equal(pages, want) {
		t.Errorf("broken links by pages: %v, want %v", pages, want)
	}
	for kind, columns := range map[string][]Column{KindChanges: heads(changeColumns), KindBroken: heads(brokenColumns)} {
		for _, c := range columns {
			for _, sort := range []string{c.Name, "-" + c.Name} {
				all := made(t, s, kind, "since=2000-01-01&sort="+sort)
				var some []Entry
				for from := 0; from < len(all); from += 4 {
					some = append(some, made(t, s, kind, fmt.Sprintf("since=2000-01-01&limit=4&from=%d&sort=%s", from, sort))...)
				}
				if diff := cmp.Diff(all, some); diff != "" {
					t.Errorf("%s by %s, page by page (-at once +paged):\n%s", kind, sort, diff)
				}
			}
		}
	}
	errors := made(t, s, KindErrors, "sort=-class")[0].(*Errors)
	if !slices.IsSortedFunc(errors.Classes, func(a, b ErrorCount) int { return strings.Compare(b.Class, a.Class) }) {
		t.Errorf("errors are not sorted: %v", errors.Classes)
	}
	hosts := made(t, s, KindDocuments, "sort=urls")[0].(*Documents).ByHost
	if len(hosts) != 2 || hosts[0].URLs > hosts[1].URLs {
		t.Errorf("documents are not sorted: %v", hosts)
	}
	for _, bad := range []string{"sort=colour", "from=-1", "from=100001"} {
		q, _ := url.ParseQuery(bad)
		if _, err := ParseOptions(KindChanges, q, time.Now()); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
