package admin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// reasons returns all that there are.
func reasons(t *testing.T) (all []scheduler.Reason) {
	for r := scheduler.NoReason + 1; r.Known(); r++ {
		all = append(all, r)
	}
	if len(all) < 30 {
		t.Fatalf("%d reasons", len(all))
	}
	return all
}

// TestReasonsHaveWords: no reason is told of without words, and no two by the same.
func TestReasonsHaveWords(t *testing.T) {
	seen := map[string]scheduler.Reason{}
	for _, r := range reasons(t) {
		words := reasonWords(r)
		if words.words == "" {
			t.Errorf("%s has no words", r)
		}
		if other, twice := seen[words.words]; twice && r != scheduler.ReasonUnreadFile {
			t.Errorf("%s and %s have the same words", r, other)
		}
		seen[words.words] = r
		for _, s := range []string{words.note, words.help} {
			if s != "" && !strings.HasSuffix(s, ".") {
				t.Errorf("%s: %q is no sentence", r, s)
			}
		}
	}
	if words := reasonWords(scheduler.NoReason); words.words != "" {
		t.Errorf("no reason is told as %q", words.words)
	}
}

// TestAnswers: what is said of some URLs.
func TestAnswers(t *testing.T) {
	since, at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC), time.Date(2026, 3, 4, 5, 7, 0, 0, time.UTC)
	missing := report.StoredURL{Class: "permanent", Reason: "not_found", LastError: "404 Not Found"}
	of := func(fate scheduler.Fate, u report.StoredURL) *StoredExplanation {
		u.Fate = fate.String()
		return &StoredExplanation{Known: true, StoredURL: &u}
	}
	deletion := func(d Deletion) *StoredExplanation {
		s := of(scheduler.FatePendingLoss, missing)
		d.Since, d.LastSeen, d.Visits = since, at, 2
		s.DeletionOrder = &d
		return s
	}
	for _, tt := range []struct {
		stored *StoredExplanation
		want   string
		notes  []string
	}{
		{&StoredExplanation{}, "not in the index: no link to it was found yet, or only links beyond maxLinkDepth, or it was removed", nil},
		{of(scheduler.FateIndexed, report.StoredURL{}), "in the index, or on its way there", nil},
		{of(scheduler.FateIndexed, report.StoredURL{Reason: "timeout", LastError: "time-out"}), "in the index, or on its way there", []string{"At the last visit: its host takes too long (time-out)."}},
		{of(scheduler.FateIndexed, report.StoredURL{Reason: "target"}), "in the index, or on its way there",
			[]string{"It may leave a target: it is pushed under its new source when its page is fetched, or its list is read; an item that its feed no longer lists stays."}},
		{of(scheduler.FateIndexed, report.StoredURL{Reason: "new_text"}), "in the index, or on its way there", nil},
		{of(scheduler.FatePending, report.StoredURL{}), "not in the index: it waits to be fetched", nil},
		{of(scheduler.FatePending, report.StoredURL{Reason: "robots_unreachable"}), "not in the index: it waits to be fetched: its robots.txt is unreachable", []string{"The crawl continues automatically when the site serves its robots.txt."}},
		{of(scheduler.FateTemporary, report.StoredURL{Reason: "5xx", LastError: "503", Errors: 2}), "not in the index: the site fails (503)", []string{"Consecutive failed visits: 2. It is retried automatically."}},
		{of(scheduler.FatePermanent, missing), "not in the index: the site does not have it (404 Not Found)", nil},
		{of(scheduler.FateNearDuplicate, report.StoredURL{DuplicateOf: "http://a/b", Reason: "near_duplicate", LastError: "x"}), "not in the index: another document has nearly the same content: http://a/b", []string{otherURL}},
		{of(scheduler.FateRedirect, report.StoredURL{RedirectTo: "http://a/b", Reason: "redirect"}), "not in the index: it redirects: http://a/b", []string{"Its target is unknown, or not known yet."}},
		{leadsOut(of(scheduler.FateRedirect, report.StoredURL{RedirectTo: "http://b/", Reason: "redirect"})), "not in the index: it redirects: http://b/",
			[]string{"The target is not crawled, so the page is not in the index: rule 2, x.xml:7."}},
		{of(scheduler.FateSource, report.StoredURL{Reason: "dns", LastError: "no such host"}), "not in the index: it leads to documents, but is not a document itself", []string{"At the last visit: the name of its host cannot be resolved (no such host)."}},
		{of(scheduler.FateNoDocument, report.StoredURL{}), "not in the index: the reason why it has no document is unknown", nil},
		{deletion(Deletion{WaitsFor: "visit", NotBefore: &at}), "in the index, but its deletion is pending: the site does not have it (404 Not Found)",
			[]string{"It has been pending since 2026-03-04T05:06:00Z. The document leaves: not before 2026-03-04T05:07:00Z.", "Seen by 2 visits, the last time at 2026-03-04T05:07:00Z. A good response of the page cancels it."}},
		{deletion(Deletion{WaitsFor: "well_host", Replaces: true}), "in the index, but its new text is pending: the site does not have it (404 Not Found)",
			[]string{"It has been pending since 2026-03-04T05:06:00Z. The document gets its new text: when its host is well.", "Seen by 2 visits, the last time at 2026-03-04T05:07:00Z. It is cancelled if the page has its old text again."}},
		{deletion(Deletion{WaitsFor: "word", Edit: 17}), "in the index, but its deletion is pending: the site does not have it (404 Not Found)",
			[]string{"It has been pending since 2026-03-04T05:06:00Z. The document leaves: not until the operator confirms it.", "No response of the page changes that; reverting the edit cancels the deletion."}},
	} {
		a := AnswerOf(tt.stored)
		if got := a.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
		if diff := cmp.Diff(tt.notes, a.Notes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.want, diff)
		}
		if a.Fate == scheduler.FatePendingLoss && a.Help != tt.stored.DeletionOrder.Help() {
			t.Errorf("%s: help %q", tt.want, a.Help)
		}
	}
}

