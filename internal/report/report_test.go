package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

func brokenOf(t testing.TB, s Store, o Options) (list []Broken) {
	t.Helper()
	if err := EachBroken(context.Background(), s, o, func(b Broken) error { list = append(list, b); return nil }); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b Broken) int { return cmp.Compare(a.URL, b.URL) })
	return list
}

func TestReportBroken(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	s := newTold()
	s.put(scheduler.Record{URL: "http://a.test/404", Class: scheduler.Permanent, Status: 404, LastError: "404 Not Found", Misses: 4, ClassAt: at(1), FetchedAt: at(2), Referrer: "http://a.test/mended"})
	s.put(scheduler.Record{URL: "http://a.test/slow", Class: scheduler.Temporary, Fault: fault.Timeout, LastError: "time-out", Errors: 3, FirstErrorAt: at(1), FetchedAt: at(9), Referrer: "http://a.test/sitemap.xml"})
	s.put(scheduler.Record{URL: "http://a.test/ruled", Class: scheduler.Ignored, Status: 760})
	s.put(scheduler.Record{URL: "http://a.test/moved", Class: scheduler.Redirect, RedirectTo: "http://a.test/older"})
	s.put(scheduler.Record{URL: "http://a.test/older", Class: scheduler.Redirect, RedirectTo: "http://a.test/404"})
	s.put(scheduler.Record{URL: "http://a.test/sitemap.xml", Class: scheduler.OK, Kind: scheduler.KindSitemap})
	ok := func(path string, links ...string) {
		s.put(scheduler.Record{URL: "http://a.test" + path, Class: scheduler.OK}, links...)
	}
	ok("/both", "http://a.test/moved", "http://a.test/404")
	ok("/direct", "http://a.test/ruled", "http://a.test/404")
	ok("/through", "http://a.test/moved")
	ok("/mended", "http://a.test/both")
	ok("/last", "http://a.test/gone", "http://a.test/again")
	s.put(scheduler.Record{URL: "http://a.test/out", Class: scheduler.Ignored, Status: 760}, "http://a.test/404")
	for _, path := range []string{"/gone", "/unlinked", "/again"} {
		s.gone[urlOf("http://a.test"+path).Key()] = scheduler.Gone{URL: "http://a.test" + path, At: at(8), Since: at(4), Visits: 2, Status: 410, Reason: scheduler.ReasonNotFound, Words: "410 Gone"}
	}
	s.put(scheduler.Record{URL: "http://a.test/again", Class: scheduler.Permanent, Status: 404, LastError: "404 Not Found", ClassAt: at(9), FetchedAt: at(9)})

	many := make([]string, scheduler.MaxOutlinks)
	for i := range many {
		many[i] = fmt.Sprint("http://a.test/many/", i)
	}
	ok("/endless", many...)
	s.put(scheduler.Record{URL: "http://c.test/late", Class: scheduler.Permanent, Status: 404, Referrer: "http://a.test/endless"})

	two, nine, eight := at(2), at(9), at(8)
	want := []Broken{
		{URL: "http://a.test/404", Error: "4xx", Status: 404, Words: "404 Not Found", Since: at(1), LastAt: &two, Visits: 4, Pages: 3, LinkedFrom: []LinkedFrom{
			{Page: "http://a.test/both"}, {Page: "http://a.test/direct"}, {Page: "http://a.test/through", Redirect: "http://a.test/moved"},
		}},
		{URL: "http://a.test/again", Error: "4xx", Status: 404, Words: "404 Not Found", Since: at(4), LastAt: &nine, Visits: 3, Pages: 1, LinkedFrom: []LinkedFrom{{Page: "http://a.test/last"}}},
		{URL: "http://a.test/gone", Error: "4xx", Status: 410, Words: "410 Gone", Since: at(4), LastAt: &eight, Visits: 2, Forgotten: true, Pages: 1, LinkedFrom: []LinkedFrom{{Page: "http://a.test/last"}}},
		{URL: "http://a.test/slow", Error: "timeout", Words: "time-out", Since: at(1), LastAt: &nine, Visits: 3, Pages: 1, LinkedFrom: []LinkedFrom{{Page: "http://a.test/sitemap.xml"}}},
		{URL: "http://c.test/late", Error: "4xx", Status: 404, Visits: 1, Pages: 1, LinkedFrom: []LinkedFrom{{Page: "http://a.test/endless"}}},
	}
	if diff := gocmp.Diff(want, brokenOf(t, s, Options{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := brokenOf(t, s, Options{Since: at(3)}); len(got) != 2 {
		t.Errorf("since 3: %+v", got)
	}
	if got := brokenOf(t, s, Options{Host: "c.test"}); len(got) != 1 || len(got[0].LinkedFrom) != 1 || got[0].LinkedFrom[0].Page != "http://a.test/endless" {
		t.Errorf("behind the links that are stored of a page: %+v", got)
	}
	if got := brokenOf(t, s, Options{Host: "b.test"}); len(got) != 0 {
		t.Errorf("of another host: %+v", got)
	}
	if got := brokenOf(t, s, Options{Pages: 1})[0]; got.Pages != 3 || len(got.LinkedFrom) != 1 {
		t.Errorf("with one page: %+v", got)
	}
}

// TestExchange asks about URLs with little room in memory: what is found must not depend on it.
func TestExchange(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		s := newTold()
		name := func(n int) string { return fmt.Sprint("http://a.test/", n) }
		urls := rapid.IntRange(1, 12).Draw(t, "urls")
		want := map[string][]string{}
		for page := range rapid.IntRange(0, 12).Draw(t, "pages") {
			links := rapid.SliceOfDistinct(rapid.IntRange(0, urls-1), func(n int) int { return n }).Draw(t, "links")
			var to []string
			for _, n := range links {
				to = append(to, name(n))
				want[name(n)] = append(want[name(n)], name(100+page))
			}
			s.put(scheduler.Record{URL: name(100 + page), Class: scheduler.OK}, to...)
		}
		for n := range urls {
			s.put(scheduler.Record{URL: name(n), Class: scheduler.Permanent, Status: 404})
		}
		got := map[string][]string{}
		x := exchange{store: s, batch: rapid.IntRange(1, 13).Draw(t, "batch"), pairs: rapid.IntRange(1, 20).Draw(t, "pairs"), emit: func(l *linked, pages linkedPages) error {
			u := s.records[l.key].URL
			if _, twice := got[u]; twice {
				t.Errorf("%s comes twice", u)
			}
			got[u] = nil
			for _, p := range pages {
				got[u] = append(got[u], s.records[p.page].URL)
			}
			slices.Sort(got[u])
			return nil
		}}
		for n := range urls {
			if err := x.add(context.Background(), linked{key: urlOf(name(n)).Key()}); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		for n := range urls {
			pages := want[name(n)]
			slices.Sort(pages)
			if have, ok := got[name(n)]; !ok || !slices.Equal(have, pages) {
				t.Errorf("%s is linked from %v, want %v", name(n), have, pages)
			}
		}
	})
}

// TestRedirectsInACircle: what redirects in a circle, or leads into one, or too often, is an error everywhere.
func TestRedirectsInACircle(t *testing.T) {
	s := newTold()
	leads := func(from, to string) {
		s.put(scheduler.Record{URL: "http://a.test/" + from, Class: scheduler.Redirect, Status: 302, RedirectTo: "http://a.test/" + to})
	}
	leads("1", "2")
	leads("2", "3")
	leads("3", "1")
	leads("self", "self")
	leads("into", "1")
	leads("fine", "page")
	leads("unknown", "elsewhere")
	s.put(scheduler.Record{URL: "http://a.test/page", Class: scheduler.OK}, "http://a.test/into", "http://a.test/fine")
	for i := range MaxRedirects + 1 {
		leads(fmt.Sprint("long/", i), fmt.Sprint("long/", i+1))
	}
	s.put(scheduler.Record{URL: fmt.Sprint("http://a.test/long/", MaxRedirects+1), Class: scheduler.OK})
	want := map[string]string{}
	for _, name := range []string{"1", "2", "3", "self", "into"} {
		want["http://a.test/"+name] = redirectCircle
	}
	want["http://a.test/long/0"] = redirectTooMany

	broken := map[string]string{}
	for _, b := range brokenOf(t, s, Options{}) {
		if broken[b.URL] = b.Words; b.Error != ErrorRedirect || b.Status != 302 {
			t.Errorf("broken: %+v", b)
		}
		if b.URL == "http://a.test/into" && (b.Pages != 1 || b.LinkedFrom[0].Page != "http://a.test/page") {
			t.Errorf("%s is linked from %+v", b.URL, b.LinkedFrom)
		}
	}
	if diff := gocmp.Diff(want, broken); diff != "" {
		t.Errorf("broken (-want +got):\n%s", diff)
	}
	e, err := CountErrors(t.Context(), s, Options{})
	if err != nil || e.URLs != len(want) || len(e.Classes) != 1 || e.Classes[0].Class != ErrorRedirect {
		t.Errorf("errors: %+v, %v", e, err)
	}
	bad := scheduler.ReasonBadRedirect
	for name, f := range map[string]Filter{"reason": {Reason: &bad}, "error": {Error: ErrorRedirect}} {
		listed := map[string]string{}
		if err := EachURL(t.Context(), s, f, func(u StoredURL) error {
			if listed[u.URL] = u.LastError; u.Reason != "bad_redirect" || u.Fate != "redirect" {
				t.Errorf("listed: %+v", u)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, listed); diff != "" {
			t.Errorf("listed by %s (-want +got):\n%s", name, diff)
		}
		if p, err := URLPage(t.Context(), s, f, 100, 0); err != nil || len(p.URLs) != len(want) {
			t.Errorf("a page by %s: %d URLs, %v", name, len(p.URLs), err)
		}
	}
	redirect := scheduler.ReasonRedirect
	if p, err := URLPage(t.Context(), s, Filter{Reason: &redirect}, 200, 0); err != nil || len(p.URLs) != MaxRedirects+2 {
		t.Errorf("redirects that come to something: %d, %v", len(p.URLs), err)
	}
}

// TestLongRing: a circle of any length is one, and a report reads each of its redirects a few times only.
func TestLongRing(t *testing.T) {
	const n = 3 * MaxRedirects
	s := newTold()
	for i := range n {
		s.put(scheduler.Record{
			URL: fmt.Sprint("http://a.test/ring/", i), Class: scheduler.Redirect, Status: 302, RedirectTo: fmt.Sprint("http://a.test/ring/", (i+1)%n),
		})
	}
	if e, err := CountErrors(t.Context(), s, Options{}); err != nil || e.URLs != n || s.lookups > 2*n { // it goes over all twice
		t.Errorf("%+v after %d looks, %v", e, s.lookups, err)
	}
	s.lookups = 0
	for _, b := range brokenOf(t, s, Options{}) {
		if b.Words != redirectCircle {
			t.Errorf("%+v", b)
		}
	}
	if s.lookups > 3*n {
		t.Errorf("%d looks at %d redirects", s.lookups, n)
	}
}

// TestChainTooLong: what redirects too often is shown with the page that links to the head of the chain.
func TestChainTooLong(t *testing.T) {
	const n = 12
	s := newTold()
	s.put(scheduler.Record{URL: "http://a.test/", Class: scheduler.OK}, "http://a.test/chain/0")
	for i := range n {
		s.put(scheduler.Record{URL: fmt.Sprint("http://a.test/chain/", i), Class: scheduler.Redirect, Status: 302, RedirectTo: fmt.Sprint("http://a.test/chain/", i+1)})
	}
	s.put(scheduler.Record{URL: fmt.Sprint("http://a.test/chain/", n), Class: scheduler.Permanent, Fault: fault.TooManyHops, Status: 302, LastError: "more redirects than maxRedirects"})
	got := brokenOf(t, s, Options{})
	want := []LinkedFrom{{Page: "http://a.test/", Redirect: "http://a.test/chain/0"}}
	if len(got) != 1 || gocmp.Diff(want, got[0].LinkedFrom) != "" {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPartsOfBroken(t *testing.T) {
	s := newTold()
	s.put(scheduler.Record{URL: "http://a.test/x", Class: scheduler.Permanent, Status: 404})
	for i := range linkedFromMax + 5 {
		s.put(scheduler.Record{URL: fmt.Sprint("http://a.test/p", i), Class: scheduler.OK}, "http://a.test/x")
	}
	parts := brokenOf(t, s, Options{})
	if len(parts) != 2 || parts[0].Part+parts[1].Part != 3 || len(parts[0].LinkedFrom)+len(parts[1].LinkedFrom) != linkedFromMax+5 || parts[1].Pages != linkedFromMax+5 {
		t.Errorf("%d parts", len(parts))
	}
}

func TestErrorClass(t *testing.T) {
	for want, r := range map[string]scheduler.Record{
		ErrorDNS: {Class: scheduler.Permanent, Reason: scheduler.ReasonDNS}, ErrorConnect: {Class: scheduler.Temporary, Reason: scheduler.ReasonConnect},
		ErrorTLS: {Class: scheduler.Permanent, Reason: scheduler.ReasonTLS}, ErrorTimeout: {Class: scheduler.Temporary, Reason: scheduler.ReasonTimeout},
		ErrorAddress: {Class: scheduler.Ignored, Reason: scheduler.ReasonAddress}, ErrorProtocol: {Class: scheduler.Permanent, Reason: scheduler.ReasonProtocol},
		ErrorRedirect: {Class: scheduler.Permanent, Status: 302, Reason: scheduler.ReasonBadRedirect}, ErrorLogin: {Class: scheduler.Permanent, Status: 401, Reason: scheduler.ReasonLogin},
		ErrorClient: {Class: scheduler.Permanent, Status: 403, Reason: scheduler.ReasonClientError}, ErrorServer: {Class: scheduler.Temporary, Status: 503, Reason: scheduler.ReasonServerError},
		ErrorRobots: {Class: scheduler.Ignored, Reason: scheduler.ReasonRobots}, ErrorTooLarge: {Class: scheduler.OK, Status: 200, Reason: scheduler.ReasonTruncated},
		ErrorUnreadable: {Class: scheduler.OK, Status: 200, Reason: scheduler.ReasonUnreadFile}, ErrorOther: {Class: scheduler.Permanent, Status: 206, Reason: scheduler.ReasonOtherStatus},
		"": {Class: scheduler.OK, Status: 200, Reason: scheduler.ReasonNoIndex},
	} {
		if got := errorClass(&r); got != want {
			t.Errorf("%+v is %q, want %q", r, got, want)
		}
	}
	if r := (scheduler.Record{Reason: scheduler.ReasonRobotsUnreachable}); errorClass(&r) != ErrorRobots {
		t.Error("robots.txt that cannot be had is no error")
	}
	if r := (scheduler.Record{Class: scheduler.Ignored, Status: 760, Reason: scheduler.ReasonRules}); errorClass(&r) != "" {
		t.Error("what a rule excludes is an error")
	}
}

func TestReportErrors(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	s := newTold()
	for i := range 3 {
		s.put(scheduler.Record{URL: fmt.Sprint("http://a.test/", i), Class: scheduler.Permanent, Status: 404, LastError: fmt.Sprint("words ", i), ClassAt: at(i), FetchedAt: at(10 + i)})
	}
	s.put(scheduler.Record{URL: "http://b.test/", Class: scheduler.Temporary, Fault: fault.Timeout, FirstErrorAt: at(1), FetchedAt: at(5)})
	s.put(scheduler.Record{URL: "http://c.test/", Class: scheduler.OK})
	s.gone[urlOf("http://b.test/gone").Key()] = scheduler.Gone{URL: "http://b.test/gone", At: at(9), Since: at(2), Status: 500, Reason: scheduler.ReasonServerError}
	client := ErrorCount{Class: "4xx", URLs: 3, First: at(0), Last: at(12), Example: "http://a.test/2", Words: "words 2"}
	timeout := ErrorCount{Class: "timeout", URLs: 1, First: at(1), Last: at(5), Example: "http://b.test/"}
	server := ErrorCount{Class: "5xx", Forgotten: 1, First: at(2), Last: at(9), Example: "http://b.test/gone"}
	want := &Errors{URLs: 4, Forgotten: 1, Hosts: 2, Classes: []ErrorCount{timeout, client, server}, ByHost: []HostErrors{
		{Host: "http://a.test", URLs: 3, Classes: []ErrorCount{client}}, {Host: "http://b.test", URLs: 1, Forgotten: 1, Classes: []ErrorCount{timeout, server}},
	}}
	for _, top := range []int{0, 1} {
		got, err := CountErrors(t.Context(), s, Options{Top: top})
		if err != nil {
			t.Fatal(err)
		}
		if top == 1 {
			want.ByHost = want.ByHost[:1]
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("top %d (-want +got):\n%s", top, diff)
		}
	}
	got, err := CountErrors(t.Context(), s, Options{Since: at(9), Host: "http://b.test"})
	if err != nil || got.URLs != 0 || got.Forgotten != 1 {
		t.Errorf("of b since 9: %+v, %v", got, err)
	}
}

func TestReportDocuments(t *testing.T) {
	s := newTold()
	for i, r := range []scheduler.Record{
		{Class: scheduler.OK, Indexed: true, PushedSource: "web", MediaType: "text/html", Fifo: scheduler.Index},
		{Class: scheduler.Temporary, Indexed: true, PushedSource: "web", MediaType: "text/html", Fifo: scheduler.Index},
		{Class: scheduler.Pending}, {Class: scheduler.OK, MediaType: "text/html", Reason: scheduler.ReasonNoIndex},
		{Class: scheduler.OK, MediaType: "text/html", Reason: scheduler.ReasonNotIndexed}, {Class: scheduler.Ignored, Status: 760}, {Class: scheduler.Ignored, Status: 761},
		{Class: scheduler.Ignored, Reason: scheduler.ReasonRobots}, {Class: scheduler.OK, DuplicateOf: "x", Reason: scheduler.ReasonCopy},
		{Class: scheduler.OK, DuplicateOf: "x", Reason: scheduler.ReasonNearCopy}, {Class: scheduler.OK, DuplicateOf: "x", Reason: scheduler.ReasonCanonical},
		{Class: scheduler.Redirect}, {Class: scheduler.Temporary}, {Class: scheduler.Permanent}, {Class: scheduler.OK, Kind: scheduler.KindFeed}, {Class: scheduler.OK, Reason: scheduler.ReasonEmpty},
		{Class: scheduler.Ignored, Fault: fault.Address}, {Class: scheduler.OK, Reason: scheduler.ReasonKilled},
		{Class: scheduler.Permanent, Indexed: true, LossPending: true, PushedSource: "web"},
		{Class: scheduler.OK, Indexed: true, Reason: scheduler.ReasonBodyLost, PushedSource: "web"},
	} {
		r.URL = fmt.Sprintf("http://h%d.test/%d", i%2, i)
		s.put(r)
	}
	for _, state := range push.States() {
		s.orders = append(s.orders, push.Listed{State: state, Entry: push.Entry{Source: "web"}})
	}
	got, err := CountDocuments(t.Context(), s, Options{Top: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got.URLs != 20 || got.Indexed != 4 || got.Hosts != 2 || !gocmp.Equal(got.BySource, []GroupCount{{Name: "web", Indexed: 4, Waiting: 1, Pending: 1, Dead: 1}}) ||
		!gocmp.Equal(got.ByHost, []GroupCount{{Name: "http://h0.test", URLs: 10, Indexed: 2}}) || !slices.Contains(got.ByType, GroupCount{Name: "text/html", URLs: 3, Indexed: 1}) ||
		!slices.Contains(got.ByFifo, GroupCount{Name: "index", URLs: 2, Indexed: 2}) {
		t.Errorf("%+v", got)
	}
	statuses := map[string]int{}
	for _, n := range got.ByStatus {
		statuses[n.Name] = n.URLs
	}
	for _, name := range scheduler.FateWords() {
		want := 1
		if name == scheduler.FateIndexed.String() {
			want = 2
		}
		if statuses[name] != want {
			t.Errorf("%d URLs are %s, want %d", statuses[name], name, want)
		}
	}
}

func TestReportChanges(t *testing.T) {
	since, before := time.Unix(5000, 0).UTC(), time.Unix(4000, 0).UTC()
	s := newTold()
	for name, r := range map[string]scheduler.Record{
		"new":        {Class: scheduler.Pending, FoundAt: since},
		"indexed":    {Class: scheduler.OK, FoundAt: before, ClassAt: before, Indexed: true, ChangedAt: since, Entered: true},
		"changed":    {Class: scheduler.OK, FoundAt: before, ClassAt: before, Indexed: true, ChangedAt: since},
		"deleted":    {Class: scheduler.OK, FoundAt: before, ClassAt: before, ChangedAt: since},
		"excluded":   {Class: scheduler.Ignored, FoundAt: before, ClassAt: since},
		"readmitted": {Class: scheduler.OK, Was: scheduler.Ignored, FoundAt: before, ClassAt: since},
		"same":       {Class: scheduler.OK, Was: scheduler.Temporary, FoundAt: before, ClassAt: since, Indexed: true, ChangedAt: before},
		"older":      {Class: scheduler.OK},
	} {
		r.URL = "http://a.test/" + name
		s.put(r)
	}
	s.gone[urlOf("http://a.test/forgotten").Key()] = scheduler.Gone{URL: "http://a.test/forgotten", At: since, Indexed: true}
	s.gone[urlOf("http://a.test/long-ago").Key()] = scheduler.Gone{URL: "http://a.test/long-ago", At: before}
	var got []string
	err := EachChange(t.Context(), s, Options{Since: since.Add(time.Millisecond)}, func(c Change) error {
		got = append(got, c.Change+" "+c.URL[len("http://a.test/"):])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{"changed changed", "deleted deleted", "deleted forgotten", "excluded excluded", "forgotten forgotten", "indexed indexed", "new new", "readmitted readmitted"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
