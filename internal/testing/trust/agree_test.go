package trust

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Reports, Losses, Traps and HostURLs are what the world knows of its crawl, for explain.
func (w *world) Reports() report.Store { return w.store }

func (w *world) Losses(context.Context) (*admin.Losses, error) {
	return admin.NewLosses(nil, nil, w.settings.Frontier.Deletions), nil
}

func (w *world) Traps(ctx context.Context) (policy.TrapCounts, error) {
	return policy.StoredTraps(ctx, w.store)
}

func (w *world) HostURLs(ctx context.Context, u weburl.URL) (int, error) {
	return w.crawl.HostURLs(ctx, u) // as in a service: a link that two pages find at once counts twice
}

// agree compares all that is said of a crawl that has come to rest. read says that every
// page was read under the rules in force.
func (w *world) agree(when string, read bool, fail func(format string, args ...any)) {
	ctx := w.t.Context()
	known, err := admin.KnowledgeOf(ctx, w)
	if err != nil {
		fail("%s: %v", when, err)
		return
	}
	explainer, err := admin.NewExplainer(w.settings, known)
	if err != nil {
		fail("%s: %v", when, err)
		return
	}
	fates := map[string]int{}
	var stored []scheduler.KeyedRecord
	all := func(*scheduler.Record) bool { return true }
	if err := scheduler.Walk(ctx, w.store, weburl.Key{}, all, func(batch []scheduler.KeyedRecord) error {
		stored = append(stored, batch...)
		return nil
	}); err != nil {
		fail("%s: %v", when, err)
	}
	rings := inRings(stored)
	for i := range stored {
		r := &stored[i].Record
		fate, _ := r.Fate()
		fates[fate.String()]++
		w.agreeOn(explainer, r, read, rings[r.URL], func(format string, args ...any) {
			fail("%s: %s (%s, %s, status %d, class %s, pending %t, fragment %q, depth %d): "+format,
				append([]any{when, r.URL, fate, r.Reason, r.Status, r.Class, r.LossPending, r.Fragment, r.Depth}, args...)...)
		})
	}
	w.agreeInSum(when, fates, read, fail)
	w.agreeOnRings(when, rings, fail)
	w.agreeOnUnknown(when, explainer, stored, fail)
	if read {
		w.followed(when, &known, stored, fail)
	}
}

// inRings returns the URLs whose redirects come back to where they were.
func inRings(stored []scheduler.KeyedRecord) map[string]bool {
	to, rings := map[string]string{}, map[string]bool{}
	for i := range stored {
		if r := &stored[i].Record; r.Class == scheduler.Redirect {
			to[r.URL] = r.RedirectTo
		}
	}
	for from := range to {
		at, ok := from, true
		for range len(to) + 1 { // as many steps without an end pass one twice
			if at, ok = to[at]; !ok {
				break
			}
		}
		if ok {
			rings[from] = true
		}
	}
	return rings
}

// agreeOnRings compares which URLs the reports say redirect in a circle.
func (w *world) agreeOnRings(when string, rings map[string]bool, fail func(format string, args ...any)) {
	ctx := w.t.Context()
	const circle = "redirects in a circle"
	broken := map[string]bool{}
	if err := report.EachBroken(ctx, w.store, report.Options{}, func(b report.Broken) error {
		if b.Words == circle {
			broken[b.URL] = true
		}
		return nil
	}); err != nil || !maps.Equal(broken, rings) {
		fail("%s: the report of broken links has the rings %v, want %v, %v", when, broken, rings, err)
	}
	e, err := report.CountErrors(ctx, w.store, report.Options{})
	n := 0
	for _, c := range e.Classes {
		if c.Class == report.ErrorRedirect {
			n = c.URLs
		}
	}
	if err != nil || n < len(rings) {
		fail("%s: the report of errors has %d bad redirects, want %v, %v", when, n, rings, err)
	}
}