// TestHelpOnDeletions: what is advised is possible. Drop leaves alone what an edit made.
func TestHelpOnDeletions(t *testing.T) {
	for want, d := range map[string]Deletion{
		"Release the deletion to delete the document at once. Drop it to keep the document and fetch the page again.": {},
		"Release it to index the new text at once. Drop it to keep the old text and fetch the page again.":            {Replaces: true},
		"To delete the document, release the edit: sextant deletions release --edit 17. To keep it, revert the edit.": {Edit: 17},
	} {
		if got := d.Help(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if seen := (&Deletion{Edit: 17, Visits: 1}).Seen(); seen != "" {
		t.Errorf("visits of an edit: %q", seen)
	}
}

// TestAdditions: what rules and robots.txt say now is told beside the answer where it is
// something else, and does not change the answer.
func TestAdditions(t *testing.T) {
	by := &crawlspace.Reason{Gate: "default", Rule: "no rule accepts it"}
	for _, tt := range []struct {
		fate   scheduler.Fate
		reason string
		x      Explanation
		robots string
		want   []string
	}{
		{scheduler.FateNearDuplicate, "near_duplicate", Explanation{Index: true}, "forbidden", []string{"The stored robots.txt forbids it."}},
		{scheduler.FateRobots, "robots", Explanation{Index: true}, "forbidden", nil},
		{scheduler.FateRobots, "robots", Explanation{Index: true}, "allowed", []string{"The stored robots.txt allows it."}},
		{scheduler.FateIndexed, "", Explanation{ExcludedBy: by}, "allowed", []string{"The rules in force exclude it: no rule accepts it."}},
		{scheduler.FateExcluded, "rules", Explanation{ExcludedBy: by}, "allowed", nil},
		{scheduler.FateIndexed, "", Explanation{ExcludedBy: &crawlspace.Reason{Gate: "link-depth", File: "x.xml", Line: 3, Rule: `maxLinkDepth="1"`}}, "allowed",
			[]string{`It stays until it is fetched again, and is then excluded: link-depth gate, x.xml:3: maxLinkDepth="1".`}},
		{scheduler.FateExcluded, "crawl_space", Explanation{Index: true}, "allowed", []string{"The rules in force accept such a link."}},
		{scheduler.FateIndexed, "", Explanation{Index: true, KilledBy: &crawlspace.Reason{Gate: "kill", File: "kill.txt", Line: 4}}, "allowed", []string{"The kill list names it: kill gate, kill.txt:4."}},
		{scheduler.FateIndexed, "", Explanation{}, "unknown", []string{"By the rules in force, it is not indexed."}},
	} {
		tt.x.Stored = &StoredExplanation{Known: true, Robots: tt.robots, StoredURL: &report.StoredURL{Fate: tt.fate.String(), Reason: tt.reason}}
		if diff := cmp.Diff(tt.want, tt.x.additions(new(AnswerOf(tt.x.Stored)))); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.fate, tt.reason, diff)
		}
	}
}

