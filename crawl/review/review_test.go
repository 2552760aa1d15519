package review

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestChangeOnce: whatever the record and the rules, a change applied twice is the
// same as once; pending deletions (the document stays) change nothing in that.
func TestChangeOnce(t *testing.T) {
	u := parse(t, "http://a.test/x")
	seeded.Check(t, func(t *rapid.T) {
		s := everything()
		s.Rules.DefaultIndex, s.Rules.DefaultFollow = rapid.Bool().Draw(t, "index"), rapid.Bool().Draw(t, "follow")
		if rapid.Bool().Draw(t, "prefix") {
			s.Space.Exclude = text("/x")
		}
		if rapid.Bool().Draw(t, "domain") {
			s.Space.CrawlRules = file("crawl.rules", "forbid domain *")
			if rapid.Bool().Draw(t, "global") {
				s.Space.GlobalRules = file("global.rules", "allow domain *")
			}
		}
		if rapid.Bool().Draw(t, "kill") {
			s.Space.KillPatterns = file("kill", "/x")
		}
		if rapid.Bool().Draw(t, "depth") {
			s.Space.MaxLinkDepth = &crawlspace.Limit{Max: 3}
		}
		p, err := policy.New(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := scheduler.Record{
			URL: u.String(), State: scheduler.State(rapid.IntRange(1, 2).Draw(t, "state")),
			Class: scheduler.Class(rapid.IntRange(0, 5).Draw(t, "class")), Status: rapid.SampledFrom([]int{0, 200, 404, 760, 761}).Draw(t, "status"),
			Fifo: scheduler.Source(rapid.IntRange(0, 4).Draw(t, "fifo")), Indexed: rapid.Bool().Draw(t, "indexed"),
			Reason: rapid.SampledFrom([]scheduler.Reason{scheduler.NoReason, scheduler.ReasonNotIndexed, scheduler.ReasonKilled, scheduler.ReasonNotFound, scheduler.ReasonRobots}).Draw(t, "reason"),
			Depth:  uint16(rapid.IntRange(0, 5).Draw(t, "depth of the URL")), Root: rapid.Bool().Draw(t, "root"),
		}
		if r.Indexed {
			r.LossPending = rapid.Bool().Draw(t, "pending")
		}
		if rapid.Bool().Draw(t, "fetched") {
			r.FetchedAt = time.Unix(1e9, 0)
		}
		o := reviewOf(p, u, &r)
		o.explain()
		c := o.change(&r)
		if (c == nil) != (o.effect(&r) == unaffected) {
			t.Fatalf("effect %d, change %+v", o.effect(&r), c)
		}
		if c == nil {
			return
		}
		next := c.Next
		switch {
		case c.CancelDeletion:
			next.LossPending = false
		case c.Delete != "" && rapid.Bool().Draw(t, "carried out"):
			next.Indexed, next.LossPending = false, false
		case c.Delete != "" && next.Indexed:
			next.LossPending = true
		}
		if next.State == scheduler.Waiting {
			if policy.Outside(&r) == 0 && !unwanted(&r) || policy.Outside(&next) != 0 {
				t.Fatalf("%+v was put into a queue as %+v", r, next)
			}
			return // never asked about again
		}
		retiming := reviewOf(p, u, &next)
		retiming.explain()
		if second := retiming.change(&next); second != nil {
			t.Fatalf("%+v changed to %+v and again to %+v", r, next, second.Next)
		}
	})
}

// TestDepths: the pass excludes documents beyond a depth, leaves other pages until they are taken, and brings no URL
// back that a depth keeps out.
func TestDepths(t *testing.T) {
	u := parse(t, "http://a.test/a/b/c/d")
	s := everything()
	s.Space.MaxPathDepth = &crawlspace.Limit{Max: 2}
	p, err := policy.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := scheduler.Record{URL: u.String(), State: scheduler.AtRest, Class: scheduler.OK, Status: 200, Fifo: scheduler.IndexFollow, Indexed: true}
	if o := reviewOf(p, u, &r); o.effect(&r) != excluded || o.reason != scheduler.ReasonCrawlSpace {
		t.Errorf("a document beyond the depth has effect %d in the pass", o.effect(&r))
	}
	r.Indexed = false
	if o := reviewOf(p, u, &r); o.effect(&r) != unaffected {
		t.Errorf("a page without a document beyond the depth has effect %d in the pass", o.effect(&r))
	}
	r.Class, r.Status = scheduler.Ignored, policy.StatusExcluded
	if o := reviewOf(p, u, &r); o.effect(&r) != unaffected {
		t.Errorf("an excluded page beyond the depth has effect %d in the pass", o.effect(&r))
	}
	s.Space.MaxPathDepth.Max = 3
	if p, err = policy.New(s, nil); err != nil {
		t.Fatal(err)
	}
	if o := reviewOf(p, u, &r); o.effect(&r) != readmitted {
		t.Errorf("an excluded page within the depth has effect %d in the pass, want it readmitted", o.effect(&r))
	}
}

// TestDepthWhileJudged: a document to which a link leads in fewer steps between its judgement and the change stays.
func TestDepthWhileJudged(t *testing.T) {
	v, store := reviewer(t)
	for _, depth := range []uint16{1, 3} {
		k, o, _ := judgedTooDeep(t, v, store, depth)
		if err := v.apply(t.Context(), []keyed{{k, true, o}}, &Counts{}); err != nil {
			t.Fatal(err)
		}
		if r, err := store.Lookup(t.Context(), k); err != nil || r.Indexed != (depth == 1) {
			t.Errorf("depth %d by now: %+v, %v", depth, r, err)
		}
	}
}

// TestDueWhileJudged: a document that an edit takes, and whose URL becomes due between its judgement and the change,
// counts as one that its visit will take.
func TestDueWhileJudged(t *testing.T) {
	v, store := reviewer(t)
	k, o, r := judgedTooDeep(t, v, store, 3)
	if _, err := v.Frontier.Revise(t.Context(), []weburl.Key{k}, func(_ weburl.Key, r scheduler.Record) *scheduler.Change {
		r.State, r.Source = scheduler.Waiting, scheduler.Refresh
		return &scheduler.Change{Next: r}
	}); err != nil {
		t.Fatal(err)
	}
	var n Counts
	if err := v.apply(t.Context(), []keyed{{k, o.loses(&r, excluded), o}}, &n); err != nil {
		t.Fatal(err)
	}
	if n.Expected != 1 || n.Excluded != 0 {
		t.Errorf("%+v, want the document expected to go at its visit", n)
	}
}

// reviewer returns a Reviewer over an empty store whose rules refuse what is more than two links deep.
func reviewer(t *testing.T) (*Reviewer, scheduler.Store) {
	t.Helper()
	s := everything()
	s.Space.MaxLinkDepth = &crawlspace.Limit{Max: 2}
	p, err := policy.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := teststore.New(t)
	return &Reviewer{Parts: Parts{
		Frontier: scheduler.New(store, s.Frontier, slog.New(slog.DiscardHandler)), Store: store, Crawl: fixed{p: p},
		Freed: func(context.Context, []weburl.Key) error { return nil },
	}}, store
}

// judgedTooDeep stores a document at a depth. It returns its key, and its review and its record at depth 3.
func judgedTooDeep(t *testing.T, v *Reviewer, store scheduler.Store, depth uint16) (weburl.Key, review, scheduler.Record) {
	t.Helper()
	l := storetest.Link(fmt.Sprintf("http://a.test/%d", depth), scheduler.Index)
	l.Kind, l.Depth, l.Item = scheduler.KindItem, depth, &scheduler.Item{Document: scheduler.Document{Body: []byte("x"), Hash: [16]byte{1}}}
	if _, err := v.Frontier.Add(t.Context(), []scheduler.Link{l}, false); err != nil {
		t.Fatal(err)
	}
	r, err := store.Lookup(t.Context(), l.URL.Key())
	if err != nil || !r.Indexed {
		t.Fatalf("%+v, %v, want a document", r, err)
	}
	r.Depth = 3
	o := reviewOf(v.Crawl.Policy(), l.URL, &r)
	if o.explain(); o.effect(&r) != excluded {
		t.Fatalf("effect %d of depth 3", o.effect(&r))
	}
	return l.URL.Key(), o, r
}

// fixed is a crawl whose rules never change.
type fixed struct {
	Crawl
	p *policy.Policy
}

func (f fixed) Policy() *policy.Policy { return f.p }

// TestRedirectsAskedAgain: wider rules have redirects asked for again that lead inside, but no home page of a root's
// site: the crawl itself follows where that leads.
func TestRedirectsAskedAgain(t *testing.T) {
	s := everything()
	s.Rules.Roots = []actionrules.Root{{URL: parse(t, "http://a.test/"), Site: true}}
	p, err := policy.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	p = p.WithMoves(policy.Moves{"http://a.test/": {To: "http://b.test/"}})
	for page, want := range map[string]bool{"http://a.test/": false, "http://b.test/": false, "http://b.test/page": true} {
		r := scheduler.Record{URL: page, State: scheduler.AtRest, Class: scheduler.Redirect, RedirectTo: "http://c.test/", RulesVersion: p.Version + 1}
		o := reviewOf(p, parse(t, page), &r)
		o.retiming = newRetiming(p, false, time.Time{}, &policy.Widening{All: true}, false)
		if got := o.rereads(&r); got != want {
			t.Errorf("the redirect at %s is asked for again: %t, want %t", page, got, want)
		}
	}
}
