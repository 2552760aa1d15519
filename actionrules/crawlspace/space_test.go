package crawlspace

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// to is a link to raw, its host spelled as there.
func to(t testing.TB, raw string) Link {
	t.Helper()
	u := mustURL(t, raw)
	return Link{URL: u, Host: SpelledHost(raw, u)}
}

// "on the host as it was written in the link".
func TestSpelledHost(t *testing.T) {
	base, err := weburl.NewBase("http://www.IBM.com/a")
	if err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]string{
		"http://WWW.ibm.com/x": "WWW.ibm.com", "HTTPS://u:p@Www.ibm.com:81?q": "Www.ibm.com", "//WWW.IBM.COM": "WWW.IBM.COM", " http:\\\\WWW.ibm.com\\a\n": "WWW.ibm.com",
		"http://WWW.ibm.com#f": "WWW.ibm.com", "  //WWW.ibm.com  ": "WWW.ibm.com",
		"http://www.ibm.com/x": "", "x": "", "/WWW.ibm.com/x": "", "?u=http://WWW.ibm.com/": "", "a?http://WWW.ibm.com/": "", "": "", "/": "", "x/": "",
		"http://[2001:DB8::1]/": "", "http://ww%77.ibm.com/": "", "http://xn--MNCHEN-3ya.de/": "xn--MNCHEN-3ya.de",
	} {
		u, err := base.Resolve(link)
		if err != nil {
			t.Fatalf("%q: %v", link, err)
		}
		if got := SpelledHost(link, u); got != want {
			t.Errorf("%q: %q, want %q", link, got, want)
		}
	}
}

func mustCompile(t testing.TB, s Settings, roots ...string) *Space {
	t.Helper()
	urls := make([]weburl.URL, len(roots))
	for i, r := range roots {
		urls[i] = mustURL(t, r)
	}
	space, errs := Compile(s, urls)
	if len(errs) > 0 {
		t.Fatalf("%v", errs)
	}
	return space
}

func file(name, content string) *File { return &File{name, []byte(content)} }

func local(rules string) Settings { return Settings{CrawlRules: file("crawl.rules", rules)} }

func at(line int) actionrules.Position {
	return actionrules.Position{File: "CrawlConfig.xml", Line: line, Column: 5}
}

func text(line int, value string) Text { return Text{value, at(line)} }

// judgement is how a verdict looks in a table: "ok", or gate and rule, with 761
// where that is the status. It checks that Trace agrees.
func judgement(t testing.TB, s *Space, l Link) string {
	t.Helper()
	v := s.Judge(l)
	if fault := disagreement(s, l, v); fault != "" {
		t.Errorf("%s: %s", l.URL, fault)
	}
	switch {
	case v.Allowed:
		return "ok"
	case v.Status == StatusElsewhere:
		return string(v.Reason.Gate) + " " + v.Reason.Rule + " 761"
	default:
		return string(v.Reason.Gate) + " " + v.Reason.Rule
	}
}

// disagreement says where Judge, Trace and rules read one after the other differ about a link.
func disagreement(s *Space, l Link, v Verdict) string {
	if fault := misfound(s, l); fault != "" {
		return fault
	}
	want := Verdict{URL: s.Rewrite(l.URL), Allowed: true}
	refused := map[Gate]bool{}
	elsewhere := false
	for _, a := range s.Trace(l) {
		if a.Gate == GateGlobal {
			elsewhere = a.Allowed
			continue
		}
		refused[a.Gate] = !a.Allowed
		if want.Allowed && !a.Allowed {
			want.Allowed, want.Reason, want.Status = false, a.Reason, StatusExcluded
		}
	}
	if want.Reason.Gate == GateDomain && elsewhere && !refused[GatePrefix] {
		want.Status = StatusElsewhere
	}
	if v != want {
		return "Judge and Trace differ: " + cmp.Diff(want, v, cmp.Comparer(func(a, b weburl.URL) bool { return a == b }))
	}
	return ""
}

