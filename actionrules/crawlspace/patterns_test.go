package crawlspace

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

// The example of the seed "Include/exclude rules", word for word.
func TestFunnelbackIncludeExclude(t *testing.T) {
	judgements{
		"http://h/orange":        "include /red,/green,/blue", // "fails include"
		"http://h/green/emerald": "ok",                        // "passes include, passes exclude"
		"http://h/green/olive":   "exclude /green/olive",      // "passes include, fails exclude"
	}.check(t, mustCompile(t, Settings{Include: text(1, "/red,/green,/blue"), Exclude: text(1, "/green/olive")}))
}

// The regular expressions of the same seed.
func TestFunnelbackRegexps(t *testing.T) {
	const value = `regexp:search\?date=|^https:|\?OpenImageResource|/cgi-bin/|\.pdf$`
	judgements{
		"http://h/search?date=1": "exclude " + value, "https://h/": "exclude " + value, "http://h/a?OpenImageResource": "exclude " + value,
		"http://h/cgi-bin/x": "exclude " + value, "http://h/a.pdf": "exclude " + value,
		"http://h/search": "ok", "http://h/https:": "ok", "http://h/a.pdf?x": "ok", "http://h/axpdf": "ok",
	}.check(t, mustCompile(t, Settings{Exclude: text(1, value)}))
	judgements{"http://www.anu.edu.au/": "ok", "http://www.anu-edu.au/": `include regexp:\.anu\.edu\.au`}.check(t,
		mustCompile(t, Settings{Include: text(1, `regexp:\.anu\.edu\.au`)}))
}

// "a URL is kept if it contains one include (or there are none) and no exclude";
// "Substrings and patterns are case-sensitive".
func TestPatternValues(t *testing.T) {
	judgements{"http://h/a": "ok", "http://h/A": "include a , ,b", "http://h/b": "ok", "http://b/": "ok"}.check(t,
		mustCompile(t, Settings{Include: text(1, " a , ,b ")}))
	judgements{"http://h/a": "exclude a", "http://h/A": "ok", "http://h/ba": "exclude b"}.check(t, mustCompile(t, Settings{Exclude: text(1, "b,a")}))
	judgements{"http://h/a": "exclude regexp:[ab]$", "http://h/A": "ok"}.check(t, mustCompile(t, Settings{Exclude: text(1, "regexp:[ab]$")}))
	judgements{"http://h/a*b": "exclude a*b", "http://h/axb": "ok"}.check(t, mustCompile(t, Settings{Exclude: text(1, "a*b")}))
	judgements{"http://h/": "ok"}.check(t, mustCompile(t, Settings{Include: text(1, " "), Exclude: text(1, ",")}))
	// The fragment is not part of the URL.
	judgements{"http://h/#a": "ok"}.check(t, mustCompile(t, Settings{Exclude: text(1, "#,a")}))
}

// "Simple and regexp cannot be mixed in one value: an error."
func TestMixedValuesAreErrors(t *testing.T) {
	for value, want := range map[string]string{
		"/a,regexp:b":        "mixes substrings and regexp:",
		"regexp:a,regexp:b":  "contains regexp: twice; write it once, with | between the alternatives",
		"/a, regexp:b,/c":    "mixes substrings and regexp:",
		"regexp:":            "nothing follows regexp:",
		"regexp:[":           "the expression is not valid: missing closing ]",
		" regexp:a{1,2}b(c ": "missing closing )",
		"a, b\x00c":          `"b\x00c" contains the control character '\x00', which never occurs in a URL`,
		"a\xff":              "contains the non-UTF-8 byte 0xff",
	} {
		for _, s := range []Settings{{Include: text(2, value)}, {Exclude: text(2, value)}} {
			_, errs := Compile(s, nil)
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "CrawlConfig.xml:2:5: ") || !strings.Contains(errs[0].Error(), want) {
				t.Errorf("%s: %v, want %s", value, errs, want)
			}
		}
	}
}