// agreeOnUnknown compares what is said of pages that are not stored.
func (w *world) agreeOnUnknown(when string, explainer *admin.Explainer, stored []scheduler.KeyedRecord, fail func(format string, args ...any)) {
	known := map[string]bool{}
	for i := range stored {
		known[stored[i].Record.URL] = true
	}
	for url := range w.trial.Pages {
		u, err := weburl.Parse(url)
		if err != nil || known[url] {
			continue
		}
		x, err := explainer.Explain(url, u)
		if err != nil {
			fail("%s: explain %s: %v", when, url, err)
			continue
		}
		if has := w.index.documents[url]; !x.Stored.Known && (has && !w.index.refused[url] || !strings.HasPrefix(x.Stored.Why, "not in the index")) {
			fail("%s: explain says of %s, which is not stored, %q; the target has it: %t", when, url, x.Stored.Why, has)
		}
	}
}

// agreeOn compares what is said of one URL.
func (w *world) agreeOn(explainer *admin.Explainer, r *scheduler.Record, read, ring bool, fail func(format string, args ...any)) {
	u, ok := weburl.FromCanonical(r.URL)
	if !ok {
		fail("is no canonical URL")
		return
	}
	x, err := explainer.Explain(r.URL, u)
	if err != nil {
		fail("explain: %v", err)
		return
	}
	fate, reason := r.Fate()
	if x.Canonical != r.URL { // it has another name now, and explain tells of that page
		if r.Status != policy.StatusExcluded {
			fail("explain tells of %s instead", x.Canonical)
		}
		return
	}
	if ring && !r.Indexed {
		reason = scheduler.ReasonBadRedirect
	}
	if x.Stored == nil || x.Stored.Fate != fate.String() || x.Stored.Reason != reason.String() {
		fail("explain says %s", x.Stored.Why)
		return
	}
	w.agreeOnVerdict(x, r, fate, reason, fail)
	if x.ExcludedBy != nil && strings.HasSuffix(string(x.ExcludedBy.Gate), "-depth") && !read {
		if notes := strings.Join(x.Answer().Notes, " "); !strings.Contains(notes, "until it is fetched again") && r.Class != scheduler.Ignored {
			fail("explain does not say that the depth counts when it is taken (docs/crawl-space.md): %s", notes)
		}
		return
	}
	excluded := r.Status == policy.StatusExcluded || r.Status == 761
	if explained := x.Decision != "crawl"; explained != excluded {
		fail("explain says %s, by %+v", x.Decision, x.ExcludedBy)
	}
	if fate == scheduler.FateIndexed && (!x.Index || x.KilledBy != nil) {
		fail("explain says it is not indexed: index %t, killed by %+v", x.Index, x.KilledBy)
	}
	if x.Decision == "crawl" && x.Index && x.KilledBy == nil && reason == scheduler.ReasonNotIndexed {
		fail("explain says it is indexed")
	}
	if r.Class == scheduler.Pending {
		fail("it was never asked for")
	}
}

// agreeOnVerdict compares the verdict, which the inspector makes of the same JSON, with what the target has.
func (w *world) agreeOnVerdict(x *admin.Explanation, r *scheduler.Record, fate scheduler.Fate, reason scheduler.Reason, fail func(format string, args ...any)) {
	has, refused, says := w.index.documents[r.URL], w.index.refused[r.URL], x.Stored.Why
	if has != fate.InIndex() && !refused {
		fail("the target has it: %t", has)
	}
	if strings.HasPrefix(says, "in the index") != has && !refused {
		fail("explain says %q, and the target has it: %t", says, has)
	}
	if refused != strings.Contains(says, "index refused") {
		fail("explain says %q, and the target refused it: %t", says, refused)
	}
	if (reason == scheduler.ReasonBadRedirect) != strings.Contains(says, "lead to no page") && fate != scheduler.FatePendingLoss && !refused && !fate.InIndex() && x.Stored.RedirectEnd == nil {
		fail("explain says %q", says)
	}
	if end := x.Stored.RedirectEnd; end != nil && end.Indexed == strings.Contains(says, "which is not in the index") && !refused {
		fail("explain says %q, and %s is indexed: %t", says, end.URL, end.Indexed)
	}
	text, err := json.Marshal(x)
	var shown admin.Explanation
	if err == nil {
		err = json.Unmarshal(text, &shown)
	}
	if err != nil || shown.Answer().String() != says {
		fail("the inspector says %q, explain %q, %v", shown.Answer(), says, err)
	}
}