// misfound says which gate's index finds another first rule than reading one rule after the other.
func misfound(s *Space, l Link) string {
	l.URL = s.Rewrite(l.URL)
	gates := slices.Clone(s.gates)
	if s.global != nil {
		gates = append(gates, s.global)
	}
	for _, g := range gates {
		var got, want any
		switch g := g.(type) {
		case *domainGate:
			got, want = g.decide(l), first(g.rules, func(r *domainRule) (*rule, bool) {
				return &r.rule, (r.port == "" || r.port == l.URL.Port()) && matches(r.host, g.host(l), whole)
			})
		case *prefixGate:
			got, want = g.decide(l), first(g.rules, func(r *prefixRule) (*rule, bool) { return &r.rule, matches(r.text, l.URL.String(), atStart) })
		case *patternGate:
			got, want = g.list.first(l.URL.String()), first(g.list.entries, func(e *entry) (*entry, bool) {
				return e, e.expr != nil && e.expr.re.MatchString(l.URL.String()) || e.expr == nil && matches(e.literal, l.URL.String(), anywhere)
			})
		}
		if got != want {
			return fmt.Sprintf("%T finds %+v, want %+v", g, got, want)
		}
	}
	return ""
}

// first is what of returns for the first of rules that matches, nil if none does.
func first[R, T any](rules []R, of func(*R) (*T, bool)) *T {
	for i := range rules {
		if found, ok := of(&rules[i]); ok {
			return found
		}
	}
	return nil
}

type judgements map[string]string