// "<RejectList file=.../>: patterns, one a line, re-read (...) and applied from
// then on".
func TestRejectList(t *testing.T) {
	s := mustCompile(t, Settings{RejectList: file("reject.patterns", "# while it runs\n/calendar\nregexp:\\?y=\\d # years\n\n/b,c\n"), Exclude: text(1, "/ex")})
	judgements{"http://h/calendar": "reject-list /calendar", "http://h/a?y=1": `reject-list regexp:\?y=\d`, "http://h/a?y=": "ok",
		"http://h/b": "ok", "http://h/b,c": "reject-list /b,c", "http://h/calendar?y=1": "reject-list /calendar", "http://h/ex/calendar": "exclude /ex"}.check(t, s)
	if v := s.JudgeStored(to(t, "http://h/calendar")); v.Status != StatusExcluded {
		t.Errorf("a stored URL: %+v", v) // "to stored ones like case 1"
	}
	next, errs := s.WithRejectList(file("reject.patterns", "/b\n"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	judgements{"http://h/calendar": "ok", "http://h/b": "reject-list /b", "http://h/ex": "exclude /ex"}.check(t, next)
	judgements{"http://h/calendar": "reject-list /calendar", "http://h/b": "ok"}.check(t, s)
	if v := next.JudgeStored(to(t, "http://h/b")); v.Allowed || next.Fingerprint() == s.Fingerprint() {
		t.Errorf("the new list does not count: %+v, %s", v, next.Fingerprint())
	}
	if empty, errs := next.WithRejectList(nil); len(errs) > 0 || !empty.Judge(to(t, "http://h/b")).Allowed {
		t.Error("the list cannot be taken away")
	}
	if bad, errs := next.WithRejectList(file("reject.patterns", "/ok\nregexp:(\na b\n")); bad != nil || len(errs) != 2 {
		t.Errorf("%v", errs)
	}
}

// "<Kill .../>: URLs crawled and followed but deleted from, or never sent to, the
// index: one a line, # comments; exact compares canonical URLs, patterns are
// substrings or regexp:".
func TestKillLists(t *testing.T) {
	s := mustCompile(t, Settings{
		KillExact:    file("kill_exact.cfg", "# home pages\nHTTP://H:80/\nhttp://h/%7Ea?x=1#f # mine\n"),
		KillPatterns: file("kill_pattern.cfg", "/login\nregexp:/index\\.html?$\n"),
	})
	for raw, want := range map[string]string{
		"http://h/": "kill gate, kill_exact.cfg:2: HTTP://H:80/", "http://h/~a?x=1": "kill gate, kill_exact.cfg:3: http://h/%7Ea?x=1#f",
		"http://h/a/login?x": "kill gate, kill_pattern.cfg:1: /login", "http://h/index.htm": `kill gate, kill_pattern.cfg:2: regexp:/index\.html?$`,
		"https://h/": "", "http://h/~a": "", "http://h/index.html?x": "", "http://h/LOGIN": "",
	} {
		got, killed := s.Killed(mustURL(t, raw))
		if killed != (want != "") || killed && got.String() != want {
			t.Errorf("%s: %v %s, want %s", raw, killed, got, want)
		}
		if v := s.Judge(to(t, raw)); !v.Allowed {
			t.Errorf("%s is not crawled: %+v", raw, v)
		}
	}
	for content, want := range map[string]string{
		"www.h.com/a": `:1:1: "www.h.com/a" has no scheme; write "http://www.h.com/a"`, "http://a b/": `:1:10: unexpected "b/"`,
		"ftp://h/": "cannot match any URL", "http://a<b/": "write an absolute URL",
	} {
		if _, errs := Compile(Settings{KillExact: file("kill_exact.cfg", content)}, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v, want %s", content, errs, want)
		}
	}
}

// "a URL must share host (and scheme) with a start URL".
func TestStartURLMatch(t *testing.T) {
	roots := []string{"https://doc.seneca.nl/a/b", "http://other.nl:8080/"}
	both := &StartURLMatch{Host: true, Scheme: true}
	const no = `start-url host="true" scheme="true"`
	judgements{"https://doc.seneca.nl/": "ok", "https://DOC.seneca.nl:81/x": "ok", "http://doc.seneca.nl/": no, "https://other.nl/": no, "http://other.nl/": "ok",
		"https://www.doc.seneca.nl/": no, "https://seneca.nl/": no}.check(t, mustCompile(t, Settings{StartURLMatch: both}, roots...))
	judgements{"http://doc.seneca.nl/": "ok", "http://x.nl/": `start-url host="true" scheme="false"`}.check(t,
		mustCompile(t, Settings{StartURLMatch: &StartURLMatch{Host: true}}, roots...))
	judgements{"https://x.nl/": "ok", "http://x.nl/": `start-url host="false" scheme="true"`}.check(t,
		mustCompile(t, Settings{StartURLMatch: &StartURLMatch{Scheme: true}}, roots[0]))
	judgements{"https://x.nl/": "ok"}.check(t, mustCompile(t, Settings{StartURLMatch: &StartURLMatch{}}, roots[0]))
	judgements{"https://x.nl/": no}.check(t, mustCompile(t, Settings{StartURLMatch: both}))
}

// "<MustContain>, <MustNotContain>: substrings of the whole URL, fragment excluded".
func TestMustContain(t *testing.T) {
	s := mustCompile(t, Settings{
		MustContain: []Text{text(1, "doc."), text(2, " /news "), text(3, "")}, MustNotContain: []Text{text(4, "print=1"), text(5, "a,b"), text(6, "\n ")},
	})
	judgements{"http://doc.x/": "ok", "http://x/news?a": "ok", "http://x/a?u=/news": "ok", "http://x/#doc.": "must-contain doc., /news, ",
		"http://x/NEWS": "must-contain doc., /news, ", "http://doc.x/?print=1": "must-not-contain print=1", "http://doc.x/#print=1": "ok",
		"http://doc.x/a,b": "must-not-contain a,b", "http://doc.x/a": "ok"}.check(t, s)
	judgements{"http://x/": "ok"}.check(t, mustCompile(t, Settings{MustContain: []Text{text(1, " ")}}))
}

// "<QueryFilter keep="id,nr"/>: query parameters outside the list are dropped
// from the canonical URL; id is always kept once the element is there".
func TestQueryFilter(t *testing.T) {
	for keep, cases := range map[string]map[string]string{
		"id,nr": {"http://h/item?id=12345": "http://h/item?id=12345", "http://h/calendar?year=2018&month=11&day=8": "http://h/calendar",
			"http://h/a?x=1&id=2&y&nr=3": "http://h/a?id=2&nr=3", "http://h/a?ID=1": "http://h/a", "http://h/a?id": "http://h/a?id",
			"http://h/a?id=1&id=2": "http://h/a?id=1&id=2", "http://h/a?&id=1&&": "http://h/a?id=1", "http://h/a?idx=1": "http://h/a"},
		"":               {"http://h/a?id=1&nr=2": "http://h/a?id=1", "http://h/a": "http://h/a"},
		"a b, ü[] ,c+d":  {"http://h/?a+b=1&a%20b=2&%C3%BC[]=3&c%2Bd=4&x+y=5": "http://h/?a+b=1&a%20b=2&%C3%BC[]=3&c%2Bd=4", "http://h/?%zz=1": "http://h/"},
		"nr, with blank": {"http://h/?nr=1&with%20blank": "http://h/?nr=1&with%20blank"},
	} {
		s := mustCompile(t, Settings{QueryFilter: &Text{keep, at(1)}, Exclude: text(2, "bad=")})
		for raw, want := range cases {
			if got := s.Rewrite(mustURL(t, raw)); got.String() != want {
				t.Errorf("keep %q, %s: %s, want %s", keep, raw, got, want)
			}
			more := raw + "?bad=1"
			if strings.Contains(raw, "?") {
				more = raw + "&bad=1"
			}
			if v := s.Judge(to(t, more)); !v.Allowed || v.URL.String() != want {
				t.Errorf("%s: the other gates see the URL before the filter: %+v", more, v)
			}
		}
	}
	s := mustCompile(t, Settings{QueryFilter: &Text{"", at(1)}, KillExact: file("kill", "http://h/a?x=1")})
	if got := s.Rewrite(mustURL(t, "http://h/a?x=1#frag")); got != mustURL(t, "http://h/a#frag") {
		t.Errorf("the fragment is lost: %s#%s", got, got.Fragment())
	}
	if _, killed := s.Killed(mustURL(t, "http://h/a?y=2")); !killed {
		t.Error("kill_exact.cfg does not know URLs as the filter leaves them")
	}
	long := mustURL(t, "http://h/?x=1&id=1#"+strings.Repeat("a", weburl.MaxLength-19))
	if got := s.Rewrite(long); got.String() != "http://h/?id=1" {
		t.Errorf("%.50s", got)
	}
}

// TestSubstringsAreSpelledAsURLs: a substring may be written as people read it.
func TestSubstringsAreSpelledAsURLs(t *testing.T) {
	for written, u := range map[string]string{
		"/my folder": "http://h/my%20folder/a", "/Über": "http://h/%C3%9Cber", "/%c3%bc/": "http://h/ü/x", "/%7euser": "http://h/~user/", "q=a b": "http://h/?q=a%20b",
	} {
		for name, settings := range map[string]Settings{
			"exclude": {Exclude: text(1, written)}, "MustNotContain": {MustNotContain: []Text{text(1, written)}},
			"reject list": {RejectList: file("reject", strings.ReplaceAll(written, " ", "%20")+"\n")},
		} {
			s := mustCompile(t, settings)
			if s.Judge(Link{URL: mustURL(t, u)}).Allowed {
				t.Errorf("%s %q lets %s pass", name, written, u)
			}
			if !s.Judge(Link{URL: mustURL(t, "http://h/other")}).Allowed {
				t.Errorf("%s %q refuses everything", name, written)
			}
		}
	}
}

// TestPatternsSpareSources: a sitemap need not match the patterns for what it lists, but the rules
// for hosts hold for it.
func TestPatternsSpareSources(t *testing.T) {
	s := mustCompile(t, Settings{Include: text(1, "/red"), MustContain: []Text{text(1, "/red")}, MaxPathDepth: &Limit{}, CrawlRules: file("crawl.rules", "allow domain h\nforbid domain *\n")})
	sitemap := mustURL(t, "http://h/maps/sitemap.xml")
	if v := s.Judge(Link{URL: sitemap, Exempt: true}); !v.Allowed {
		t.Errorf("the sitemap is refused: %v", v.Reason)
	}
	if s.Judge(Link{URL: sitemap}).Allowed {
		t.Error("as a page it is not refused")
	}
	if s.Judge(Link{URL: mustURL(t, "http://elsewhere/sitemap.xml"), Exempt: true}).Allowed {
		t.Error("a sitemap of another host is not refused")
	}
}
