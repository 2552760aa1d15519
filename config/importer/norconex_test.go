package importer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/weburl"
)

// norconexXML returns a crawler with attributes of startURLs and what else stands in it.
func norconexXML(scope, inside string) string {
	return "<httpcollector id=\"c\"><crawlers><crawler id=\"d\"><startURLs " + scope + "><url>http://www.example.com/</url></startURLs>\n" + inside + "</crawler></crawlers></httpcollector>"
}

// judged imports a crawler and says of URLs what becomes of them: index, crawl (without index) or ignore.
func judged(t *testing.T, raw string, urls ...string) []string {
	t.Helper()
	text, err := Import(Norconex, "c.xml", []byte(raw))
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	file, report := config.Parse(config.FileName, text, config.Lookups{})
	if err := report.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got []string
	for _, raw := range urls {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		switch d := file.Crawlers[0].Engine.Decide(u); {
		case !d.Crawl():
			got = append(got, "ignore")
		case d.Index:
			got = append(got, "index")
		default:
			got = append(got, "crawl")
		}
	}
	return got
}

func TestNorconexFilters(t *testing.T) {
	const filter = `<%s><filter class="%s" onMatch="%s" %s>%s</filter></%[1]s>`
	reference := func(onMatch, attributes, value string) string {
		return fmt.Sprintf(filter, "referenceFilters", "ReferenceFilter", onMatch, "", "<valueMatcher "+attributes+">"+value+"</valueMatcher>")
	}
	for name, c := range map[string]struct {
		inside, url, want string
	}{
		"none":               {"", "http://www.example.com/a", "index"},
		"basic is the whole": {reference("exclude", "", "/a"), "http://www.example.com/a", "index"},
		"basic":              {reference("exclude", "", "http://www.example.com"), "http://www.example.com/", "ignore"},
		"basic is literal":   {reference("exclude", `partial="true"`, `a.c*\d`), "http://www.example.com/abc*1", "index"},
		"partial":            {reference("exclude", `partial="true"`, "/a"), "http://www.example.com/x/a", "ignore"},
		"case":               {reference("exclude", `partial="true"`, "/A"), "http://www.example.com/x/a", "index"},
		"no case":            {reference("exclude", `partial="true" ignoreCase="true"`, "/A"), "http://www.example.com/x/a", "ignore"},
		"csv":                {reference("exclude", `method="csv" partial="true"`, "/b, /a"), "http://www.example.com/a", "ignore"},
		"wildcard":           {reference("exclude", `method="wildcard"`, "*/p?/*.htm"), "http://www.example.com/p1/x.htm", "ignore"},
		"wildcard, dot":      {reference("exclude", `method="wildcard"`, "*.htm"), "http://www.example.com/xhtm", "index"},
		"regex is the whole": {reference("exclude", `method="regex"`, "/a"), "http://www.example.com/a", "index"},
		"regex":              {reference("exclude", `method="regex"`, ".*/(a|b)"), "http://www.example.com/b", "ignore"},
		"include":            {reference("include", `method="regex"`, ".*/a"), "http://www.example.com/b", "ignore"},
		"included":           {reference("include", `method="regex"`, ".*/a"), "http://www.example.com/a", "index"},
		"include by default": {strings.Replace(reference("include", `method="regex"`, ".*/a"), `onMatch="include"`, "", 1), "http://www.example.com/b", "ignore"},
		"old regex, case":    {fmt.Sprintf(filter, "referenceFilters", "x.y.RegexReferenceFilter", "exclude", "", ".*/A"), "http://www.example.com/a", "ignore"},
		"old regex":          {fmt.Sprintf(filter, "referenceFilters", "RegexReferenceFilter", "exclude", `caseSensitive="true"`, ".*/A"), "http://www.example.com/a", "index"},
		"extension":          {fmt.Sprintf(filter, "referenceFilters", "ExtensionReferenceFilter", "exclude", "", " jpg,\n PDF "), "http://www.example.com/a.pdf?x", "ignore"},
		"no extension":       {fmt.Sprintf(filter, "referenceFilters", "ExtensionReferenceFilter", "exclude", "", "pdf"), "http://www.example.com/apdf", "index"},
		"document filter":    {fmt.Sprintf(filter, "documentFilters", "RegexReferenceFilter", "exclude", "", ".*/a"), "http://www.example.com/a", "crawl"},
		"document include":   {fmt.Sprintf(filter, "documentFilters", "RegexReferenceFilter", "include", "", ".*/a"), "http://www.example.com/b", "crawl"},
	} {
		if got := judged(t, norconexXML("", c.inside), c.url); got[0] != c.want {
			t.Errorf("%s: %s: %s, want %s", name, c.url, got[0], c.want)
		}
	}
}

