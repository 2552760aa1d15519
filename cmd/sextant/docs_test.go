package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config"
)

// TestRulesDocumentation runs the examples of docs/rules.md: an xml block, blocks
// named like the files beside it, and a block of cases.
func TestRulesDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, examples := map[string]string{}, 0
	for _, b := range regexp.MustCompile("(?s)```([a-z_.]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		switch b[1] {
		case "xml":
			files = map[string]string{"xml": b[2]}
		case "cases":
			examples++
			runExample(t, fmt.Sprintf("example %d", examples), files, b[2])
		default:
			files[b[1]] = b[2]
		}
	}
	if want := strings.Count(string(text), "```cases"); examples != want || want < 15 {
		t.Errorf("%d of %d examples were run", examples, want)
	}
}

// runExample checks the cases of one example.
func runExample(t *testing.T, name string, files map[string]string, written string) {
	t.Run(name, func(t *testing.T) {
		lookups := config.Lookups{
			Exists: func(path string) bool { _, ok := files[path]; return ok },
			ReadFile: func(path string) ([]byte, error) {
				if text, ok := files[path]; ok {
					return []byte(text), nil
				}
				return nil, os.ErrNotExist
			},
		}
		parsed, report := config.Parse("example.xml", []byte(exampleConfig(files["xml"])), lookups)
		if err := report.Err(); err != nil {
			t.Fatalf("%v\n%s", err, files["xml"])
		}
		explain, err := newExplainer(parsed.Crawlers[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		cases, errs := parseCases(name, written)
		if len(errs) > 0 || len(cases) == 0 {
			t.Fatalf("%d cases, errors %v", len(cases), errs)
		}
		for _, c := range cases {
			for _, f := range c.run(explain) {
				t.Errorf("%s: %s\n%s", c.url, f, files["xml"])
			}
		}
	})
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

// TestReadmeExample: the configuration in the README is one that check has nothing
// to say against.
func TestReadmeExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	b := regexp.MustCompile("(?s)```xml\n(.*?)```").FindSubmatch(text)
	if b == nil {
		t.Fatal("no configuration found")
	}
	_, report := config.Parse("README.md", b[1], config.Lookups{})
	for _, p := range slices.Concat(report.Errors, report.Warnings) {
		t.Error(p)
	}
}