func leadsOut(s *StoredExplanation) *StoredExplanation {
	s.LeadsOut = &crawlspace.Reason{Gate: "rules", File: "x.xml", Line: 7, Rule: "rule 2"}
	return s
}

// TestFollowedOnly: that no rule keeps a page out of the index is told of the page of a root
// that is followed only.
func TestFollowedOnly(t *testing.T) {
	x := &Explanation{Stored: &StoredExplanation{Known: true, StoredURL: &report.StoredURL{Reason: "noindex_rule"}}}
	x.Stored.Fate = scheduler.FateNoindexRule.String()
	for changed, want := range map[string]int{"follow": 1, "index": 0} {
		x.Rules = []RuleExplanation{{Matched: true, Changed: []string{changed}}}
		notes := x.additions(new(AnswerOf(x.Stored)))
		if len(notes) != want || want == 1 && !strings.Contains(notes[0], `a Root with site="false"`) {
			t.Errorf("a rule changes %s: %q", changed, notes)
		}
	}
}

// knownURL returns a URL that is stored, with its fate.
func knownURL(fate scheduler.Fate, u report.StoredURL) *StoredExplanation {
	u.Fate = fate.String()
	return &StoredExplanation{Known: true, StoredURL: &u}
}

// TestRedirectEnds: a redirect is said to lead to a document only if it does.
func TestRedirectEnds(t *testing.T) {
	document := knownURL(scheduler.FateIndexed, report.StoredURL{URL: "http://a/c"}).StoredURL
	direct := knownURL(scheduler.FateIndexed, report.StoredURL{URL: "http://a/b"}).StoredURL
	missing := knownURL(scheduler.FatePermanent, report.StoredURL{URL: "http://a/b", Reason: "not_found", LastError: "404 Not Found"}).StoredURL
	for _, tt := range []struct {
		end   *report.StoredURL
		want  string
		notes int
	}{
		{nil, "not in the index: it redirects: http://a/b", 1},
		{direct, "not in the index: it redirects: http://a/b", 1},
		{document, "not in the index: it redirects: http://a/b, finally to http://a/c", 1},
		{missing, "not in the index: it redirects: http://a/b, which is not in the index: the site does not have it (404 Not Found)", 0},
	} {
		s := knownURL(scheduler.FateRedirect, report.StoredURL{URL: "http://a/a", RedirectTo: "http://a/b", Reason: "redirect"})
		if s.RedirectEnd = tt.end; tt.end != nil {
			s.RedirectEndURL = tt.end.URL
		}
		if a := AnswerOf(s); a.String() != tt.want || len(a.Notes) != tt.notes {
			t.Errorf("%q, %q; want %q and %d notes", a, a.Notes, tt.want, tt.notes)
		}
	}
	circle := AnswerOf(knownURL(scheduler.FateRedirect, report.StoredURL{RedirectTo: "http://a/b", Reason: "bad_redirect", LastError: "redirects in a circle"}))
	if want := "not in the index: its redirects lead to no page (redirects in a circle)"; circle.String() != want {
		t.Errorf("%q, want %q", circle, want)
	}
}

