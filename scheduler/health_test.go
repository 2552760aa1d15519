package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/weburl"
)

func doc(i int) weburl.Key { return weburl.Key{byte(i), byte(i >> 8), 1} }

// observeAll tells of answers of documents of their own: "b" bad, "g" good, "." nothing,
// "a" bad again. It returns after how many of them the host was ill first.
func observeAll(h *health, answers string, documents uint64) (illAfter int) {
	word := map[byte]Tells{'b': TellsBad, 'g': TellsGood, '.': TellsNothing, 'a': TellsBadAgain, 'm': TellsMoved}
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
		h.observe(doc(i%4), TellsGood, 100, start())
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
		want Tells
	}{
		"same":                       {indexed(), document(1, "web"), TellsGood},
		"changed":                    {indexed(), document(2, "web"), TellsGood},
		"304":                        {indexed(), Result{Status: 304, Conditional: true}, TellsGood},
		"good again":                 {again, document(1, "web"), TellsGood},
		"good after errors":          {failing(indexed(), 3, day), document(1, "web"), TellsGood},
		"404":                        {indexed(), status(404), TellsBad},
		"404 again":                  {again, status(404), TellsBadAgain},
		"500":                        {indexed(), status(500), TellsBad},
		"time-out":                   {indexed(), faulty(fault.Timeout), TellsBad},
		"time-out again":             {failing(indexed(), 3, day), faulty(fault.Timeout), TellsBadAgain},
		"log-in page":                {indexed(), Result{Status: 200, LoginPage: true}, TellsBad},
		"noindex":                    {indexed(), reason(ReasonNoIndex), TellsBad},
		"empty":                      {indexed(), reason(ReasonEmpty), TellsBad},
		"copy":                       {indexed(), reason(ReasonCopy), TellsBad},
		"near copy":                  {indexed(), reason(ReasonNearCopy), TellsBad},
		"canonical":                  {indexed(), reason(ReasonCanonical), TellsBad},
		"MIME type":                  {indexed(), reason(ReasonMediaType), TellsBad},
		"robots.txt":                 {indexed(), Result{Excluded: &Exclusion{Reason: ReasonRobots}}, TellsBad},
		"its time is over":           {indexed(), reason(ReasonUnavailable), TellsNothing},
		"its site moved":             {indexed(), Result{Excluded: &Exclusion{Status: 760, Reason: ReasonMoved, MovedTo: "http://b.test/"}}, TellsNothing},
		"redirect of its own":        {indexed(), moved, TellsMoved},
		"rule":                       {indexed(), Result{Excluded: &Exclusion{Status: 760, Reason: ReasonRules}}, TellsNothing},
		"kill list":                  {indexed(), reason(ReasonKilled), TellsNothing},
		"another crawler's":          {indexed(), Result{Excluded: &Exclusion{Status: 761, Reason: ReasonElsewhere, Keep: true}}, TellsNothing},
		"address refused":            {indexed(), faulty(fault.Address), TellsNothing},
		"no document before":         {crawled(), status(404), TellsNothing},
		"no document before, good":   {crawled(), document(1, "web"), TellsNothing},
		"never fetched":              {fresh(), status(404), TellsNothing},
		"an item asked for as it is": {func() Record { r := indexed(); r.Kind = KindItem; return r }(), status(404), TellsNothing},
	} {
		for _, set := range []*Settings{settings(), settings(policy(Cautious)), settings(policy(Smartsite))} {
			out := outcome(&c.old, &c.r, set, 0, start(), 0)
			if got := new(health).tellsOf(doc(1), &c.old, &c.r, &out); got != c.want {
				t.Errorf("%s, %v: tells %d, want %d", name, set.Policy, got, c.want)
			}
		}
	}
	h := new(health)
	for i, want := range []Tells{TellsMoved, TellsMoved, TellsBad, TellsBad} {
		old := indexed()
		r := Result{Status: 302, RedirectIgnored: true, Location: fmt.Sprint("http://a.test/login?", i), Decided: IndexFollow}
		out := outcome(&old, &r, settings(), 0, start(), 0)
		if got := h.tellsOf(doc(i), &old, &r, &out); got != want {
			t.Errorf("redirect %d to one place: tells %d, want %d", i, got, want)
		}
	}
}

func TestIllHostsAreBounded(t *testing.T) {
	var ill illHosts
	key := func(i int) weburl.HostKey { return weburl.HostKey{byte(i), byte(i >> 8), byte(i >> 16), 1} }
	for i := range illNamed + illUnnamed + 50 {
		ill.add(key(i), "http://h.test", start(), nil)
		ill.add(key(i), "http://h.test", start(), nil)
	}
	if len(ill.named) != illNamed || len(ill.unnamed) != illUnnamed {
		t.Errorf("%d named, %d more", len(ill.named), len(ill.unnamed))
	}
	ill.remove(key(illNamed + illUnnamed + 49))
	if len(ill.named) != illNamed-1 {
		t.Errorf("%d named", len(ill.named))
	}
}
