package trust

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/push"
)

// Hosts are addresses, so that nobody looks names up (RFC 5737).
const (
	hostA = "http://192.0.2.1"
	hostB = "http://192.0.2.2"
)

// trial is one case: sites, a configuration, and perhaps another one that follows it.
type trial struct {
	Pages   map[string]page   // by URL
	Robots  map[string]string // by origin
	First   configuration
	Then    *configuration // nil: none
	Refresh bool           // with the second, all pages are fetched again
}

// page is what a URL answers.
type page struct {
	Status    int    // 0: 200
	To        string // of a redirect; with a Status of 0 it is a meta refresh
	Refuses   string // the operation that the target refuses of its document, as push.Op words it
	Text      int    // pages of the same text are copies
	NoIndex   bool
	NoFollow  bool
	Canonical string
	Links     []link
}

type link struct {
	Href     string
	NoFollow bool
}

// configuration is a CrawlConfig.xml and the files that it names.
type configuration struct {
	XML   string
	Files map[string]string
}

// paths are those that sites and rules draw from.
var paths = []string{
	"/", "/a", "/a/b", "/a/b.html", "/c/", "/c/d?id=1", "/c/d?id=1&sid=2", "/news/1.html", "/news/2.html", "/news/3.html", "/News/3", "/x.gif",
	"/r/1", "/r/2", "/r/3", "/a/a/a/a",
}

func drawTrial(t *rapid.T) trial {
	out := trial{Pages: map[string]page{}, Robots: map[string]string{}}
	for _, origin := range []string{hostA, hostB} {
		known := paths
		if origin == hostB {
			known = paths[:4]
		}
		for _, p := range known {
			out.Pages[origin+p] = drawPage(t, origin+p)
		}
		if rapid.IntRange(0, 3).Draw(t, "robots") == 3 {
			out.Robots[origin] = "User-agent: *\nDisallow: " + rapid.SampledFrom([]string{"/a", "/c/", "/*.gif$", "/news/"}).Draw(t, "disallow") + "\n"
		}
	}
	drawRing(t, out.Pages)
	out.First = drawConfiguration(t)
	if rapid.Bool().Draw(t, "edit") {
		second := drawConfiguration(t)
		out.Then, out.Refresh = &second, rapid.Bool().Draw(t, "refresh")
	}
	return out
}

// drawRing has some pages redirect in a ring, or in a chain that ends somewhere.
func drawRing(t *rapid.T, pages map[string]page) {
	n := rapid.IntRange(0, 3).Draw(t, "ring")
	for i := range n {
		p := drawRedirect(t)
		if i < n-1 || rapid.Bool().Draw(t, "closed") {
			p.To = fmt.Sprintf("%s/r/%d", hostA, (i+1)%n+1)
		}
		pages[fmt.Sprintf("%s/r/%d", hostA, i+1)] = p
	}
}

func drawRedirect(t *rapid.T) page {
	return page{Status: rapid.SampledFrom([]int{0, 301, 302, 307}).Draw(t, "status"), To: drawURL(t)}
}

func drawPage(t *rapid.T, url string) page {
	p := page{Text: rapid.IntRange(0, 9).Draw(t, "text")}
	if rapid.IntRange(0, 9).Draw(t, "refused") == 9 {
		p.Refuses = rapid.SampledFrom([]push.Op{push.Add, push.Delete}).Draw(t, "refuses").String()
	}
	switch rapid.IntRange(0, 11).Draw(t, "kind of "+url) {
	case 7:
		return drawRedirect(t)
	case 8:
		p.Status = rapid.SampledFrom([]int{404, 403, 410}).Draw(t, "status")
	case 9:
		p.NoIndex = true
	case 10:
		p.NoFollow = true
	case 11:
		p.Canonical = drawURL(t)
	}
	for range rapid.IntRange(0, 5).Draw(t, "links") {
		p.Links = append(p.Links, link{Href: drawURL(t) + drawFragment(t), NoFollow: rapid.IntRange(0, 7).Draw(t, "nofollow") == 7})
	}
	return p
}

func drawURL(t *rapid.T) string {
	if rapid.IntRange(0, 4).Draw(t, "host") == 4 {
		return hostB + rapid.SampledFrom(paths[:4]).Draw(t, "path")
	}
	return hostA + rapid.SampledFrom(paths).Draw(t, "path")
}

func drawFragment(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", "", "#x", "#y", "#xy"}).Draw(t, "fragment")
}

// sometimes gives text in one of n draws, else nothing.
func sometimes(t *rapid.T, n int, text string) string {
	if rapid.IntRange(1, n).Draw(t, text) == n {
		return text
	}
	return ""
}

