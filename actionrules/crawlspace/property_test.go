package crawlspace

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/weburl"
)

// oracle is a pattern as a regular expression.
func oracle(p string, where anchoring) *regexp.Regexp {
	expr := ""
	for i := range len(p) {
		if p[i] == wildcard {
			expr += "[^/]*"
		} else {
			expr += regexp.QuoteMeta(p[i : i+1])
		}
	}
	switch where {
	case atStart:
		expr = `\A(?:` + expr + `)`
	case whole:
		expr = `\A(?:` + expr + `)\z`
	}
	return regexp.MustCompile("(?s)" + expr)
}

// The matcher, the plain way and regular expressions agree on the first rule.
func TestMatcherAgainstRegexps(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		where := rapid.SampledFrom([]anchoring{atStart, whole, anywhere}).Draw(t, "where")
		alphabet := "ab/*"
		if where == anywhere {
			alphabet = "ab/"
		}
		text := rapid.StringOfN(rapid.SampledFrom([]rune(alphabet)), 0, 8, -1)
		var patterns []pattern
		var oracles []*regexp.Regexp
		for i, s := range rapid.SliceOfN(text, 1, 12).Draw(t, "patterns") {
			p := wildcards(s)
			patterns = append(patterns, pattern{p, int32(i)})
			oracles = append(oracles, oracle(p, where))
		}
		texts := append([]pattern(nil), patterns...)
		m := newMatcher(patterns, where)
		for _, s := range rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab/")), 0, 10, -1), 1, 10).Draw(t, "texts") {
			want := int32(none)
			for i := len(oracles) - 1; i >= 0; i-- {
				held := oracles[i].MatchString(s)
				if held {
					want = int32(i)
				}
				if got := matches(texts[i].text, s, where); got != held {
					t.Fatalf("%q in %q the plain way: %v, want %v", texts[i].text, s, got, held)
				}
			}
			if got := m.first(s); got != want {
				t.Fatalf("%q: rule %d, want %d", s, got, want)
			}
		}
	})
}

