package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config"
)

// TestRulesDocumentation runs the examples of docs/rules.md: each xml block that
// is followed by a block of cases.
func TestRulesDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```xml\n(.*?)```\n+```cases\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if n := strings.Count(string(text), "```cases"); n == 0 || n != len(blocks) {
		t.Fatalf("%d blocks of cases, of which %d follow an example", n, len(blocks))
	}
	for i, b := range blocks {
		name := fmt.Sprintf("example %d", i+1)
		t.Run(name, func(t *testing.T) {
			parsed, report := config.Parse("example.xml", []byte(exampleConfig(b[1])), config.Lookups{})
			if err := report.Err(); err != nil {
				t.Fatalf("%v\n%s", err, b[1])
			}
			explain, err := newExplainer(parsed.Crawlers[0], nil)
			if err != nil {
				t.Fatal(err)
			}
			cases, errs := parseCases(name, b[2])
			if len(errs) > 0 || len(cases) == 0 {
				t.Fatalf("%d cases, errors %v", len(cases), errs)
			}
			for _, c := range cases {
				for _, f := range c.run(explain) {
					t.Errorf("%s: %s\n%s", c.url, f, b[1])
				}
			}
		})
	}
}

// exampleConfig puts what an example leaves out around it.
func exampleConfig(example string) string {
	switch {
	case strings.HasPrefix(example, "<Crawler"):
		return "<CrawlConfig>" + example + "</CrawlConfig>"
	case strings.HasPrefix(example, "<Rule>"):
		example = "<Rules>" + example + "</Rules>"
	}
	return `<CrawlConfig><Crawler name="example"><Root url="http://www.example.com/" site="true"/>` + example + `</Crawler></CrawlConfig>`
}
