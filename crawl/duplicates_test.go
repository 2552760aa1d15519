package crawl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// prose is a page of n words that a seed chooses, with its own words before it.
func prose(seed uint64, n int, own string) string {
	r := rand.New(rand.NewPCG(seed, 7))
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprint("w", r.IntN(5000))
	}
	return "<title>t</title><p>" + own + " " + strings.Join(words, " ")
}

func duplicateBench(t *testing.T, site *testsite.Site) *bench {
	t.Helper()
	b := openBench(t, site)
	b.settings.NearDuplicates = true
	b.settings.Workers = 1
	return b
}

// TestDuplicates: copies are not indexed, their links are followed, the original is told.
func TestDuplicates(t *testing.T) {
	for _, workers := range []int{1, 8} {
		pages := map[string]string{
			"/long-a":  prose(1, 400, "first") + `<a href=/linked>x</a>`,
			"/long-b":  prose(1, 400, "first") + ` And here somebody wrote one more sentence.<a href=/linked>x</a>`,
			"/long-c":  prose(1, 400, "first") + `<a href=/linked>x</a>`,
			"/other":   prose(2, 400, "first"),
			"/short-a": prose(3, 30, "one"),
			"/short-b": prose(3, 30, "two"), // nearly, but too short to tell
			"/short-c": prose(3, 30, "one"),
		}
		for i := range 10 { // by which the frame of the host is known
			pages[fmt.Sprint("/page", i)] = fmt.Sprintf("<title>page %c</title>", 'a'+i) + prose(uint64(100+i), 400, "")
		}
		site := siteOf(t, pages)
		site.Set("/linked", testsite.HTML("linked", "linked"))
		origin := site.Origins()[0]
		b := duplicateBench(t, site)
		b.settings.Workers = workers
		b.once()
		got := paths(origin, b.indexed())
		count := func(prefix string) int {
			return len(slices.DeleteFunc(slices.Clone(got), func(p string) bool { return !strings.HasPrefix(p, prefix) }))
		}
		if count("/long") != 1 || count("/short") != 2 || count("/other") != 1 || count("/linked") != 1 {
			t.Fatalf("%d workers: %v are indexed", workers, got)
		}
		for _, path := range []string{"/long-a", "/long-b", "/long-c", "/short-a", "/short-c"} {
			r, _ := b.record(origin + path)
			if r.Indexed == (r.DuplicateOf != "") {
				t.Errorf("%d workers: %s: indexed %v, duplicate of %q", workers, path, r.Indexed, r.DuplicateOf)
			}
			if r.DuplicateOf == "" {
				continue
			}
			of, _ := b.record(r.DuplicateOf)
			if !of.Indexed {
				t.Errorf("%d workers: %s is a copy of %s, which is not indexed", workers, path, r.DuplicateOf)
			}
			nearly := (path == "/long-b") != (r.DuplicateOf == origin+"/long-b")
			if (r.Reason == scheduler.ReasonNearCopy.String()) != nearly || r.Overlap < 95 || nearly == (r.Overlap == 100) {
				t.Errorf("%d workers: %s: %v, %d %% of %s", workers, path, r.Reason, r.Overlap, r.DuplicateOf)
			}
		}
		// The same once more: nothing changes.
		b.newOrders()
		b.once(origin+"/long-a", origin+"/long-b", origin+"/long-c", origin+"/short-a", origin+"/short-c", origin+"/other")
		if orders := b.newOrders(); len(orders) != 0 {
			t.Errorf("%d workers: the second time: %v", workers, orders)
		}
	}
}

// TestSourcesHaveTheirOwnDuplicates: what one source has does not keep another from it.
func TestSourcesHaveTheirOwnDuplicates(t *testing.T) {
	site := siteOf(t, map[string]string{"/a/1": prose(1, 400, ""), "/b/1": prose(1, 400, ""), "/b/2": prose(1, 400, "")})
	b := duplicateBench(t, site)
	b.settings.Rules.Rules = []actionrules.Rule{{
		If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: "/a/"},
		Then: []actionrules.Action{{Verb: actionrules.SetSource, Name: "a"}},
	}}
	b.once()
	var a, other int
	for _, d := range b.target.documents {
		switch {
		case strings.Contains(d.URL, "/a/"):
			a++
		case strings.Contains(d.URL, "/b/"):
			other++
		}
	}
	if a != 1 || other != 1 {
		t.Errorf("%d documents of one source and %d of the other, want one each", a, other)
	}
}

