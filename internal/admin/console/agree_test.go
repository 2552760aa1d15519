package console

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// oneURL is a store that knows one URL.
type oneURL struct {
	report.Store // nil: the rest is not asked for
	key          weburl.Key
	record       scheduler.Record
}

func (s *oneURL) Lookup(_ context.Context, k weburl.Key) (scheduler.Record, error) {
	if k != s.key {
		return scheduler.Record{}, scheduler.ErrNotFound
	}
	return s.record, nil
}

func (s *oneURL) Inspect(_ context.Context, _ scheduler.Filter, fn func(weburl.Key, scheduler.Record) error) error {
	return fn(s.key, s.record)
}

func (s *oneURL) PendingDeletions(_ context.Context, f scheduler.DeletionFilter, fn func(scheduler.StoredDeletion) error) error {
	d := scheduler.StoredDeletion{Key: s.key, URL: s.record.URL, Reason: s.record.Reason, Loss: scheduler.NewLoss(true, day())}
	if !s.record.LossPending || !f.Selects(&d) {
		return nil
	}
	return fn(d)
}

func (s *oneURL) Outlinks(context.Context, weburl.Key, func(weburl.Key, scheduler.LinkPrints) error) error {
	return nil
}

func (s *oneURL) Gone(context.Context, weburl.Key, func(weburl.Key, scheduler.Gone) error) error {
	return nil
}

func (s *oneURL) Orders(context.Context, push.Selection, func(push.Listed) error) error { return nil }

// everyRecord are records of all classes, reasons, kinds and states of a deletion.
func everyRecord(u weburl.URL) (all []scheduler.Record) {
	add := func(r scheduler.Record) {
		r.URL, r.Host, r.Origin, r.State = u.String(), u.HostKey(), u.Origin(), scheduler.AtRest
		r.LastError, r.DuplicateOf, r.RedirectTo = "its text", "http://b.test/other", "http://c.test/"
		all = append(all, r)
	}
	for reason := scheduler.NoReason; reason.Known(); reason++ {
		for class := scheduler.Pending; class <= scheduler.Permanent; class++ {
			add(scheduler.Record{Class: class, Reason: reason})
		}
		for _, pending := range []bool{false, true} {
			add(scheduler.Record{Class: scheduler.OK, Reason: reason, Indexed: true, LossPending: pending})
		}
		add(scheduler.Record{Class: scheduler.OK, Reason: reason, Kind: scheduler.KindFeed})
	}
	return all
}

// TestOneAnswer: of every fate and reason explain, the inspector, the report of documents
// and the list of URLs say the same, and what rules and robots.txt say now does not change it.
func TestOneAnswer(t *testing.T) {
	u, err := weburl.Parse("http://a.test/page")
	if err != nil {
		t.Fatal(err)
	}
	explained := []any{nil} // what explain answers next
	c := newConsole(t, admin.Operator, answers(t, map[string]any{"POST /explain": explained}))
	fates, reasons := map[scheduler.Fate]bool{}, map[scheduler.Reason]bool{}
	for _, r := range everyRecord(u) {
		fate, reason := r.Fate()
		fates[fate], reasons[reason] = true, true
		name := fmt.Sprintf("%s, %q, class %s", fate, reason, r.Class)
		store := &oneURL{key: u.Key(), record: r}

		var listed report.StoredURL
		if err := report.EachURL(t.Context(), store, report.Filter{}, func(s report.StoredURL) error { listed = s; return nil }); err != nil {
			t.Fatal(err)
		}
		if listed.Fate != fate.String() || listed.Reason != reason.String() {
			t.Errorf("%s: urls says %s, %q", name, listed.Fate, listed.Reason)
		}
		counts, err := report.CountDocuments(t.Context(), store, report.Options{})
		if err != nil || !slices.Equal(counts.ByStatus, []report.GroupCount{{Name: fate.String(), URLs: 1}}) {
			t.Errorf("%s: the report says %v, %v", name, counts.ByStatus, err)
		}
		// Of a document that was lost the indexer may have an older version: it counts as indexed, as in status.
		if (counts.Indexed == 1) != (fate.InIndex() || fate == scheduler.FateBodyLost) {
			t.Errorf("%s: the report counts %d documents", name, counts.Indexed)
		}

		good := explainOne(t, store, u, true)
		bad := explainOne(t, store, u, false)
		if good.Stored.Fate != fate.String() || good.Stored.Reason != reason.String() || good.Stored.Why != bad.Stored.Why {
			t.Errorf("%s: explain says %s, %q: %s; with other rules %s", name, good.Stored.Fate, good.Stored.Reason, good.Stored.Why, bad.Stored.Why)
		}
		if strings.HasPrefix(good.Stored.Why, "in the index") != fate.InIndex() {
			t.Errorf("%s: explain says %s", name, good.Stored.Why)
		}
		for _, x := range []*admin.Explanation{good, bad} {
			explained[0] = x
			code, body := visitPage(t, c, "/url?url=http://a.test/page")
			if code != http.StatusOK || !strings.Contains(body, "<bdi>"+html.EscapeString(sentence(x.Stored.Why))+"</bdi>") {
				t.Fatalf("%s: the inspector does not say %q: %d\n%s", name, x.Stored.Why, code, body)
			}
			if green := strings.Contains(body, `class="notice good"`); green != (fate == scheduler.FateIndexed) {
				t.Errorf("%s: green is %v", name, green)
			}
		}
	}
	for _, f := range scheduler.Fates() {
		if !fates[f] {
			t.Errorf("no record has the fate %s", f)
		}
	}
	if !reasons[scheduler.ReasonSessionWaits] || len(reasons) < 40 {
		t.Errorf("%d reasons", len(reasons))
	}
}

// explainOne explains a URL by rules that let it in, or leave it out while robots.txt forbids it, as JSON carries it.
func explainOne(t *testing.T, store *oneURL, u weburl.URL, good bool) *admin.Explanation {
	t.Helper()
	known := admin.Knowledge{
		Lookup: func(at weburl.URL) (report.StoredURL, error) {
			s, ok, err := report.LookUp(t.Context(), store, at)
			if err == nil && !ok {
				err = admin.ErrNotKnown
			}
			return s, err
		},
		Deletion: func(s report.StoredURL) (found *admin.Deletion, err error) {
			q := admin.DeletionQuery{URLs: []string{s.URL}}
			return found, q.Each(t.Context(), store.PendingDeletions, func(d scheduler.StoredDeletion) error {
				one := admin.NewLosses(nil, nil, scheduler.DefaultSettings().Deletions).Deletion(&d, day())
				found = &one
				return nil
			})
		},
		Refused: func(string) (*push.Listed, error) { return nil, nil },
		Robots: func(string, bool, weburl.URL) (string, error) {
			if good {
				return robots.Allowed.String(), nil
			}
			return robots.Disallowed.String(), nil
		},
	}
	explainer, err := admin.NewExplainer(policy.Settings{Rules: actionrules.RuleSet{DefaultAccept: good, DefaultIndex: true, DefaultFollow: true}}, known)
	if err != nil {
		t.Fatal(err)
	}
	x, err := explainer.Explain(u.String(), u)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	var got admin.Explanation
	if err := json.Unmarshal(sent, &got); err != nil {
		t.Fatal(err)
	}
	return &got
}
