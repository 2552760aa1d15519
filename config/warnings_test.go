package config

import (
	"strings"
	"testing"
)

// Each kind of warning, at its place; and none where there are errors, since a
// rule that is left out makes others look idle.
func TestWarnings(t *testing.T) {
	text := `<CrawlConfig><Crawler name="a">
<Root url="http://in.example.com/"/>
<Root url="http://out.example.com/"/>
<Root url="http://forbidden.example.com/"/>
<CrawlSpace rules="f"/>
<Rules>
<Rule><Path val="\.gif"/><Index/></Rule>
<Rule><Host val="WWW.example.com" norm="none"/><Index/></Rule>
<Rule><And><Host val="a"/><Host val="b"/></And><Index/></Rule>
<Rule><Path val="/x/y"/><Follow/></Rule>
<Rule><Path val="/x"/><NoFollow/></Rule>
<Rule><Host val="out.example.com"/><Ignore/></Rule>
</Rules>
</Crawler></CrawlConfig>`
	lookups := mapLookups(map[string][]byte{"f": []byte("forbid domain forbidden.example.com\nallow domain *.example.com\n")}, nil)
	_, report := Parse(FileName, []byte(text), lookups)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	all := problemLines(report.Warnings) + problemLines(report.Notes)
	for _, want := range []string{
		"CrawlConfig.xml:3:12: root http://out.example.com/ is not crawled: the rule at CrawlConfig.xml:12:1",
		`CrawlConfig.xml:7:18: pattern "\.gif": \. is an operator`,
		`CrawlConfig.xml:8:18: pattern "WWW.example.com": no canonical URL matches it`,
		"CrawlConfig.xml:9:1: the rule can never match",
		"CrawlConfig.xml:10:1: the rule has no effect: wherever it applies, later rules override it (one at CrawlConfig.xml:11:1)",
		"f:1: the start URL http://forbidden.example.com/ is not in the crawl space: domain gate",
		`f:2: the domain rules do not end in "forbid domain *"`,
		"CrawlConfig.xml:1:14: nothing excludes images, scripts, styles; write <IgnoredExtensions/>",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %s in\n%s", want, all)
		}
	}
	_, report = Parse(FileName, []byte(strings.Replace(text, `val="/x"`, `val=""`, 1)), lookups)
	if len(report.Errors) != 1 || strings.Contains(problemLines(report.Warnings), "no effect") {
		t.Errorf("with an error: %v\n%s", report.Err(), problemLines(report.Warnings))
	}
}