func drawConfiguration(t *rapid.T) configuration {
	c := configuration{Files: map[string]string{}}
	var b strings.Builder
	b.WriteString(`<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21" xmlns:ar="exa:com.exalead.actionrules.v21">` + "\n")
	b.WriteString(`<Crawler name="c" nthreads="1" aggressive="true" crawlSitemaps="false" patternsDetector="false"`)
	for _, on := range []string{
		`defaultAccept="true"`, `defaultIndex="true"`, `defaultFollow="true"`, `defaultFollowRoots="false"`, `ignoreRobotsTxt="true"`,
		`nearDuplicateDetector="false"`, `indexRedirectSources="false"`, `ignoreNofollow="true"`, `ignoreNoindex="true"`, `errorPolicy="cautious"`,
		`forgetDeleted="true"`, `deletionBrake="off"`, `maxRedirects="1"`,
	} {
		if sometimes(t, 4, on) != "" {
			b.WriteString(" " + on)
		}
	}
	b.WriteString(">\n")
	roots := rapid.SliceOfNDistinct(rapid.Custom(drawURL), 1, 2, rapid.ID[string]).Draw(t, "roots")
	for _, r := range roots {
		fmt.Fprintf(&b, "<Root url=%q site=\"%t\"/>\n", strings.ReplaceAll(r, "&", "&amp;"), rapid.IntRange(0, 3).Draw(t, "site") > 0)
	}
	drawSpace(t, &b, &c)
	if n := rapid.IntRange(0, 4).Draw(t, "rules"); n > 0 {
		b.WriteString("<Rules>\n")
		for range n {
			fmt.Fprintf(&b, "<Rule>%s%s</Rule>\n", drawCondition(t, 0), drawActions(t))
		}
		b.WriteString("</Rules>\n")
	}
	b.WriteString("</Crawler>\n</CrawlConfig>\n")
	c.XML = b.String()
	return c
}

// drawSpace draws the gates before the rules.
func drawSpace(t *rapid.T, b *strings.Builder, c *configuration) {
	if sometimes(t, 5, "crawl.rules") != "" {
		c.Files["crawl.rules"] = rapid.SampledFrom([]string{
			"forbid prefix " + hostA + "/news/\nallow domain *\n", "allow domain 192.0.2.1\nforbid domain *\n", "forbid domain 192.0.2.2\nallow domain *\n",
		}).Draw(t, "crawl.rules")
		b.WriteString(`<CrawlSpace rules="crawl.rules"` + sometimes(t, 2, ` maxLinkDepth="2"`) + "/>\n")
	} else if depth := sometimes(t, 4, `<CrawlSpace maxLinkDepth="2"/>`) + sometimes(t, 8, `<CrawlSpace maxPathDepth="1"/>`); strings.Count(depth, "<") == 1 {
		b.WriteString(depth + "\n")
	}
	for _, e := range []string{
		`<Patterns exclude="/c/"/>`, `<Patterns include="/a,/c,/news"/>`, `<Kill patterns="kill.txt"/>`, `<CanonicalURL dropSessionIDs="true"/>`,
		`<QueryFilter keep="id"/>`, `<IgnoredExtensions/>`, `<Traps maxURLsPerPattern="1"/>`, `<Traps maxURLsPerHost="5" maxRepeats="2"/>`,
	} {
		if strings.HasPrefix(e, "<Traps") && strings.Contains(b.String(), "<Traps") {
			continue
		}
		if strings.HasPrefix(e, "<Patterns") && strings.Contains(b.String(), "<Patterns") {
			continue
		}
		if s := sometimes(t, 6, e); s != "" {
			b.WriteString(s + "\n")
		}
	}
	c.Files["kill.txt"] = "/news/2\n"
}

func drawCondition(t *rapid.T, depth int) string {
	n := 5
	if depth == 3 {
		n = 2
	}
	switch rapid.IntRange(0, n).Draw(t, "condition") {
	case 3:
		return "<ar:Not>" + drawCondition(t, depth+1) + "</ar:Not>"
	case 4:
		return "<ar:And>" + drawCondition(t, depth+1) + drawCondition(t, depth+1) + "</ar:And>"
	case 5:
		return "<ar:Or>" + drawCondition(t, depth+1) + drawCondition(t, depth+1) + "</ar:Or>"
	}
	return rapid.SampledFrom([]string{
		`<ar:Path val="/a"/>`, `<ar:Path val="/news/"/>`, `<ar:Ext val=".html"/>`, `<ar:InQuery val="sid="/>`, `<ar:Host val="192.0.2.2"/>`,
		`<ar:Atom field="fragment" kind="exact" value="x"/>`, `<ar:Atom field="fragment" kind="prefix" value="x"/>`,
		`<ar:Atom field="path" kind="suffix" norm="none" value="/b"/>`, `<ar:Length field="path" value="[:5]"/>`, `<ar:Length field="fragment" value="[1:]"/>`,
		`<ar:Url val="` + hostA + `/c/"/>`, `<ar:Path val="/"/>`,
	}).Draw(t, "atom")
}

func drawActions(t *rapid.T) string {
	all := []string{
		"<Accept/>", "<Ignore/>", "<Index/>", "<NoIndex/>", "<Follow/>", "<NoFollow/>",
		`<Source name="other"/>`, `<AddMeta name="m" value="v"/>`, `<Priority shift="-1"/>`,
	}
	// One of each dimension: the others contradict each other.
	var out []string
	for i := 0; i < 6; i += 2 {
		if n := rapid.IntRange(0, 3).Draw(t, all[i]); n < 2 {
			out = append(out, all[i+n])
		}
	}
	for _, a := range all[6:] {
		if s := sometimes(t, 5, a); s != "" {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		out = append(out, "<Index/>")
	}
	return strings.Join(out, "")
}

// String returns a case as a person reads it: what pages have that is special, and the files.
func (c trial) String() string {
	var b strings.Builder
	urls := make([]string, 0, len(c.Pages))
	for u := range c.Pages {
		urls = append(urls, u)
	}
	slices.Sort(urls)
	for _, u := range urls {
		fmt.Fprintf(&b, "%s %+v\n", u, c.Pages[u])
	}
	fmt.Fprintf(&b, "robots.txt %v\n%s%v\n", c.Robots, c.First.XML, c.First.Files)
	if c.Then != nil {
		fmt.Fprintf(&b, "then, refresh %t:\n%s%v\n", c.Refresh, c.Then.XML, c.Then.Files)
	}
	return b.String()
}
