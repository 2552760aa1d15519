package crawl

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
)

// onFragment is a rule on links with this fragment.
func onFragment(value string, then ...actionrules.Action) actionrules.Rule {
	return actionrules.Rule{If: actionrules.Atom{Field: actionrules.FieldFragment, Kind: actionrules.KindExact, Value: value}, Then: then}
}

// TestEverySpellingIsJudged: of several links to one page the first that the rules accept
// counts, whatever the others are, and in whichever order they stand.
func TestEverySpellingIsJudged(t *testing.T) {
	const page = hostA + "/b"
	for _, links := range [][]string{{"/b#skip", "/b"}, {"/b", "/b#skip"}, {"/b#skip", "/b#skip", "/b#x", "/b#skip"}, {"/b#skip", hostA + "/b"}} {
		inWorld(t, func(t *testing.T, w *world) {
			w.settings.Rules.Rules = []actionrules.Rule{onFragment("skip", actionrules.Action{Verb: actionrules.Ignore})}
			w.page(hostA+"/", links...)
			w.page(page)
			if err := w.once(); err != nil {
				t.Fatal(err)
			}
			w.wantDocuments(fmt.Sprint(links), []string{hostA + "/", page})
		}, hostA+"/")
	}
}

// TestEverySpellingOfTheHost: the same for hosts, of which domain rules tell the case apart.
func TestEverySpellingOfTheHost(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	port := site.Origins()[0][strings.LastIndex(site.Origins()[0], ":"):]
	site.Set("/start", testsite.HTML("s", "s", "http://LOCALHOST"+port+"/b", "http://localhost"+port+"/b"))
	site.Set("/b", html("b"))
	b := newBench(t, site.Origins()[0]+"/start")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultIndex, b.settings.Rules.DefaultFollow = true, true, true
	b.settings.Fetcher.Exempt = []string{"localhost" + port}
	b.settings.Space.CrawlRules = file("crawl.rules", "allow domain 127.*", "allow domain localhost", "forbid domain *")
	b.once()
	if diff := cmp.Diff([]string{site.Origins()[0] + "/start", "http://localhost" + port + "/b"}, b.indexed()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

// TestFragmentIsKept: what rules on fragments decide holds when the URL is taken, refreshed,
// judged again and explained, over restarts; a fragment that no rule names is not stored.
func TestFragmentIsKept(t *testing.T) {
	const yes, no, plain = hostA + "/yes", hostA + "/no", hostA + "/plain"
	long := strings.Repeat("f", scheduler.FragmentMax)
	inWorld(t, func(t *testing.T, w *world) {
		w.roots()
		w.settings.Rules.Roots = []actionrules.Root{{URL: parse(t, hostA+"/"), Group: "default"}}
		w.settings.Rules.Rules = []actionrules.Rule{
			onFragment("yes", actionrules.Action{Verb: actionrules.Accept}, actionrules.Action{Verb: actionrules.Index}, actionrules.Action{Verb: actionrules.AddMeta, Name: "by", Value: "fragment"}, actionrules.Action{Verb: actionrules.SetSource, Name: "other"}),
			onFragment("no", actionrules.Action{Verb: actionrules.Accept}, actionrules.Action{Verb: actionrules.Follow}, actionrules.Action{Verb: actionrules.NoIndex}),
			onFragment(long, actionrules.Action{Verb: actionrules.Accept}, actionrules.Action{Verb: actionrules.Index}),
		}
		w.page(hostA+"/", "/yes#yes", "/no#no", "/plain", "/long#"+long+"er")
		for _, u := range []string{yes, no, plain, hostA + "/long"} {
			w.page(u)
		}
		w.begin()
		w.quiet()
		check := func(when string) {
			t.Helper()
			w.wantDocuments(fmt.Sprint(when), []string{hostA + "/long", yes})
			d := w.target.documents[yes]
			if fmt.Sprint(d.Metas["by"]) != "[fragment]" || d.Source != "other" {
				t.Errorf("%s: metas %v, source %q", when, d.Metas, d.Source)
			}
			if r := w.record(no); r.Fragment != "no" || r.Class != scheduler.OK || r.Indexed {
				t.Errorf("%s: %+v, want the page read and not indexed", when, r)
			}
			if r := w.record(hostA + "/long"); r.Fragment != long {
				t.Errorf("%s: fragment of %d bytes, want %d", when, len(r.Fragment), len(long))
			}
			e, err := policy.NewExplainer(w.settings, nil, policy.TrapCounts{})
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range []string{yes, no, hostA + "/long"} {
				r := w.record(u)
				if x := e.Explain(u, parse(t, u), policy.Found{Depth: int(r.Depth), Fragment: r.Fragment}); x.Status != 0 {
					t.Errorf("%s: explain %s has status %d", when, u, x.Status)
				}
				if x := e.Explain(u, parse(t, u), policy.Found{}); x.Status != policy.StatusExcluded {
					t.Errorf("%s: explain %s, as a link without its fragment, has status %d", when, u, x.Status)
				}
			}
		}
		check("crawled")
		w.refresh(Selection{All: true, Full: true})
		check("refreshed")
		w.restart()
		w.refresh(Selection{All: true})
		check("after a restart")
		w.settings.Rules.Rules = append(w.settings.Rules.Rules, onFragment("other", actionrules.Action{Verb: actionrules.Ignore}))
		w.reload()
		w.quiet()
		check("judged again")
	}, hostA+"/")
}

// TestFragmentIsNotKept: where no rule names fragments, none is stored, and none counts.
func TestFragmentIsNotKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.page(hostA+"/", "/a#part", "/a#other")
		w.page(hostA + "/a")
		if err := w.once(); err != nil {
			t.Fatal(err)
		}
		w.open()
		defer w.close()
		if r := w.record(hostA + "/a"); r.Fragment != "" || !r.Indexed {
			t.Errorf("%+v, want a document without fragment", r)
		}
	}, hostA+"/")
}

