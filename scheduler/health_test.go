package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

func doc(i int) weburl.Key { return weburl.Key{byte(i), byte(i >> 8), 1} }

// observeAll tells of answers of documents of their own: "b" bad, "g" good, "." nothing,
// "a" bad again. It returns after how many of them the host was ill first.
func observeAll(h *health, answers string, documents uint64) (illAfter int) {
	word := map[byte]tells{'b': tellsBad, 'g': tellsGood, '.': tellsNothing, 'a': tellsBadAgain, 'm': tellsMoved}
	for i := range len(answers) {
		before := h.ill
		if changed := h.observe(doc(i), word[answers[i]], documents, start().Add(time.Duration(i)*time.Second)); changed != (before != h.ill) {
			panic("observe does not tell what it changed")
		}
		if h.ill && illAfter == 0 {
			illAfter = i + 1
		}
	}
	return illAfter
}

func TestIll(t *testing.T) {
	bad := func(n int) string { return strings.Repeat("b", n) }
	for _, c := range []struct {
		answers   string
		documents uint64
		want      int // ill after so many answers, 0: not
	}{
		{bad(7), 100, 0},
		{bad(8), 100, 8},
		{bad(8), 10, 8},
		{bad(3) + "g" + bad(3) + "g" + bad(2), 100, 10},
		{bad(4) + "ggg" + bad(7), 100, 0},
		{"ggg" + bad(8), 100, 11},
		{bad(2) + "gg" + bad(6), 100, 10},
		{bad(7) + "ggg" + "b", 100, 0}, // the first one is forgotten
		{bad(7) + "........." + "b", 100, 17},
		{bad(7) + strings.Repeat("a", 20), 100, 0},
		{strings.Repeat("bg", 50), 100, 0},
		{strings.Repeat("m", 50), 100, 0},
		// All of fewer than ten documents, but three at least.
		{bad(8), 9, 0},
		{bad(9), 9, 9},
		{bad(4) + "g" + bad(4), 9, 0},
		{bad(2), 3, 0},
		{bad(3), 3, 3},
		{"g" + bad(3), 3, 4},
		{"bbg", 3, 0},
		{bad(50), 2, 0},
		{bad(50), 1, 0},
		{bad(50), 0, 0},
	} {
		h := new(health)
		if got := observeAll(h, c.answers, c.documents); got != c.want {
			t.Errorf("%s of %d documents: ill after %d answers, want %d", c.answers, c.documents, got, c.want)
		}
		if h.ill && !h.since.Equal(start().Add(time.Duration(c.want-1)*time.Second)) {
			t.Errorf("%s: ill since %v", c.answers, h.since)
		}
	}
}

func TestWell(t *testing.T) {
	for _, c := range []struct {
		answers   string
		documents uint64
		ill       bool
	}{
		{"gggg", 100, true},
		{"ggggg", 100, false},
		{"ggggbggggg", 100, false},
		{"ggggbg", 100, true},
		{"ggggag", 100, true},
		{"gg...ggg", 100, false},
		{"ggmmmmggg", 100, false},
		{"ggg", 4, true},
		{"gggg", 4, false},
		{"g", 1, false},
		{"", 0, true},
		{"g", 0, false},
	} {
		h := &health{ill: true, answers: healthMask, since: start()}
		observeAll(h, c.answers, c.documents)
		if h.ill != c.ill {
			t.Errorf("%q of %d documents: ill %t, want %t", c.answers, c.documents, h.ill, c.ill)
		}
		if !h.ill && (h.answers != 0 || !h.since.IsZero() || len(h.goods) > 0) {
			t.Errorf("%q: %+v, want all of it forgotten", c.answers, h)
		}
	}
	h := &health{ill: true}
	for i := range 1000 { // of four documents only
		h.observe(doc(i%4), tellsGood, 100, start())
	}
	if !h.ill || len(h.goods) != 4 {
		t.Errorf("%+v, want it ill: four documents are few", h)
	}
}

// TestSharedTarget: one place for three documents is the place of none; that one document
// leads there again and again tells nothing.
func TestSharedTarget(t *testing.T) {
	h := new(health)
	for i, c := range []struct {
		document int
		location string
		shared   bool
	}{
		{1, "http://a.test/login?back=1", false},
		{1, "http://a.test/login?back=1", false},
		{1, "http://a.test/login?back=1", false},
		{2, "http://a.test/login?back=2", false},
		{3, "http://a.test/other", false},
		{3, "http://a.test/login?back=3", true},
		{4, "http://a.test/login#top", true},
		{4, "http://b.test/login", false},
		{5, "%zz", false}, {6, "%zz", false}, {7, "%zz", true},
		{8, "http://a.test/8", false}, {9, "http://a.test/9", false}, {10, "http://a.test/10", false}, {11, "http://a.test/11", false},
		{12, "http://a.test/12", false}, {13, "http://a.test/13", false}, {14, "http://a.test/14", false}, {15, "http://a.test/15", false},
		{16, "http://a.test/16", false}, {17, "http://a.test/login", false}, // the others are long ago
	} {
		if got := h.redirected(doc(c.document), c.location); got != c.shared {
			t.Errorf("%d, %d to %s: shared %t, want %t", i, c.document, c.location, got, c.shared)
		}
		if len(h.targets) > healthAnswers {
			t.Fatalf("%d targets are remembered", len(h.targets))
		}
	}
}