// agreeInSum compares what is said of all URLs together.
func (w *world) agreeInSum(when string, fates map[string]int, read bool, fail func(format string, args ...any)) {
	ctx := w.t.Context()
	listed := map[string]int{}
	if err := report.EachURL(ctx, w.store, report.Filter{}, func(s report.StoredURL) error {
		listed[s.Fate]++
		return nil
	}); err != nil || !maps.Equal(listed, fates) {
		fail("%s: the list of URLs has the fates %v, the store %v, %v", when, listed, fates, err)
	}
	d, err := report.CountDocuments(ctx, w.store, report.Options{})
	if err != nil {
		fail("%s: %v", when, err)
		return
	}
	if n := fates[scheduler.FateIndexed.String()] + fates[scheduler.FatePendingLoss.String()]; d.Indexed != n {
		fail("%s: the report counts %d documents, the store %d", when, d.Indexed, n)
	}
	reported := map[string]int{}
	for _, s := range d.ByStatus {
		if s.URLs > 0 {
			reported[s.Name] = s.URLs
		}
	}
	if !maps.Equal(reported, fates) {
		fail("%s: the report has the fates %v, the store %v", when, reported, fates)
	}
	p, err := review.NewPreview(ctx, w.settings, w.store, 5)
	if err != nil {
		fail("%s: %v", when, err)
		return
	}
	for name, g := range map[string]review.PreviewGroup{
		"excluded": p.Excluded, "elsewhere": p.Elsewhere, "excluded when taken": p.ExcludedWhenTaken, "readmitted": p.Readmitted, "deleted": p.Deleted, "moved": p.Moved,
	} {
		if g.Count > 0 && (read || name != "excluded when taken") {
			fail("%s: preview of the rules in force says %d %s: %+v", when, g.Count, name, g.Samples)
		}
	}
}

// followed checks that each link of a page that is followed is known, if explain says that
// it is crawled.
func (w *world) followed(when string, k *admin.Knowledge, stored []scheduler.KeyedRecord, fail func(format string, args ...any)) {
	explainer, err := policy.NewExplainer(w.settings, k.Moved, k.Traps)
	if err != nil {
		fail("%s: %v", when, err)
		return
	}
	known := map[string]*scheduler.Record{}
	for i := range stored {
		known[stored[i].Record.URL] = &stored[i].Record
	}
	for _, r := range known {
		p, served := w.trial.Pages[r.URL]
		u, ok := weburl.FromCanonical(r.URL)
		if !served || !ok || r.Class != scheduler.OK || p.Status != 0 || r.Status != 200 || p.NoFollow && !w.settings.IgnoreNoFollow {
			continue
		}
		page := explainer.Explain(r.URL, u, policy.Found{Depth: int(r.Depth), Fragment: r.Fragment})
		if page.Status != 0 || !page.Rules.Decision.Follow {
			continue
		}
		for _, l := range p.Links {
			to, err := weburl.Parse(l.Href)
			if err != nil || l.NoFollow && !w.settings.IgnoreNoFollow {
				continue
			}
			n, err := k.HostURLs(to)
			if err != nil {
				fail("%s: %v", when, err)
			}
			x := explainer.Explain(l.Href, to, policy.Found{Depth: int(r.Depth) + 1, HostURLs: n})
			if x.Status == 0 && known[x.URL.String()] == nil && !w.forgets(x.URL) {
				fail("%s: %s is not known, though %s, at depth %d, links to it and explain says crawl", when, l.Href, r.URL, r.Depth)
			}
		}
	}
}

// forgets reports whether a URL may be forgotten once it is fetched again: with forgetDeleted
// those that answer with an error are (docs/deletions.md).
func (w *world) forgets(u weburl.URL) bool {
	p, served := w.trial.Pages[u.String()]
	return w.settings.Frontier.ForgetDeleted && (!served || p.Status >= http.StatusBadRequest)
}
