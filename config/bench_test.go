package config

import (
	"fmt"
	"strings"
	"testing"
)

// manyRules is a file of n rules, all on one line or one a line.
func manyRules(n int, separator string) []byte {
	var b strings.Builder
	b.WriteString("<CrawlConfig xmlns='exa:com.exalead.mercury.mami.crawl.v21' xmlns:ar='exa:com.exalead.actionrules.v21'><Crawler name='a'><Rules>")
	for i := range n {
		fmt.Fprintf(&b, `<Rule><ar:And><ar:Atom field="path" kind="prefix" norm="none" value="/é/section-%d/"/><ar:Not><ar:Ext val=".gif"/></ar:Not></ar:And><Index/><Follow/><Accept/></Rule>%s`, i, separator)
	}
	b.WriteString("</Rules></Crawler></CrawlConfig>")
	return []byte(b.String())
}

// The time of a rule must not depend on how many there are, nor on the length
// of the lines.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		if n == 100_000 && testing.Short() {
			continue
		}
		for name, separator := range map[string]string{"lines": "\n", "one-line": " "} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				raw := manyRules(n, separator)
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					if _, report := Parse("f.xml", raw, Lookups{}); report.Err() != nil {
						b.Fatal(report.Err())
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/rule")
			})
		}
	}
}

func BenchmarkParseHostile(b *testing.B) {
	n := 500_000
	if testing.Short() {
		n = 10_000
	}
	for name, text := range map[string]string{
		"long-attribute": "<CrawlConfig><Crawler name='a'><Root url='http://a/' kvs='" + strings.Repeat("&amp;;", 2*n) + "'/></Crawler></CrawlConfig>",
		"attributes":     "<CrawlConfig><Crawler name='a' " + strings.Repeat("x='1' ", n) + "/></CrawlConfig>",
		"unknown":        "<CrawlConfig><Crawler name='a'>" + strings.Repeat("<Unknown/>", n) + "</Crawler></CrawlConfig>",
		"text":           "<CrawlConfig><Crawler name='a'>" + strings.Repeat("x<!-- -->", n) + "</Crawler></CrawlConfig>",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, report := Parse("f.xml", []byte(text), Lookups{}); report.Err() == nil {
					b.Fatal("no errors")
				}
			}
		})
	}
}