// TestTells: what the outcome of a visit to a URL with a document tells of its host.
func TestTells(t *testing.T) {
	again := indexed()
	again.Deletion, again.Class = DeletionHeld, Permanent
	reason := func(r Reason) Result {
		return Result{Status: 200, Reason: r, NoDocument: "words", Decided: IndexFollow}
	}
	moved := Result{Status: 301, RedirectIgnored: true, Location: "http://b.test/", Moved: true, Decided: IndexFollow}
	for name, c := range map[string]struct {
		old  Record
		r    Result
		want tells
	}{
		"same":                       {indexed(), document(1, "web"), tellsGood},
		"changed":                    {indexed(), document(2, "web"), tellsGood},
		"304":                        {indexed(), Result{Status: 304, Conditional: true}, tellsGood},
		"good again":                 {again, document(1, "web"), tellsGood},
		"good after errors":          {failing(indexed(), 3, day), document(1, "web"), tellsGood},
		"404":                        {indexed(), status(404), tellsBad},
		"404 again":                  {again, status(404), tellsBadAgain},
		"500":                        {indexed(), status(500), tellsBad},
		"time-out":                   {indexed(), faulty(fault.Timeout), tellsBad},
		"time-out again":             {failing(indexed(), 3, day), faulty(fault.Timeout), tellsBadAgain},
		"log-in page":                {indexed(), Result{Status: 200, LoginPage: true}, tellsBad},
		"noindex":                    {indexed(), reason(ReasonNoIndex), tellsBad},
		"empty":                      {indexed(), reason(ReasonEmpty), tellsBad},
		"copy":                       {indexed(), reason(ReasonCopy), tellsBad},
		"near copy":                  {indexed(), reason(ReasonNearCopy), tellsBad},
		"canonical":                  {indexed(), reason(ReasonCanonical), tellsBad},
		"MIME type":                  {indexed(), reason(ReasonMediaType), tellsBad},
		"robots.txt":                 {indexed(), Result{Excluded: &Exclusion{Reason: ReasonRobots}}, tellsBad},
		"its time is over":           {indexed(), reason(ReasonUnavailable), tellsNothing},
		"its site moved":             {indexed(), Result{Excluded: &Exclusion{Status: 760, Reason: ReasonMoved, MovedTo: "http://b.test/"}}, tellsNothing},
		"redirect of its own":        {indexed(), moved, tellsMoved},
		"rule":                       {indexed(), Result{Excluded: &Exclusion{Status: 760, Reason: ReasonRules}}, tellsNothing},
		"kill list":                  {indexed(), reason(ReasonKilled), tellsNothing},
		"another crawler's":          {indexed(), Result{Excluded: &Exclusion{Status: 761, Reason: ReasonElsewhere, Keep: true}}, tellsNothing},
		"address refused":            {indexed(), faulty(fault.Address), tellsNothing},
		"no document before":         {crawled(), status(404), tellsNothing},
		"no document before, good":   {crawled(), document(1, "web"), tellsNothing},
		"never fetched":              {fresh(), status(404), tellsNothing},
		"an item asked for as it is": {func() Record { r := indexed(); r.Kind = KindItem; return r }(), status(404), tellsNothing},
	} {
		for _, set := range []*Settings{settings(), settings(policy(Cautious)), settings(policy(Smartsite))} {
			out := outcome(&c.old, &c.r, set, 0, start(), 0)
			if got := new(health).tellsOf(doc(1), &c.old, &c.r, &out); got != c.want {
				t.Errorf("%s, %v: tells %d, want %d", name, set.Policy, got, c.want)
			}
		}
	}
	h := new(health)
	for i, want := range []tells{tellsMoved, tellsMoved, tellsBad, tellsBad} {
		old := indexed()
		r := Result{Status: 302, RedirectIgnored: true, Location: fmt.Sprint("http://a.test/login?", i), Decided: IndexFollow}
		out := outcome(&old, &r, settings(), 0, start(), 0)
		if got := h.tellsOf(doc(i), &old, &r, &out); got != want {
			t.Errorf("redirect %d to one place: tells %d, want %d", i, got, want)
		}
	}
}