// TestSubmittedSpelling: a URL that is submitted with a fragment is taken with it, also
// where it is known without.
func TestSubmittedSpelling(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings.Rules.Roots = []actionrules.Root{{URL: parse(t, hostA+"/"), Group: "default"}}
		w.settings.Rules.Rules = []actionrules.Rule{
			onFragment("yes", actionrules.Action{Verb: actionrules.Accept}, actionrules.Action{Verb: actionrules.Index}),
			{If: actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: "/b"}, Then: []actionrules.Action{{Verb: actionrules.Accept}, {Verb: actionrules.Follow}}},
		}
		w.page(hostA+"/", "/b")
		w.page(hostA + "/b")
		w.begin()
		w.quiet()
		if got := w.index(); len(got) != 0 {
			t.Fatalf("documents %v", got)
		}
		if _, err := w.crawl.Submit(t.Context(), []string{hostA + "/b#yes"}); err != nil {
			t.Fatal(err)
		}
		w.quiet()
		time.Sleep(time.Minute)
		w.wantDocuments("documents", []string{hostA + "/b"})
	}, hostA+"/")
}

// TestTrialNamesTheSpelling: of several spellings a trial names the one that counts.
func TestTrialNamesTheSpelling(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 1})
	site.Set("/start", testsite.HTML("s", "s", "/b#skip", "/b", "/b#x"))
	b := newBench(t, site.Origins()[0]+"/start")
	b.settings.Rules.DefaultAccept, b.settings.Rules.DefaultFollow = true, true
	b.settings.Rules.Rules = []actionrules.Rule{onFragment("skip", actionrules.Action{Verb: actionrules.Ignore})}
	start := site.Origins()[0] + "/start"
	got, err := Try(t.Context(), b.settings, teststore.New(t), TrialOf{Raw: start, URL: parse(t, start)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Links) != 1 || got.Links[0].Href != "/b" || got.Links[0].Decision != "crawl" {
		t.Errorf("%+v", got.Links)
	}
}