func TestNorconexScope(t *testing.T) {
	urls := []string{"http://www.example.com/a", "https://www.example.com/a", "http://www.example.com:8080/a", "http://a.www.example.com/a", "http://awww.example.com/a", "http://other.example.com/a"}
	for scope, want := range map[string]string{
		``:                    "index index index index index index",
		`stayOnDomain="true"`: "index index index ignore ignore ignore",
		`stayOnDomain="true" includeSubdomains="true"`:                                          "index index index index ignore ignore",
		`stayOnDomain="true" stayOnProtocol="true"`:                                             "index ignore index ignore ignore ignore",
		`stayOnDomain="true" stayOnPort="true"`:                                                 "index ignore ignore ignore ignore ignore",
		`stayOnDomain="true" stayOnProtocol="true" stayOnPort="true" includeSubdomains="true" `: "index ignore ignore index ignore ignore",
	} {
		if got := strings.Join(judged(t, norconexXML(scope, ""), urls...), " "); got != want {
			t.Errorf("%s: %s, want %s", scope, got, want)
		}
	}
}

// TestNorconexRefuses: what would let in more than before, and what cannot be read, is refused even with --force.
func TestNorconexRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		norconexXML("", `<referenceFilters><filter class="ReferenceFilter" onMatch="exclude"><valueMatcher method="regex">.*(?=a)</valueMatcher></filter></referenceFilters>`):   `c.xml:2:19: the exclude <filter class="ReferenceFilter"> cannot be imported`,
		norconexXML("", `<referenceFilters><filter class="RegexReferenceFilter" onMatch="exclude">.*[a-z&amp;&amp;[^b]]</filter></referenceFilters>`):                            "has another meaning in Java",
		norconexXML("", `<referenceFilters><filter class="SegmentCountURLFilter" onMatch="exclude" count="5"/></referenceFilters>`):                                              "only filters by URL",
		norconexXML("", `<documentFilters><filter class="MetadataFilter" onMatch="exclude"/></documentFilters>`):                                                                 "only filters by URL",
		norconexXML("", `<referenceFilters><filter class="ReferenceFilter" onMatch="exclude"><valueMatcher ignoreDiacritic="true">a</valueMatcher></filter></referenceFilters>`): "ignoreDiacritic has no counterpart",
		norconexXML("", `<referenceFilters><filter class="ReferenceFilter" onMatch="keep"/></referenceFilters>`):                                                                 "neither include nor exclude",
		norconexXML("", `<importer><preParseHandlers><handler class="TextFilter" onMatch="exclude"/></preParseHandlers></importer>`):                                             "c.xml:2:1: <importer> excludes documents",
		norconexXML("", `<importer><if><condition/><then><reject/></then></if></importer>`):                                                                                      "excludes documents",
		norconexXML(`stayOnPort="true"`, ""):                                                                                   "with stayOnDomain",
		norconexXML(`stayOnDomain="yes"`, ""):                                                                                  "neither true nor false",
		`<crawler><startURLs stayOnDomain="true"><urlsFile>u.txt</urlsFile></startURLs></crawler>`:                             "write the start URLs of the file as <url>",
		"#set($dir = \"x\")\n" + norconexXML("", ""):                                                                           `c.xml:1:1: "#set" belongs to the template engine`,
		norconexXML("", `<referenceFilters><filter class="$filterRegexRef" onMatch="exclude">.*a</filter></referenceFilters>`): `"$f" belongs to the template engine`,
		`<httpcollector><crawlers><crawler/><crawler/></crawlers></httpcollector>`:                                             "c.xml:1:36: this is a second crawler",
		`<httpcollector><crawlers/></httpcollector>`:                                                                           "<crawlers> with a <crawler> inside is missing",
		`<crawler id="a"/>`:  "there is no start URL",
		"<crawler>\n</craw>": "c.xml:2:8: this is not XML",
		`plain`:              "one element",
		strings.Repeat("<a>", 60) + strings.Repeat("</a>", 60): "nested deeper than 50",
	} {
		text, err := Import(Norconex, "c.xml", []byte(raw))
		if text != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

// TestNorconexTellsWhatIsLeftOut, with its line, and never what stands in it.
func TestNorconexTellsWhatIsLeftOut(t *testing.T) {
	text, err := Import(Norconex, "c.xml", []byte(norconexXML("", "<workDir>w</workDir>\n<maxDocuments>do not tell</maxDocuments>")))
	var left Untranslated
	if !errors.As(err, &left) || err.Error() != "c.xml:3:1: <maxDocuments>: it has no counterpart" {
		t.Errorf("%v", err)
	}
	if !strings.Contains(string(text), "Not translated: &lt;") && !strings.Contains(string(text), "Not translated: <maxDocuments> of line 3") || strings.Contains(string(text), "do not tell") {
		t.Errorf("%s", text)
	}
}

func TestNorconexTimes(t *testing.T) {
	for text, want := range map[string]int64{
		"3000": 3000, "5 seconds": 5000, "5s": 5000, "5m30s": 330_000, "5 minutes and 30 seconds": 330_000, "1 Hour": 3_600_000, "250 ms": 250, "250 millis": 250,
		"": -1, "soon": -1, "5 days": -1, "3 4": -1, "5s 3": -1,
	} {
		got, ok := milliseconds(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
