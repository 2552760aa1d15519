package crawl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// calendar is a site whose start page links to days, each of which links to the
// next, to itself and to the start page; the last one redirects.
func calendar(t *testing.T, days int) (*testsite.Site, *bench) {
	t.Helper()
	site := testsite.New(t, testsite.Options{Pages: 1})
	site.Set("/start", testsite.HTML("s", "start", "/day/1", "/about"))
	site.Set("/about", testsite.HTML("a", "about", "/start"))
	for i := 1; i <= days; i++ {
		site.Set(fmt.Sprint("/day/", i), testsite.HTML("d", fmt.Sprint("day ", i), fmt.Sprint("/day/", i+1), fmt.Sprint("/day/", i), "/start"))
	}
	b := newBench(t, site.Origins()[0]+"/start")
	b.settings.Workers = 1
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	return site, b
}

// TestTraps: each trap keeps new links out, over a restart too, and known ones use
// up no budget.
func TestTraps(t *testing.T) {
	for name, c := range map[string]struct {
		traps *crawlspace.TrapSettings
		want  []string
	}{
		"off":           {nil, []string{"/about", "/day/1", "/day/2", "/day/3", "/day/4", "/day/5", "/day/6", "/start"}},
		"URL pattern":   {&crawlspace.TrapSettings{MaxURLsPerPattern: 4}, []string{"/about", "/day/1", "/day/2", "/day/3", "/day/4", "/start"}},
		"URLs of hosts": {&crawlspace.TrapSettings{MaxURLsPerHost: 4}, []string{"/about", "/day/1", "/day/2", "/start"}},
	} {
		t.Run(name, func(t *testing.T) {
			site, b := calendar(t, 6)
			b.settings.Traps = c.traps
			b.once()
			if diff := cmp.Diff(c.want, b.paths(site.Origins()[0])); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			b.settings.Unconditional = true // links are read again
			var all []string
			for _, path := range c.want {
				all = append(all, site.Origins()[0]+path)
			}
			b.once(all...)
			if diff := cmp.Diff(c.want, b.paths(site.Origins()[0])); diff != "" {
				t.Errorf("after another crawl, documents (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTrapRepetition: a wrong relative link and a redirect that goes on for ever.
func TestTrapRepetition(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	path, hop := "/", "/r/"
	for range 8 {
		site.Set(path, testsite.HTML("x", "page "+path, "a/", "/r/"))
		site.Set(hop, testsite.Page{Status: 302, Header: map[string]string{"Location": hop + "r/"}})
		path, hop = path+"a/", hop+"r/"
	}
	b := newBench(t, site.URL())
	b.settings.Traps = &crawlspace.TrapSettings{}
	b.once()
	origin := site.Origins()[0]
	if diff := cmp.Diff([]string{"/", "/a/", "/a/a/", "/a/a/a/"}, b.paths(origin)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	r, _ := b.record(origin + "/r/r/r/")
	if r.Class != "redirect" || !strings.Contains(r.LastError, "repetition gate") || site.Hits("/r/r/r/r/") != 0 {
		t.Errorf("the redirect into the trap is %+v", r)
	}
}

// TestTrapsStatusAndExplain: the operator sees that links were refused, and why.
func TestTrapsStatusAndExplain(t *testing.T) {
	site, b := calendar(t, 6)
	origin := site.Origins()[0]
	at := actionrules.Position{File: "CrawlConfig.xml", Line: 9, Column: 5}
	b.settings.Traps = &crawlspace.TrapSettings{MaxURLsPerPattern: 3, MaxURLsPerHost: 5, At: at}
	b.with(func(c *Crawl, store *store.Store) {
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
		s, err := c.Status(t.Context())
		if err != nil || s.Trapped != 1 {
			t.Errorf("%d links trapped, want 1 (%v)", s.Trapped, err)
		}
		counts, err := policy.StoredTraps(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		e, err := policy.NewExplainer(b.settings, nil, counts)
		if err != nil {
			t.Fatal(err)
		}
		full, err := c.HostURLs(t.Context(), parse(t, origin+"/"))
		if stored, storedErr := policy.StoredHostURLs(t.Context(), store, parse(t, origin+"/")); err != nil || storedErr != nil || full != 5 || stored != 5 {
			t.Fatalf("%d URLs counted and %d stored, want 5 (%v, %v)", full, stored, err, storedErr)
		}
		for path, want := range map[string]crawlspace.Gate{
			"/day/9": crawlspace.GateHostURLs, "/x/x/x/x": crawlspace.GateRepetition, "/start": "",
		} {
			x := e.Explain(origin+path, parse(t, origin+path), policy.Found{HostURLs: full})
			var got crawlspace.Gate
			if x.Refused != nil {
				got = x.Refused.Gate
			}
			if got != want || (x.Status != 0) != (want != "") {
				t.Errorf("%s is refused by %q with status %d, want %q", path, got, x.Status, want)
			}
			if want != "" && (x.Refused.File != at.File || x.Refused.Line != at.Line) {
				t.Errorf("%s: %+v, want its place", path, x.Refused)
			}
		}
		if x := e.Explain(origin+"/day/9", parse(t, origin+"/day/9"), policy.Found{}); x.Refused == nil || x.Refused.Gate != crawlspace.GateURLPattern {
			t.Errorf("refused by %+v, want the pattern", x.Refused)
		}
	})
}

// TestTrapsReload: traps that come into force count what is stored, and those that
// change keep their counts.
func TestTrapsReload(t *testing.T) {
	site, b := calendar(t, 9)
	origin := site.Origins()[0]
	b.settings.Traps = &crawlspace.TrapSettings{MaxURLsPerPattern: 3}
	b.once()
	b.with(func(c *Crawl, store *store.Store) {
		s := b.settings
		s.Traps = &crawlspace.TrapSettings{MaxURLsPerPattern: 9, MaxURLsPerHost: 6}
		s.Unconditional = true
		if err := c.Reload(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Submit(t.Context(), []string{origin + "/day/3"}); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff([]string{"/about", "/day/1", "/day/2", "/day/3", "/day/4", "/start"}, b.paths(origin)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestTrapsDamaged: counts that cannot be read end no crawl.
func TestTrapsDamaged(t *testing.T) {
	for _, value := range []string{"{", `{"patterns":"AAAA"}`} {
		site, b := calendar(t, 2)
		b.settings.Traps = &crawlspace.TrapSettings{}
		b.with(func(_ *Crawl, store *store.Store) {
			if err := store.SetValue(t.Context(), scheduler.CrawlValue(policy.TrapsName), []byte(value)); err != nil {
				t.Fatal(err)
			}
		})
		b.once()
		if len(b.indexed()) != 4 {
			t.Errorf("%q: documents %v of %s", value, b.indexed(), site.URL())
		}
	}
}