// TestRefusedDocuments: what a target refused is not said to be in the index.
func TestRefusedDocuments(t *testing.T) {
	missing := knownURL(scheduler.FatePermanent, report.StoredURL{Reason: "not_found", LastError: "404 Not Found"})
	indexed := knownURL(scheduler.FateIndexed, report.StoredURL{})
	for want, tt := range map[string]struct {
		stored *StoredExplanation
		op     push.Op
	}{
		"not in the index, or in an older version: solr refused its document (400 bad date)": {indexed, push.Add},
		"perhaps still in the index: solr refused to delete its document (400 bad date)":     {missing, push.Delete},
	} {
		tt.stored.Refused = &push.Listed{Entry: push.Entry{Op: tt.op}, Target: "solr", Words: "400 bad date"}
		x := Explanation{Stored: tt.stored, Index: true}
		if a := x.Answer(); a.String() != want || a.Help == "" || tt.op == push.Delete && !strings.Contains(a.Notes[0], "404 Not Found") {
			t.Errorf("%+v, want %q", a, want)
		}
	}
}

// TestForetold: without a store, the verdict is what would become of the URL.
func TestForetold(t *testing.T) {
	for want, x := range map[string]Explanation{
		"would be crawled and indexed":                                            {Index: true, Follow: true},
		"would be crawled and indexed, but its links not followed":                {Index: true},
		"would be crawled, but not indexed: it is crawled only for its links":     {Follow: true},
		"would be ignored: rule 2, x.xml:7":                                       {ExcludedBy: &crawlspace.Reason{Gate: "rules", File: "x.xml", Line: 7, Rule: "rule 2"}},
		"would be crawled, but not indexed: the kill list names it: kill gate, k": {Index: true, Follow: true, KilledBy: &crawlspace.Reason{Gate: "kill", File: "k"}},
	} {
		if got := x.Answer().String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	dry := Fetched{Stored: knownURL(scheduler.FateNoindexPage, report.StoredURL{Reason: "noindex"}).StoredURL}
	if got, want := dry.Verdict().String(), "would not be indexed: the page has noindex"; got != want {
		t.Errorf("a dry run: %q, want %q", got, want)
	}
	dry.Stored = knownURL(scheduler.FateCanonical, report.StoredURL{Reason: "canonical"}).StoredURL
	if got, words := dry.Verdict().String(), "it is indexed if that has no document"; !strings.Contains(got, words) {
		t.Errorf("a dry run of a page with a canonical: %q, want %q", got, words)
	}
}

// TestAnotherLinksFragment: what is decided of a link with another fragment is not what counts for the page.
func TestAnotherLinksFragment(t *testing.T) {
	s := knownURL(scheduler.FateIndexed, report.StoredURL{Fragment: "y"})
	s.LinkFragment = "x"
	x := Explanation{Stored: s, ExcludedBy: &crawlspace.Reason{Gate: "rules"}}
	a := x.Answer()
	want := "Gates and rules judged a link with the fragment x; the page is known by a link with the fragment y, which decides."
	if a.String() != "in the index, or on its way there" || len(a.Notes) != 1 || a.Notes[0] != want {
		t.Errorf("%q: %q", a, a.Notes)
	}
}

// TestRemovedAndKilled: explain does not advise adding an unknown URL that would not be indexed.
func TestRemovedAndKilled(t *testing.T) {
	for _, tt := range []struct {
		x          Explanation
		note, help string
	}{
		{Explanation{Index: true, Follow: true}, "A link to it would be crawled and indexed.", "Add it, or link to it from a page that is crawled."},
		{Explanation{Index: true, Follow: true, KilledBy: &crawlspace.Reason{Gate: "kill", File: "k"}},
			"A link to it would be crawled, but not indexed: the kill list names it: kill gate, k.", ""},
	} {
		tt.x.Stored = &StoredExplanation{}
		if a := tt.x.Answer(); !slices.Contains(a.Notes, tt.note) || a.Help != tt.help {
			t.Errorf("notes %q, help %q; want %q, %q", a.Notes, a.Help, tt.note, tt.help)
		}
	}
}
