package crawlspace

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/weburl"
)

func warnings(t *testing.T, s Settings, ignored func(weburl.URL) bool, roots ...string) []string {
	t.Helper()
	space := mustCompile(t, s, roots...)
	var links []Link
	for _, r := range roots {
		links = append(links, to(t, r))
	}
	all := []string{}
	for _, w := range space.Warnings(links, ignored) {
		all = append(all, strings.TrimPrefix(w.At.String()+": "+w.Text, ": "))
	}
	return all
}

const (
	openEnd    = "crawl.rules%s: the domain rules do not end in \"forbid domain *\", so the crawl may spread over the whole Internet"
	caseMatter = "crawl.rules: domain rules distinguish WWW.example.com from www.example.com; write hostCase=\"fold\" to ignore case"
)

// What check warns of: every sentence of crawl-space.md with that word.
const allOpen = "crawl.rules: there is no domain rule: this file accepts every URL that no rule forbids, so the crawl may spread over the whole Internet; write allow domain for each site, followed by forbid domain *"

func TestWarnings(t *testing.T) {
	quiet := func(rules string) Settings { // nothing to say but of the rules
		s := local(rules)
		s.FoldHost, s.Extensions = true, &Extensions{}
		return s
	}
	proxy, caseful, reject := quiet("allow address 9.0.0.0 255.0.0.0\nforbid domain *"), quiet("allow domain h\nforbid domain *"), quiet("forbid domain *")
	proxy.Proxy, caseful.FoldHost, reject.RejectList = true, false, file("reject.patterns", "/a\n/b\n")
	bare := Settings{CrawlRules: file("crawl.rules", "forbid http://h/a"), Extensions: &Extensions{}}
	for name, c := range map[string]struct {
		settings Settings
		roots    string
		want     []string
	}{
		"nothing":                     {quiet("allow domain h\nforbid domain *"), "http://h/", nil},
		"no crawl.rules":              {Settings{Extensions: &Extensions{}}, "http://h/", nil},
		"does not end":                {quiet("forbid domain *\nallow domain h"), "", []string{strings.Replace(openEnd, "%s", ":2", 1)}},
		"ends in an allow":            {quiet("allow domain *"), "", []string{strings.Replace(openEnd, "%s", ":1", 1)}},
		"ends for one port":           {quiet("forbid domain *:80"), "", []string{strings.Replace(openEnd, "%s", ":1", 1)}},
		"no domain rules":             {quiet("forbid http://h/a"), "", []string{allOpen}},
		"no domain rules to fold":     {bare, "", []string{allOpen}},
		"other types may follow":      {quiet("forbid domain **\nforbid http://h/a"), "", nil},
		"a start URL is not allowed":  {quiet("allow domain h\nforbid domain *"), "http://h/ http://g/x", []string{"crawl.rules:2: the start URL http://g/x is not in the crawl space: domain gate, forbid domain *"}},
		"only IPv4 is closed":         {quiet("forbid domain *\nforbid address 0.0.0.0 0.0.0.0"), "", []string{`crawl.rules:2: only IPv4 addresses are forbidden; write "forbid address :: ::" too`}},
		"only IPv6 is closed":         {quiet("forbid domain *\nforbid address :: ::\nforbid address 10.0.0.0 255.0.0.0"), "", []string{`crawl.rules:2: only IPv6 addresses are forbidden; write "forbid address 0.0.0.0 0.0.0.0" too`}},
		"both are closed":             {quiet("forbid domain *\nforbid address :: ::\nforbid address 0.0.0.0 0.0.0.0"), "", nil},
		"none is closed":              {quiet("forbid domain *\nallow address :: ::\nforbid address 9.0.0.0 255.0.0.0"), "", nil},
		"a proxy and address rules":   {proxy, "", []string{"crawl.rules:1: address rules have no effect on requests through a proxy, which resolves names itself; limit hosts with domain rules"}},
		"case matters":                {caseful, "http://h/", []string{caseMatter}},
		"a reject list":               {reject, "", []string{"reject.patterns: the reject list is meant for a running crawl; move its 2 patterns to the exclude attribute of Patterns later"}},
		"no setting excludes images":  {Settings{}, "http://h/ http://g/", []string{"no setting excludes images, scripts, styles; write <IgnoredExtensions/>"}},
		"something excludes images":   {Settings{Exclude: text(1, ".png,.css")}, "http://h/a/b", []string{"no setting excludes scripts; write <IgnoredExtensions/>"}},
		"their MIME type is excluded": {Settings{MIME: &MIMETypes{Include: true, Types: []Text{text(1, "text/html")}}}, "http://h/", nil},
	} {
		want := c.want
		if want == nil {
			want = []string{}
		}
		if diff := cmp.Diff(want, warnings(t, c.settings, nil, strings.Fields(c.roots)...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// Action rules exclude them.
	ignored := func(u weburl.URL) bool {
		return strings.HasSuffix(u.Path(), ".js") || strings.HasSuffix(u.Path(), ".css")
	}
	if diff := cmp.Diff([]string{"no setting excludes images; write <IgnoredExtensions/>"}, warnings(t, Settings{}, ignored, "http://h/")); diff != "" {
		t.Error(diff)
	}
	// A start URL is judged as it is written.
	if got := warnings(t, caseful, nil, "http://H/"); len(got) != 2 || !strings.Contains(got[1], "the start URL http://h/ is not in the crawl space") {
		t.Errorf("%q", got)
	}
}

// The fingerprint changes with every setting, and not with comments or places.
func TestFingerprint(t *testing.T) {
	base := mustCompile(t, everyGate(), "http://h/").Fingerprint()
	if len(base) != 32 || mustCompile(t, everyGate(), "http://h/").Fingerprint() != base {
		t.Errorf("not stable: %s", base)
	}
	same := everyGate()
	same.CrawlRules = file("other.rules", "# new\n\nforbid\tdomain bad.h # here\n\nforbid   prefix http://*/in/prefix\r\n")
	same.Include.At.Line, same.Proxy, same.MaxLinkDepth.At.Line = 99, true, 99
	if mustCompile(t, same, "http://h/").Fingerprint() != base {
		t.Error("comments, names or places change it")
	}
	seen := map[string]string{base: "everyGate"}
	for name, change := range map[string]func(*Settings){
		"domain": func(s *Settings) { s.CrawlRules = file("r", "forbid domain bad.i\nforbid prefix http://*/in/prefix") },
		"order": func(s *Settings) {
			s.CrawlRules = file("r", "forbid domain bad.h\nallow domain *\nforbid prefix http://*/in/prefix")
		},
		"other order": func(s *Settings) {
			s.CrawlRules = file("r", "allow domain *\nforbid domain bad.h\nforbid prefix http://*/in/prefix")
		},
		"prefix":          func(s *Settings) { s.CrawlRules = file("r", "forbid domain bad.h\nallow prefix http://*/in/prefix") },
		"address":         func(s *Settings) { s.CrawlRules.Content = append(s.CrawlRules.Content, "allow address ::1"...) },
		"global":          func(s *Settings) { s.GlobalRules = file("g", "allow domain good.h") },
		"no global":       func(s *Settings) { s.GlobalRules = nil },
		"fold":            func(s *Settings) { s.FoldHost = true },
		"path depth":      func(s *Settings) { s.MaxPathDepth.Max++ },
		"link depth":      func(s *Settings) { s.MaxLinkDepth.Max++ },
		"no link depth":   func(s *Settings) { s.MaxLinkDepth = nil },
		"include":         func(s *Settings) { s.Include.Value += ",/other" },
		"exclude":         func(s *Settings) { s.Exclude.Value += ",/other" },
		"reject":          func(s *Settings) { s.RejectList = file("r", "/other") },
		"kill exact":      func(s *Settings) { s.KillExact = file("k", "http://h/") },
		"kill pattern":    func(s *Settings) { s.KillPatterns = file("k", "/other") },
		"start":           func(s *Settings) { s.StartURLMatch.Host = true },
		"must":            func(s *Settings) { s.MustContain = append(s.MustContain, text(3, "x")) },
		"must not":        func(s *Settings) { s.MustNotContain = append(s.MustNotContain, text(3, "x")) },
		"query":           func(s *Settings) { s.QueryFilter.Value += ",x" },
		"no query":        func(s *Settings) { s.QueryFilter = nil },
		"extension":       func(s *Settings) { s.Extensions.Extra = text(7, "x") },
		"no extensions":   func(s *Settings) { s.Extensions = nil },
		"pair":            func(s *Settings) { s.Extensions.Pairs = []Pair{{text(1, "a/b"), text(1, "js")}} },
		"MIME types":      func(s *Settings) { s.MIME.Types = append(s.MIME.Types, text(1, "a/b")) },
		"MIME mode":       func(s *Settings) { s.MIME.Include = true },
		"two in one":      func(s *Settings) { s.MustNotContain = []Text{text(4, "nomust"), text(4, "a")} },
		"two in one, too": func(s *Settings) { s.MustNotContain = []Text{text(4, "nomusta")} },
	} {
		s := everyGate()
		change(&s)
		got := mustCompile(t, s, "http://h/").Fingerprint()
		if seen[got] != "" {
			t.Errorf("%s has the fingerprint of %s", name, seen[got])
		}
		seen[got] = name
	}
	if mustCompile(t, everyGate(), "https://h/").Fingerprint() == base {
		t.Error("start URLs do not change it where they have to match")
	}
}

// No two different lists of texts are hashed alike.
func TestDigest(t *testing.T) {
	seen := map[string]int{}
	for i, lists := range [][][]string{
		{{"n", "a", "b"}}, {{"n", "ab"}}, {{"n", "a"}, {"b"}}, {{"n"}, {"a", "b"}}, {{"na", "b"}}, {{"n", "", "ab"}}, {{"n", "ab", ""}}, {{"n"}, {"a"}, {"b"}},
	} {
		d := digest{sha256.New()}
		for _, l := range lists {
			d.list(l[0], l[1:]...)
		}
		sum := string(d.Sum(nil))
		if other, ok := seen[sum]; ok {
			t.Errorf("case %d is hashed like case %d", i, other)
		}
		seen[sum] = i
	}
}