// original returns original and copy of two pages.
func original(t *testing.T, b *bench, x, y string) (of, copied string) {
	t.Helper()
	if r, _ := b.record(x); r.Indexed {
		of, copied = x, y
	} else {
		of, copied = y, x
	}
	if r, _ := b.record(copied); r.Indexed || r.DuplicateOf != of {
		t.Fatalf("%s is %+v, no copy of %s", copied, r, of)
	}
	return of, copied
}

// TestOriginalGoes: when the original goes or changes, in whatever way, its copy is a
// document.
func TestOriginalGoes(t *testing.T) {
	ways := map[string]func(t *testing.T, b *bench, site *testsite.Site, of, path string){
		"changes": func(t *testing.T, b *bench, site *testsite.Site, of, path string) {
			site.Set(path, pageOf(prose(9, 400, "")))
			b.once(of)
		},
		"is gone": func(t *testing.T, b *bench, site *testsite.Site, of, path string) {
			site.Set(path, testsite.Page{Status: 404})
			b.once(of)
		},
		"says noindex": func(t *testing.T, b *bench, site *testsite.Site, of, path string) {
			site.Set(path, pageOf("<meta name=robots content=noindex>"+prose(1, 400, "")))
			b.once(of)
		},
		"is excluded": func(t *testing.T, b *bench, site *testsite.Site, of, path string) {
			b.settings.Rules.Rules = []actionrules.Rule{{
				If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: path},
				Then: []actionrules.Action{{Verb: actionrules.Ignore}},
			}}
			b.once()
		},
		"is removed": func(t *testing.T, b *bench, site *testsite.Site, of, path string) {
			site.Set("/start", testsite.HTML("start", "start"))
			b.with(func(c *Crawl, _ *store.Store) {
				if _, err := c.Remove(t.Context(), Selection{URLs: []string{of}}); err != nil {
					t.Fatal(err)
				}
			})
			b.once()
		},
		"is gone unseen": func(t *testing.T, b *bench, site *testsite.Site, of, path string) {
			// As it is after a crash between the original's outcome and the copies.
			u, _ := weburl.Parse(of)
			b.with(func(_ *Crawl, store *store.Store) {
				_, _, err := store.Revise(t.Context(), []weburl.Key{u.Key()}, func(_ weburl.Key, r scheduler.Record) *scheduler.Revision {
					r.Indexed, r.Hash = false, [16]byte{}
					return &scheduler.Revision{Next: r}
				})
				if err != nil {
					t.Fatal(err)
				}
			})
			b.once()
		},
		"changed unseen": func(t *testing.T, b *bench, site *testsite.Site, of, path string) {
			u, _ := weburl.Parse(of)
			b.with(func(_ *Crawl, store *store.Store) {
				_, _, err := store.Revise(t.Context(), []weburl.Key{u.Key()}, func(_ weburl.Key, r scheduler.Record) *scheduler.Revision {
					changed := []byte(r.Signature)
					changed[4]++ // of the hash of all words
					r.Signature, r.Hash = string(changed), [16]byte{1}
					return &scheduler.Revision{Next: r}
				})
				if err != nil {
					t.Fatal(err)
				}
			})
			b.once()
		},
	}
	for way, do := range ways {
		t.Run(way, func(t *testing.T) {
			site := siteOf(t, map[string]string{"/x": prose(1, 400, ""), "/y": prose(1, 400, "")})
			origin := site.Origins()[0]
			b := duplicateBench(t, site)
			b.once()
			of, copied := original(t, b, origin+"/x", origin+"/y")
			do(t, b, site, of, strings.TrimPrefix(of, origin))
			if r, _ := b.record(copied); !r.Indexed || r.DuplicateOf != "" {
				t.Errorf("the copy is %+v", r)
			}
			if _, ok := b.target.documents[copied]; !ok {
				t.Errorf("the copy was not pushed: %v", b.indexed())
			}
		})
	}
}