func (j judgements) check(t *testing.T, s *Space) {
	t.Helper()
	for raw, want := range j {
		if got := judgement(t, s, to(t, raw)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// everyGate is a space in which each gate refuses one kind of URL.
func everyGate() Settings {
	return Settings{
		QueryFilter:    &Text{"nr", at(1)},
		StartURLMatch:  &StartURLMatch{Host: false, Scheme: true, At: at(2)},
		MustContain:    []Text{text(3, "h")},
		MustNotContain: []Text{text(4, "nomust")},
		Include:        text(5, "/in"),
		Exclude:        text(6, "/ex"),
		RejectList:     file("reject.patterns", "/reject\n"),
		Extensions:     &Extensions{At: at(7)},
		MaxPathDepth:   &Limit{3, at(8)},
		MaxLinkDepth:   &Limit{2, at(9)},
		CrawlRules:     file("crawl.rules", "forbid domain bad.h\nforbid prefix http://*/in/prefix\n"),
		GlobalRules:    file("global.rules", "allow domain bad.h\n"),
		KillPatterns:   file("kill_pattern.cfg", "/in/kill\n"),
		MIME:           &MIMETypes{At: at(10), Types: []Text{text(10, "text/csv")}},
	}
}

// The chain of crawl-space.md: a URL that every gate from some gate on refuses is
// refused by the first of them.
func TestOrderOfGates(t *testing.T) {
	s := mustCompile(t, everyGate(), "http://h/")
	order := []struct {
		gate Gate
		url  string
	}{
		{GateStartURL, "https://bad.x/nomust/ex/reject/prefix/a/b.js"},
		{GateMustContain, "http://bad.x/nomust/ex/reject/prefix/a/b.js"}, // its scheme has an h
		{GateMustNotContain, "http://bad.h/nomust/ex/reject/prefix/a/b.js"},
		{GateInclude, "http://bad.h/ex/reject/prefix/a/b.js"},
		{GateExclude, "http://bad.h/in/prefix/ex/reject/b.js"},
		{GateReject, "http://bad.h/in/prefix/a/reject/b.js"},
		{GateExtension, "http://bad.h/in/prefix/a/b/c.js"},
		{GatePathDepth, "http://bad.h/in/prefix/a/b/c"},
		{GateLinkDepth, "http://bad.h/in/prefix"},
		{GateDomain, "http://bad.h/in/prefix"},
		{GatePrefix, "http://h/in/prefix"},
	}
	settings := everyGate()
	settings.MustContain[0].Value = "/in"
	s2 := mustCompile(t, settings, "http://h/")
	for _, c := range order {
		space, l := s, to(t, c.url)
		if c.gate == GateMustContain {
			space = s2
		}
		if c.gate != GateDomain && c.gate != GatePrefix {
			l.Depth = 3
		}
		v := space.Judge(l)
		if v.Reason.Gate != c.gate || v.Allowed || v.Status != StatusExcluded {
			t.Errorf("%s: %+v, want the gate %s", c.url, v, c.gate)
		}
		if fault := disagreement(space, l, v); fault != "" {
			t.Errorf("%s: %s", c.url, fault)
		}
	}
	var gates []Gate
	for _, a := range s.Trace(to(t, "http://bad.h/in")) {
		gates = append(gates, a.Gate)
	}
	want := []Gate{GateQuery}
	for _, c := range order {
		want = append(want, c.gate)
	}
	if diff := cmp.Diff(append(want, GateGlobal), gates); diff != "" {
		t.Errorf("order of the trace: %s", diff)
	}
	if got := judgement(t, s, to(t, "http://h/in?x=1&nr=2")); got != "ok" {
		t.Error(got)
	}
}

// TestTraceUsesTheIndex: Trace reads no list of rules, which may have 100,000, from its beginning. Without their
// patterns each rule of a list would match.
func TestTraceUsesTheIndex(t *testing.T) {
	s := mustCompile(t, local("allow domain g\nforbid domain h\nforbid http://h/a\nforbid http://h/b\n"))
	for i := range s.domain.rules {
		s.domain.rules[i].host = string(rune(wildcard))
	}
	for i := range s.prefix.rules {
		s.prefix.rules[i].text = ""
	}
	var got []string
	for _, a := range s.Trace(to(t, "http://h/b")) {
		got = append(got, a.Rule)
	}
	if want := []string{"forbid domain h", "forbid http://h/b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// "A gate is on when its element or file is there".
func TestGatesAreOffByThemselves(t *testing.T) {
	s := mustCompile(t, Settings{})
	for _, raw := range []string{"http://h/a.js?x=1", "https://H:81/a/b/c/d/e/f"} {
		l := to(t, raw)
		l.Depth = 1000
		if got := s.Judge(l); !got.Allowed || got.URL != l.URL || got.Reason != (Reason{}) || got.Status != 0 {
			t.Errorf("%s: %+v", raw, got)
		}
		if len(s.Trace(l)) > 0 {
			t.Errorf("gates asked: %v", s.Trace(l))
		}
		if !s.JudgeMIME(l, "video/mp4").Allowed {
			t.Error("a MIME type is refused")
		}
		if r, killed := s.Killed(l.URL); killed {
			t.Errorf("killed by %s", r)
		}
	}
	if allowed, matched, _ := s.Addresses().Judge(ip("10.0.0.1")); !allowed || matched {
		t.Error("an address is judged")
	}
}

// "A gate that refuses names itself (gate, file, line, rule) in explain", in the
// form that cli.md gives.
func TestReasonIsExplainsExcludedBy(t *testing.T) {
	s := mustCompile(t, local("allow domain a.example\n# all others\n  forbid   domain *  # closed\n"))
	v := s.Judge(to(t, "http://b.example/"))
	got, err := json.Marshal(v.Reason)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"gate":"domain","file":"crawl.rules","line":3,"rule":"forbid domain *"}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := "domain gate, crawl.rules:3: forbid domain *"; v.Reason.String() != want {
		t.Errorf("%s, want %s", v.Reason, want)
	}
	answers := s.Trace(to(t, "http://a.example/"))
	want := []GateAnswer{{Reason: Reason{GateDomain, "crawl.rules", 1, "allow domain a.example"}, Allowed: true}}
	if diff := cmp.Diff(want, answers); diff != "" {
		t.Error(diff)
	}
	got, err = json.Marshal(answers[0])
	if want := `{"gate":"domain","file":"crawl.rules","line":1,"rule":"allow domain a.example","allowed":true}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

// "A gate that refuses names itself": those of CrawlConfig.xml, too.
func TestReasonsOfTheConfiguration(t *testing.T) {
	s := mustCompile(t, everyGate(), "http://h/")
	for raw, want := range map[string]Reason{
		"https://h/in":       {GateStartURL, "CrawlConfig.xml", 2, `host="false" scheme="true"`},
		"http://h/nomust":    {GateMustNotContain, "CrawlConfig.xml", 4, "nomust"},
		"http://h/":          {GateInclude, "CrawlConfig.xml", 5, "/in"},
		"http://h/in/ex":     {GateExclude, "CrawlConfig.xml", 6, "/ex"},
		"http://h/in/a.JS":   {GateExtension, "CrawlConfig.xml", 7, "js"},
		"http://h/in/////":   {GatePathDepth, "CrawlConfig.xml", 8, `maxPathDepth="3"`},
		"http://h/in/reject": {GateReject, "reject.patterns", 1, "/reject"},
	} {
		if got := s.Judge(to(t, raw)).Reason; got != want {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
	l := to(t, "http://h/in")
	l.Depth = 3
	if got, want := s.Judge(l).Reason, (Reason{GateLinkDepth, "CrawlConfig.xml", 9, `maxLinkDepth="2"`}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := s.JudgeMIME(to(t, "http://h/in"), "text/csv").Reason, (Reason{GateMIME, "CrawlConfig.xml", 10, "text/csv"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, _ := s.Killed(mustURL(t, "http://h/in/kill")); got != (Reason{GateKill, "kill_pattern.cfg", 1, "/in/kill"}) {
		t.Errorf("%+v", got)
	}
}

// "Lowering either removes documents when they are next taken (not in the
// background pass)".
func TestDepthsAreNotForTheBackgroundPass(t *testing.T) {
	s := mustCompile(t, Settings{MaxPathDepth: &Limit{0, at(1)}, MaxLinkDepth: &Limit{0, at(2)}, Exclude: text(3, "/ex"),
		CrawlRules: file("crawl.rules", "forbid domain x\n")})
	deep := to(t, "http://h/a/b")
	deep.Depth = 5
	if s.Judge(deep).Allowed || !s.JudgeStored(deep).Allowed {
		t.Error("a depth counts in the background pass, or nowhere")
	}
	for raw, want := range map[string]Gate{"http://h/ex": GateExclude, "http://x/": GateDomain} {
		if got := s.JudgeStored(to(t, raw)); got.Reason.Gate != want || got.Status != StatusExcluded {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

// "maxPathDepth (slashes in the path after the first: /a/b has 1), maxLinkDepth:
// the maximum is inside, beyond is outside".
func TestDepths(t *testing.T) {
	s := mustCompile(t, Settings{MaxPathDepth: &Limit{1, at(1)}, MaxLinkDepth: &Limit{2, at(2)}})
	judgements{
		"http://h": "ok", "http://h/a": "ok", "http://h/a/": "ok", "http://h/a/b": "ok", "http://h/a/b?q=/x/y/z": "ok",
		"http://h/a/b/": `path-depth maxPathDepth="1"`, "http://h/a/b/c": `path-depth maxPathDepth="1"`, "http://h///": `path-depth maxPathDepth="1"`,
	}.check(t, s)
	for depth, want := range map[int]string{0: "ok", 2: "ok", 3: `link-depth maxLinkDepth="2"`} {
		l := to(t, "http://h/")
		l.Depth = depth
		if got := judgement(t, s, l); got != want {
			t.Errorf("depth %d: %s, want %s", depth, got, want)
		}
	}
	none := mustCompile(t, Settings{MaxPathDepth: &Limit{0, at(1)}})
	judgements{"http://h/a": "ok", "http://h/a/": `path-depth maxPathDepth="0"`}.check(t, none)
}
