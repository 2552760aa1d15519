package config

import (
	"strings"
	"testing"
)

// TestWordsOfOtherProducts lead to the right element, attribute or value.
func TestWordsOfOtherProducts(t *testing.T) {
	for inside, want := range map[string]string{
		`<Exclude/>`:                             `unknown element <Exclude> in <Crawler>: write a <Rule> with a condition and <Ignore/>`,
		`<Deny/>`:                                `and <Ignore/>`,
		`<Allow/>`:                               `and <Accept/>`,
		`<Include/>`:                             `<Patterns include="..."/>`,
		`<Skip/>`:                                `and <Ignore/>`,
		`<Delay/>`:                               `write throttleTimeMS="..."`,
		`<maxDepth/>`:                            `write <CrawlSpace maxLinkDepth="..."/>`,
		`<obeyRobots/>`:                          `write ignoreRobotsTxt="..."`,
		`<startURLs/>`:                           `write <Root url="..."/>`,
		`<Push kind="elastic" url="http://x/"/>`: `kind="elastic" is unknown: did you mean "elasticsearch"?`,
		`<Root href="http://x/" url="http://x/"/>`:       `unknown attribute href of <Root>: write url`,
		`<CrawlSpace depth="3"/>`:                        `write maxLinkDepth`,
		`<Root colour="x" url="http://x/"/>`:             `known are url, site, priority, group, kvs`,
		`<Rules><Rule><Path regex="/a"/></Rule></Rules>`: `write val, and litteral="false" for an ordinary regular expression`,
		`<Rules><Rule><Skip/></Rule></Rules>`:            `<Skip> in <Rule>: write <Ignore/>`,
	} {
		_, report := Parse(FileName, []byte(`<CrawlConfig><Crawler name="a">`+inside+`</Crawler></CrawlConfig>`), Lookups{})
		if got := problemLines(report.Errors); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", inside, got, want)
		}
	}
	_, report := Parse(FileName, []byte(`<CrawlConfig><Crawler name="a" obeyRobots="true" maxDepth="3" colour="x" maxPages="5"/></CrawlConfig>`), Lookups{})
	got := problemLines(report.Errors)
	for _, want := range []string{"write ignoreRobotsTxt", `write <CrawlSpace maxLinkDepth="..."/> in it`, "unknown attribute colour of <Crawler>: the manual", "--max-pages N"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// TestVendorsUnknownPasses: with unknown="warn" what newer releases of CloudView have is told and
// passed over; conditions, and what has no namespace of CloudView, never.
func TestVendorsUnknownPasses(t *testing.T) {
	const file = `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v99" xmlns:ar="exa:com.exalead.actionrules.v99" xmlns:x="urn:x"%s shiny="1">
<Crawler name="a" smartRefresh="true" newSetting="x"><Root url="http://www.example.com/"/><IgnoredExtensions/><Traps/>
<NewThing a="b"><Inner/>text</NewThing>
<Rules><Rule><ar:Path val="/a" weight="2"/><Ignore/><Shine/></Rule></Rules>%s
</Crawler></CrawlConfig>`
	parse := func(attribute, more string) (*File, Report) {
		text := strings.Replace(strings.Replace(file, "%s", attribute, 1), "%s", more, 1)
		return Parse(FileName, []byte(text), Lookups{})
	}
	parsed, report := parse(` unknown="warn"`, "")
	if err := report.Err(); err != nil || len(parsed.Crawlers[0].Rules.Rules) != 1 {
		t.Fatal(err)
	}
	want := []string{
		":1:135: unknown attribute shiny of <CrawlConfig> is passed over", ":2:39: unknown attribute newSetting of <Crawler> is passed over",
		":3:1: unknown element <NewThing> in <Crawler> is passed over, with all that is inside", ":4:32: unknown attribute weight of <Path> is passed over",
		":4:53: unknown element <Shine> in <Rule> is passed over",
	}
	got := problemLines(report.Warnings)
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no warning %s in\n%s", w, got)
		}
	}
	if strings.Count(got, "\n") != len(want) {
		t.Errorf("warnings:\n%s", got)
	}
	if _, report := parse("", ""); len(report.Errors) != len(want)+1 { // and what is inside of NewThing
		t.Errorf("without the attribute:\n%s", problemLines(report.Errors))
	}
	for more, want := range map[string]string{
		`<Rules><Rule><ar:Novel val="/b"/><Ignore/></Rule></Rules>`:                            "unknown condition <Novel>",
		`<Rules><Rule><ar:And><ar:Path val="/b"/><ar:Novel/></ar:And><Ignore/></Rule></Rules>`: "unknown condition <Novel>",
		`<Thing xmlns=""/>`:      "unknown element <Thing> in <Crawler>",
		`<x:Thing/>`:             "is in the namespace",
		`<Root url="nonsense"/>`: "root",
	} {
		if _, report := parse(` unknown="warn"`, more); len(report.Errors) == 0 || !strings.Contains(problemLines(report.Errors), want) {
			t.Errorf("%s: %s, want %s", more, problemLines(report.Errors), want)
		}
	}
}