// TestStaleFingerprints: an index that leads to what is no document any more loses no page.
func TestStaleFingerprints(t *testing.T) {
	site := siteOf(t, map[string]string{"/x": prose(1, 400, ""), "/y": prose(2, 400, "")})
	origin := site.Origins()[0]
	b := duplicateBench(t, site)
	b.once()
	site.Set("/new", pageOf(prose(1, 400, "")))
	x, _ := weburl.Parse(origin + "/x")
	b.with(func(c *Crawl, store *store.Store) {
		if err := c.copies.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := store.Revise(t.Context(), []weburl.Key{x.Key()}, func(_ weburl.Key, r scheduler.Record) *scheduler.Revision {
			r.Indexed, r.Hash = false, [16]byte{}
			return &scheduler.Revision{Next: r}
		})
		if err != nil {
			t.Fatal(err)
		}
		n := c.copies.Len()
		if _, err := c.Submit(t.Context(), []string{origin + "/new"}); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
		if got := c.copies.Len(); got != n {
			t.Errorf("%d fingerprints are held, want %d: one more and one stale less", got, n)
		}
	})
	if r, _ := b.record(origin + "/new"); !r.Indexed {
		t.Errorf("the page that was like what is gone is %+v", r)
	}
}

// TestDuplicatesOff: without the setting all is indexed, and what was a copy comes back
// when it is fetched.
func TestDuplicatesOff(t *testing.T) {
	site := siteOf(t, map[string]string{"/x": prose(1, 400, ""), "/y": prose(1, 400, "")})
	origin := site.Origins()[0]
	b := duplicateBench(t, site)
	b.once()
	_, copied := original(t, b, origin+"/x", origin+"/y")
	b.settings.NearDuplicates = false
	b.once(copied)
	if diff := cmp.Diff([]string{"/start", "/x", "/y"}, paths(origin, b.indexed())); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestManyCopiesAtOnce: of many pages that come at the same time one is the original,
// whatever the order; and when it goes another takes its place.
func TestManyCopiesAtOnce(t *testing.T) {
	const n = 40
	pages := map[string]string{}
	for i := range n {
		pages[fmt.Sprintf("/p%d", i)] = prose(1, 400, "")
	}
	site := siteOf(t, pages)
	b := duplicateBench(t, site)
	b.settings.Workers = 16
	b.once()
	if got := b.indexed(); len(got) != 2 { // and the start page
		t.Fatalf("indexed are %v", got)
	}
	for range 3 {
		i := slices.IndexFunc(b.indexed(), func(u string) bool { return !strings.HasSuffix(u, "/start") })
		of := b.indexed()[i]
		site.Set(strings.TrimPrefix(of, site.Origins()[0]), testsite.Page{Status: 410})
		b.once(of)
		if got := b.indexed(); len(got) != 2 || slices.Contains(got, of) {
			t.Fatalf("after %s went, indexed are %v", of, got)
		}
	}
}

// TestRedirectTargetsAreDuplicates: pages that redirect to one text under URLs of their own come to one document, as
// if they were linked. Another alias of a document is pushed, and changes nothing of that.
func TestRedirectTargetsAreDuplicates(t *testing.T) {
	const n = 12
	redirects, logins := map[string]string{}, prose(3, 30, "sign in")
	for i := range n {
		redirects[fmt.Sprint("/page", i)] = ""
	}
	site := siteOf(t, redirects)
	for i := range n {
		site.Set(fmt.Sprint("/page", i), testsite.Page{Status: 302, Header: map[string]string{"Location": fmt.Sprint("/login?next=", i)}})
		site.Set(fmt.Sprint("/login?next=", i), pageOf(logins))
	}
	origin := site.Origins()[0]
	b := duplicateBench(t, site)
	b.settings.Rules.DefaultFollow = true
	b.once()
	var documents []string
	for _, p := range paths(origin, b.indexed()) {
		if strings.HasPrefix(p, "/login") {
			documents = append(documents, p)
		}
	}
	if len(documents) != 1 {
		t.Fatalf("documents %v, want one", documents)
	}
	site.Set("/another", testsite.Page{Status: 302, Header: map[string]string{"Location": documents[0]}})
	b.once(origin + "/another")
	b.newOrders()
	b.settings.Unconditional = true
	b.once(origin + documents[0])
	aliases := b.target.documents[origin+documents[0]].Metas["alias"]
	if len(b.newOrders()) != 1 || !slices.Contains(aliases, origin+"/another") {
		t.Errorf("the aliases at the indexer are %v", aliases)
	}
}
