package crawlspace

import (
	"fmt"
	"strings"
	"testing"
)

// prefixRules are n rules of four shapes: plain, with a wildcard in one host's
// path, in the host, and for top-level folders of one host. grouped puts all
// forbid rules before all allow rules; else the actions alternate.
func prefixRules(n int, grouped bool) string {
	var b strings.Builder
	for i := range n {
		action := "forbid"
		if grouped && i >= n/2 || !grouped && i%2 == 1 {
			action = "allow"
		}
		switch (i / 2) % 4 {
		case 0:
			fmt.Fprintf(&b, "%s prefix http://www%d.example.com/public/%d/*\n", action, i%1000, i)
		case 1:
			fmt.Fprintf(&b, "%s prefix http://www%d.example.com/*/archive%d/*\n", action, i%1000, i)
		case 2:
			fmt.Fprintf(&b, "%s prefix http://*.site%d.example.com/private/*\n", action, i)
		case 3:
			fmt.Fprintf(&b, "%s prefix http://files.example.com/*fs%d/*\n", action, i)
		}
	}
	return b.String()
}

// benchLinks are links of which a part matches rules of prefixRules.
func benchLinks(b testing.TB) []Link {
	var links []Link
	for i := range 1000 {
		links = append(links,
			to(b, fmt.Sprintf("http://www%d.example.com/public/documents/2024/report-%d.html?version=3&language=en", i, i)),
			to(b, fmt.Sprintf("http://www%d.example.com/departments/archive%d/annual/report.html", i, i)),
			to(b, fmt.Sprintf("http://intranet.site%d.example.com/private/minutes/of/meeting-%d.html", i, i)),
			to(b, fmt.Sprintf("http://files.example.com/exportfs%d/projects/plan-%d.html", i, i)))
	}
	return links
}

// openGates has every gate on and lets all benchLinks pass.
func openGates() Settings {
	return Settings{
		QueryFilter: &Text{"version,language", at(1)}, StartURLMatch: &StartURLMatch{Scheme: true},
		MustContain: []Text{text(1, ".example.")}, MustNotContain: []Text{text(1, "print="), text(1, "/login")},
		Include: text(1, "/report,/minutes,/projects,/public"), Exclude: text(1, `regexp:search\?date=|\?OpenImageResource|/cgi-bin/|\.pdf$`),
		RejectList: file("reject", "/calendar\n/tmp/\n"), Extensions: &Extensions{}, MaxPathDepth: &Limit{10, at(1)}, MaxLinkDepth: &Limit{10, at(1)},
		CrawlRules:  file("crawl.rules", "allow domain *.example.com\nforbid domain *\nforbid prefix http://*/exportfs/*"),
		GlobalRules: file("global.rules", "allow domain *"),
	}
}

// Judge allocates nothing for a link that is allowed, nor for one that is refused.
func TestJudgeAllocatesNothing(t *testing.T) {
	if race {
		t.Skip("skip: the race detector makes sync.Pool allocate")
	}
	links := benchLinks(t)
	open := mustCompile(t, openGates(), "http://www1.example.com/")
	for name, s := range map[string]*Space{
		"every gate": open, "100,000 prefix rules": mustCompile(t, local(prefixRules(100_000, false))), "closed": mustCompile(t, local("forbid domain *")),
	} {
		i, allowed := 0, 0
		if n := testing.AllocsPerRun(len(links), func() {
			if s.Judge(links[i%len(links)]).Allowed {
				allowed++
			}
			i++
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if s == open && allowed != i {
			t.Errorf("%d of %d links are allowed", allowed, i)
		}
	}
}

// Many rules decide as they do one after the other, whichever way they are grouped.
func TestManyPrefixRules(t *testing.T) {
	links := benchLinks(t)
	for _, grouped := range []bool{true, false} {
		n := 100_000
		if race {
			n = 10_000
		}
		s := mustCompile(t, local(prefixRules(n, grouped)))
		refused := 0
		for i := 0; i < len(links); i += 199 {
			if judgement(t, s, links[i]) != "ok" {
				refused++
			}
		}
		if refused == 0 {
			t.Error("no rule refuses anything")
		}
	}
}
