package crawl

import (
	"log/slog"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/push"
)

// namedTarget is one of several indexers in memory.
type namedTarget struct {
	*memoryTarget
	name string
}

func (n namedTarget) Name() string { return n.name }

// TestDocumentChangesItsSource: with a target for each source, a document that comes
// to another source goes from the target of the old one.
func TestDocumentChangesItsSource(t *testing.T) {
	site := testsite.New(t, testsite.Options{Pages: 5})
	b := newBench(t, site.URL())
	page := site.Origins()[0] + testsite.Path(3)
	targets := map[string]*memoryTarget{}
	var settings []push.TargetSettings
	for _, source := range []string{"shop", "news", ""} {
		targets[source] = &memoryTarget{documents: map[string]push.Document{}}
		settings = append(settings, push.TargetSettings{Target: namedTarget{targets[source], "of " + source}, Source: &source})
	}
	once := func(source string, submit ...string) {
		t.Helper()
		b.settings.Rules.Rules = []actionrules.Rule{{
			If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: testsite.Path(3)},
			Then: []actionrules.Action{{Verb: actionrules.SetSource, Name: source}},
		}}
		store := teststore.Open(t, &b.disk)
		defer func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}()
		relay, err := push.NewRelay(store.Outbox(), settings, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(t.Context(), b.settings, store, relay, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Submit(t.Context(), submit); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
	}
	all := site.Documents()
	others := slices.DeleteFunc(slices.Clone(all), func(u string) bool { return u == page })
	for round, source := range []string{"shop", "news", "", "shop"} {
		if round == 0 {
			once(source)
		} else {
			once(source, page)
		}
		want := map[string][]string{"shop": nil, "news": nil, "": others}
		want[source] = append(slices.Clone(want[source]), page)
		slices.Sort(want[source])
		got := map[string][]string{}
		for s, m := range targets {
			got[s] = slices.Sorted(maps.Keys(m.documents))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the page is in source %q (-want +got):\n%s", source, d)
		}
	}
	b.verify()
}
