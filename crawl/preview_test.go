package crawl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestPreviewForetellsThePass: what the preview counts is what the pass then does,
// and the preview changes nothing.
func TestPreviewForetellsThePass(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine does it all")
	}
	host := func(n string) actionrules.Condition {
		return actionrules.Atom{Field: actionrules.FieldHost, Kind: actionrules.KindExact, Norm: actionrules.NormNorm, Value: n}
	}
	store := teststore.New(t)
	seed(t, store, 2500)
	steps := []func(*policy.Settings){
		func(s *policy.Settings) { s.Space.Exclude = text("dir5/") },
		func(s *policy.Settings) {
			s.Space.CrawlRules, s.Space.GlobalRules = file("crawl.rules", "forbid domain h7*"), file("global.rules", "allow domain h71.test")
		},
		func(s *policy.Settings) { s.Space.KillPatterns = file("kill", "page-1") },
		func(s *policy.Settings) {
			s.Rules.Rules = []actionrules.Rule{
				{If: host("h3.test"), Then: []actionrules.Action{{Verb: actionrules.Ignore}}},
				{If: host("h4.test"), Then: []actionrules.Action{{Verb: actionrules.Priority, Shift: 1}}},
				{If: host("h5.test"), Then: []actionrules.Action{{Verb: actionrules.NoIndex}}},
			}
		},
		func(*policy.Settings) {},
	}
	for i, step := range steps {
		s := everything()
		s.Frontier.MinimumAged = time.Hour // or pages are read again where rules let more in
		step(&s)
		before := dump(t, store)
		p, err := review.NewPreview(t.Context(), s, store, 3)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, dump(t, store)); diff != "" {
			t.Fatalf("step %d: the preview changed the store:\n%s", i, diff)
		}
		counts, err := store.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		did := judged(t, s, store)
		after, err := store.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := []uint64{p.Excluded.Count, p.Elsewhere.Count, p.Readmitted.Count, p.Deleted.Count, p.Judged, p.Retimed, p.Reread.Count}
		want := []uint64{did.Excluded, did.Elsewhere, did.Readmitted, counts.Indexed - after.Indexed, counts.Known, did.Retimed, did.Reread}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("step %d: excluded, elsewhere, readmitted, deleted, judged, retimed, read again (-done +foretold):\n%s", i, diff)
		}
		if i < len(steps)-1 && p.Excluded.Count+p.Elsewhere.Count+p.Deleted.Count == 0 {
			t.Errorf("step %d: nothing happens", i)
		}
		for name, g := range map[string]review.PreviewGroup{"excluded": p.Excluded, "elsewhere": p.Elsewhere, "taken": p.ExcludedWhenTaken, "readmitted": p.Readmitted, "moved": p.Moved, "deleted": p.Deleted} {
			sum := uint64(0)
			for _, by := range g.By {
				sum += by.Count
			}
			if sum != g.Count {
				t.Errorf("step %d: of %d %s, %d have a cause: %+v", i, g.Count, name, sum, g.By)
			}
		}
		for _, g := range []review.PreviewGroup{p.Excluded, p.Deleted} {
			if uint64(len(g.Samples)) != min(g.Count, 3) || g.Count > 0 && g.Samples[0].Words == "" {
				t.Errorf("step %d: samples %+v of %d", i, g.Samples, g.Count)
			}
		}
		if i == 3 && (p.Moved.Count == 0 || p.Moved.Samples[0].To != "follow" && p.Moved.Samples[0].To != "index") {
			t.Errorf("moved %+v, want URLs of h4.test and h5.test", p.Moved)
		}
		if i > 0 && i < 4 && p.Before == p.Rules {
			t.Errorf("step %d: the rules are the same as before", i)
		}
	}
}