// randomSettings draws settings over a small alphabet, so that rules meet URLs.
func randomSettings(t *rapid.T) Settings {
	host := rapid.SampledFrom([]string{"a.x", "A.x", "*.x", "a*", "*", "b.x:81", "*:443", "b.X", "[::1]", "[*1]:80"})
	prefix := rapid.SampledFrom([]string{"http://a.x/", "http://*.x/p", "http://a.x/*q/", "https://*", "http://b.x:*/p*r", "http://A.x/p/", "*://a.x/p?id"})
	action := rapid.SampledFrom([]string{"allow", "forbid"})
	var rules, global strings.Builder
	for range rapid.IntRange(0, 6).Draw(t, "rules") {
		if rapid.Bool().Draw(t, "domain") {
			fmt.Fprintf(&rules, "%s domain %s\n", action.Draw(t, "action"), host.Draw(t, "host"))
		} else {
			fmt.Fprintf(&rules, "%s prefix %s\n", action.Draw(t, "action"), prefix.Draw(t, "prefix"))
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "global rules") {
		fmt.Fprintf(&global, "%s domain %s\n", action.Draw(t, "action"), host.Draw(t, "host"))
	}
	s := Settings{CrawlRules: file("crawl.rules", rules.String()), FoldHost: rapid.Bool().Draw(t, "fold")}
	if rapid.Bool().Draw(t, "global") {
		s.GlobalRules = file("global.rules", global.String())
	}
	part := rapid.SampledFrom([]string{"", "", "", "q", "p,r", "regexp:q|r$", "/p", "x/"})
	s.Include, s.Exclude = text(1, part.Draw(t, "include")), text(2, part.Draw(t, "exclude"))
	s.RejectList = file("reject", strings.ReplaceAll(part.Draw(t, "reject"), ",", "\n"))
	s.MustContain = []Text{text(3, strings.TrimPrefix(part.Draw(t, "must"), "regexp:"))}
	s.MustNotContain = []Text{text(4, strings.TrimPrefix(part.Draw(t, "must not"), "regexp:"))}
	if rapid.Bool().Draw(t, "query") {
		s.QueryFilter = &Text{"q", at(5)}
	}
	if rapid.Bool().Draw(t, "start") {
		s.StartURLMatch = &StartURLMatch{rapid.Bool().Draw(t, "host"), rapid.Bool().Draw(t, "scheme"), at(6)}
	}
	if rapid.Bool().Draw(t, "extensions") {
		s.Extensions = &Extensions{List: text(7, "js,r.js"), At: at(7)}
	}
	if rapid.Bool().Draw(t, "depths") {
		s.MaxPathDepth, s.MaxLinkDepth = &Limit{rapid.IntRange(0, 3).Draw(t, "path"), at(8)}, &Limit{1, at(9)}
	}
	return s
}

// Judge and Trace are two ways that agree, and the background pass differs in
// the depths alone.
func TestJudgeAgreesWithTrace(t *testing.T) {
	part := rapid.SampledFrom([]string{"/p", "/q", "/pr", "/xq", "/", "/a.js", "/r.JS"})
	seeded.Check(t, func(t *rapid.T) {
		settings := randomSettings(t)
		root, err := weburl.Parse("http://a.x/")
		if err != nil {
			t.Fatal(err)
		}
		s, errs := Compile(settings, []weburl.URL{root})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		settings.MaxPathDepth, settings.MaxLinkDepth = nil, nil
		flat, _ := Compile(settings, []weburl.URL{root})
		for range 8 {
			host := rapid.SampledFrom([]string{"a.x", "A.x", "b.x", "b.X", "c.y", "[::1]"}).Draw(t, "host")
			raw := rapid.SampledFrom([]string{"http://", "https://"}).Draw(t, "scheme") + host + rapid.SampledFrom([]string{"", ":81", ":443"}).Draw(t, "port") +
				strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "path"), "") + rapid.SampledFrom([]string{"", "?id=1", "?q=1&z=r"}).Draw(t, "query")
			u, err := weburl.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			l := Link{URL: u, Host: host, Depth: rapid.IntRange(0, 2).Draw(t, "depth"), Exempt: rapid.Bool().Draw(t, "exempt")}
			v := s.Judge(l)
			if fault := disagreement(s, l, v); fault != "" {
				t.Fatalf("%s: %s", raw, fault)
			}
			if got := flat.Judge(l); got != s.JudgeStored(l) {
				t.Fatalf("%s: the background pass says %+v, want %+v", raw, s.JudgeStored(l), got)
			}
			if again := s.Judge(Link{v.URL, l.Host, l.Depth, l.Exempt}); again != v {
				t.Fatalf("%s: judged again: %+v, first %+v", raw, again, v)
			}
		}
	})
}

// Prefix rules decide the same, one after the other, in whatever order they
// share the tree; a wildcard never leaves its segment of the path.
func TestWildcardsStayInTheirSegment(t *testing.T) {
	s := mustCompile(t, local("forbid http://h/*b*c*/d"))
	judgements{"http://h/bc/d": "prefix forbid http://h/*b*c*/d", "http://h/xbxcx/dx": "prefix forbid http://h/*b*c*/d",
		"http://h/b/c/d": "ok", "http://h/b/bc/d": "ok", "http://h/bcbc/e": "ok"}.check(t, s)
}

// A hostile URL against rules with many wildcards costs little and ends.
func TestHostileURL(t *testing.T) {
	var rules strings.Builder
	for i := range 50 {
		fmt.Fprintf(&rules, "forbid prefix http://h/%s*%sb\n", strings.Repeat("a", i), strings.Repeat("*a", 20))
	}
	s := mustCompile(t, local(rules.String()))
	if got := judgement(t, s, to(t, "http://h/"+strings.Repeat("a", 2000))); got != "ok" {
		t.Error(got)
	}
	if got := judgement(t, s, to(t, "http://h/"+strings.Repeat("a", 2000)+"b")); !strings.HasPrefix(got, "prefix ") {
		t.Error(got)
	}
}

// A Space is asked by many goroutines at once.
func TestJudgeIsSafeForConcurrentUse(t *testing.T) {
	s := mustCompile(t, local(prefixRules(400, false)))
	links := benchLinks(t)[:200]
	var want []Verdict
	for _, l := range links {
		want = append(want, s.Judge(l))
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i, l := range links {
				if got := s.Judge(l); got != want[i] {
					t.Errorf("%s: %+v, want %+v", l.URL, got, want[i])
				}
			}
		})
	}
	group.Wait()
}
