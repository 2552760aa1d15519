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
	"github.com/sextant-crawler/sextant/weburl"
)

// manyURLs is a store of n pages of which every tenth is not found.
func manyURLs(n int) *told {
	s := newTold()
	for i := range n {
		r := scheduler.Record{
			URL: fmt.Sprintf("http://a.test/%03d", i), Class: scheduler.OK, Status: 200, Indexed: true, PushedSource: "web",
			FetchedAt: time.Unix(1e9+int64(i*7919%n), 0), FoundAt: time.Unix(1e9, 0),
		}
		if i%10 == 3 {
			r.Class, r.Status, r.Reason, r.Indexed, r.PushedSource, r.Errors = scheduler.Permanent, 404, scheduler.ReasonNotFound, false, "", i%4
		}
		s.put(r)
	}
	return s
}

func filterOf(t *testing.T, query string) Filter {
	t.Helper()
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFilter(q)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFilters: each of them selects by its own field.
func TestFilters(t *testing.T) {
	s := manyURLs(200)
	for query, want := range map[string]int{
		"": 200, "status=404": 20, "status=4xx": 20, "status=4XX": 20, "status=5xx": 0, "class=permanent": 20, "reason=not_found": 20, "fate=indexed": 180,
		"fate=permanent_error": 20, "error=4xx": 20, "error=dns": 0, "source=web": 180, "text=/01": 10, "text=A.TEST/01": 10, "host=b.test": 0, "status=404&text=/01": 1,
	} {
		n := 0
		if err := EachURL(t.Context(), s, filterOf(t, query), func(StoredURL) error { n++; return nil }); err != nil || n != want {
			t.Errorf("%s: %d URLs, %v; want %d", query, n, err, want)
		}
	}
	f := Filter{Match: func(u weburl.URL) bool { return strings.HasSuffix(u.String(), "7") }}
	n := 0
	if err := EachURL(t.Context(), s, f, func(StoredURL) error { n++; return nil }); err != nil || n != 20 {
		t.Errorf("a condition: %d URLs, %v", n, err)
	}
	for name, bad := range map[string]string{"reason": "bad_luck", "fate": "lost", "error": "6xx", "status": "4x"} {
		if _, err := ParseFilter(url.Values{name: {bad}}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s=%s: %v", name, bad, err)
		}
	}
}

// TestURLPage: a page ends when it is full, or when it has read as many URLs as one may, and
// the pages together are the list.
func TestURLPage(t *testing.T) {
	s := manyURLs(200)
	f, pages, got := filterOf(t, "status=404"), 0, 0
	for {
		p, err := URLPage(t.Context(), s, f, 7, 30)
		if err != nil || p.Read > 30 || len(p.URLs) > 7 {
			t.Fatalf("page %d: %d URLs of %d, %v", pages, len(p.URLs), p.Read, err)
		}
		pages, got = pages+1, got+len(p.URLs)
		if p.Next == "" {
			break
		}
		copy(f.From[:], unhex(t, p.Next))
	}
	if got != 20 || pages < 7 {
		t.Errorf("%d URLs on %d pages, want 20 on 7 or more", got, pages)
	}
	if s.longest > 31 {
		t.Errorf("one view of the store went over %d URLs", s.longest)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	var b []byte
	if _, err := fmt.Sscanf(s, "%x", &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSortedURLs: every column sorts, both ways, page by page as at once, and with files as
// in memory.
func TestSortedURLs(t *testing.T) {
	s := manyURLs(120)
	for _, c := range Columns(KindURLs) {
		for _, desc := range []bool{false, true} {
			o := Order{By: c.Name, Desc: desc}
			var all []string
			list := func(o Order, limit int) (urls []string, at string) {
				_, err := EachURLSorted(t.Context(), s, Filter{}, o, limit, func(u StoredURL, cursor string) error {
					urls, at = append(urls, u.URL), cursor
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				return urls, at
			}
			all, _ = list(o, 0)
			if len(all) != 120 {
				t.Fatalf("%s: %d URLs", o, len(all))
			}
			var paged []string
			for at := ""; ; {
				place, err := ParsePlace(at)
				if err != nil {
					t.Fatal(err)
				}
				o.After = place
				var some []string
				if some, at = list(o, 50); len(some) == 0 {
					break
				}
				paged = append(paged, some...)
			}
			if diff := cmp.Diff(all, paged); diff != "" {
				t.Errorf("%s: page by page (-at once +paged):\n%s", o, diff)
			}
		}
	}
	o := Order{By: "fetched_at", Desc: true}
	var times []time.Time
	if n, err := EachURLSorted(t.Context(), s, Filter{}, o, 0, func(u StoredURL, _ string) error { times = append(times, *u.FetchedAt); return nil }); err != nil || n != len(times) {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(times, func(a, b time.Time) int { return b.Compare(a) }) {
		t.Errorf("not the latest first: %v", times)
	}
	for _, bad := range []string{"x", "e30", "WyIiLCIiXQ"} {
		if _, err := ParsePlace(bad); err == nil {
			t.Errorf("cursor %q is taken", bad)
		}
	}
	if _, err := ParseOrder("-colour", Columns(KindURLs)); err == nil || !strings.Contains(err.Error(), "colour") || !strings.Contains(err.Error(), "fetched_at") {
		t.Errorf("%v", err)
	}
}

// TestSorterInFiles: rows that memory does not hold come in the same order.
func TestSorterInFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, limit := range []int{0, 70} {
		s := newSorter(Order{By: "url"}, limit, func(u *StoredURL) Place { return Place{u.URL, u.URL} })
		s.memory = 2000
		for i := range 300 {
			if err := s.add(&StoredURL{URL: fmt.Sprintf("http://a.test/%03d", i*37%300)}); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.runs) < 3 {
			t.Errorf("limit %d: %d files", limit, len(s.runs))
		}
		var got, want []string
		if err := s.each(func(u *StoredURL) error { got = append(got, u.URL); return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			if limit == 0 || i < limit {
				want = append(want, fmt.Sprintf("http://a.test/%03d", i))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
		s.close()
	}
}