func dump(t *testing.T, store scheduler.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := store.Inspect(t.Context(), scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		all[r.URL] = fmt.Sprintf("%+v", r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPreviewOfWhatIsTaken: URLs that wait and those beyond a depth are told apart
// from what the pass does.
func TestPreviewOfWhatIsTaken(t *testing.T) {
	store := teststore.New(t)
	seed(t, store, 200)
	s := everything()
	s.Space.MaxPathDepth = &crawlspace.Limit{Max: 0}
	p, err := review.NewPreview(t.Context(), s, store, 1)
	if err != nil {
		t.Fatal(err)
	}
	if p.Excluded.Count != p.Indexed || p.Excluded.Count+p.ExcludedWhenTaken.Count != 200 || !strings.Contains(p.Excluded.Samples[0].Words, "path-depth") {
		t.Errorf("%+v, want all documents excluded, and the others when they are taken", p)
	}
	s = everything()
	s.Space.Exclude = text("page")
	s.Frontier.Deletions = scheduler.DefaultSettings().Deletions
	if p, err = review.NewPreview(t.Context(), s, store, 0); err != nil {
		t.Fatal(err)
	}
	if p.Excluded.Count+p.ExcludedWhenTaken.Count != 200 || p.Excluded.Count != p.Indexed || p.Deleted.Count != p.Indexed || p.Held != p.Indexed {
		t.Errorf("%+v, want all excluded, now or when taken, and all deletions too many for an edit", p)
	}
	b, err := json.Marshal(p)
	if err != nil || !strings.Contains(string(b), `"samples":[]`) || strings.Contains(string(b), "null") {
		t.Errorf("%s, %v", b, err)
	}
}

// TestPreviewNamesWhatDoesIt: each group says which rule or gate puts how many URLs into it.
func TestPreviewNamesWhatDoesIt(t *testing.T) {
	at := func(line int) actionrules.Position {
		return actionrules.Position{File: "new.xml", Line: line, Column: 5}
	}
	host := func(n string) actionrules.Condition {
		return actionrules.Atom{Field: actionrules.FieldHost, Kind: actionrules.KindExact, Norm: actionrules.NormNorm, Value: n, Regexp: false, At: at(1)}
	}
	store := teststore.New(t)
	seed(t, store, 2500)
	s := everything()
	s.Space.KillPatterns = file("kill", "h6")
	s.Space.CrawlRules = file("crawl.rules", "forbid domain h7.test")
	s.Rules.Rules = []actionrules.Rule{
		{If: host("h3.test"), Then: []actionrules.Action{{Verb: actionrules.Ignore}}, At: at(10)},
		{If: host("h4.test"), Then: []actionrules.Action{{Verb: actionrules.Priority, Shift: 1}}, At: at(20)},
		{If: host("h5.test"), Then: []actionrules.Action{{Verb: actionrules.NoIndex}}, At: at(30)},
	}
	p, err := review.NewPreview(t.Context(), s, store, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := func(by []review.PreviewCause) (words []string) {
		for _, c := range by {
			if c.Count == 0 || c.Example == "" {
				t.Errorf("a cause of nothing: %+v", c)
			}
			words = append(words, c.String())
		}
		slices.Sort(words)
		return words
	}
	for what, c := range map[string]struct{ got, want []string }{
		"excluded": {named(p.Excluded.By), []string{"domain gate, crawl.rules:1: forbid domain h7.test", "rule 1, new.xml:10"}},
		"moved":    {named(p.Moved.By), []string{"rule 2, new.xml:20", "rule 3, new.xml:30"}},
		"deleted":  {named(p.Deleted.By), []string{"domain gate, crawl.rules:1: forbid domain h7.test", "kill gate, kill:1: h6", "rule 1, new.xml:10", "rule 3, new.xml:30"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestPreviewOfAShorterKillList: documents whose deletion is pending stay, and pages whose document was deleted are
// fetched again, by the preview and by the pass.
func TestPreviewOfAShorterKillList(t *testing.T) {
	for _, pends := range []bool{true, false} {
		store := teststore.New(t)
		seed(t, store, 200)
		s := everything()
		s.Frontier.Deletions.Off = !pends
		killed := s
		killed.Space.KillPatterns = file("kill", "page-1")
		before := judged(t, killed, store)
		p, err := review.NewPreview(t.Context(), s, store, 1)
		if err != nil {
			t.Fatal(err)
		}
		did := judged(t, s, store)
		if p.Cancelled+p.Readmitted.Count != before.Unindexed || before.Unindexed == 0 || (p.Cancelled > 0) != pends || p.Readmitted.Count != did.Readmitted {
			t.Errorf("%d deletions pend (%t): %d are cancelled, %d URLs crawled again; the pass did %d", before.Unindexed, pends, p.Cancelled, p.Readmitted.Count, did.Readmitted)
		}
	}
}

// judged returns what the pass by some settings does.
func judged(t *testing.T, s policy.Settings, store scheduler.Store) review.Counts {
	t.Helper()
	c := newPassCrawl(t, s, store)
	if err := c.start(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for {
		due, err := c.reviewer.Next(t.Context(), c.policy())
		if err != nil {
			t.Fatal(err)
		}
		if !due {
			return c.reviewer.Progress().Counts
		}
	}
}
