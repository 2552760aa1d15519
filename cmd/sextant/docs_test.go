package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/admin"
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
		explain, err := admin.NewExplainer(crawlSettings(parsed.Crawlers[0]), admin.Knowledge{})
		if err != nil {
			t.Fatal(err)
		}
		cases, errs := admin.ParseCases(name, written)
		if len(errs) > 0 || len(cases) == 0 {
			t.Fatalf("%d cases, errors %v", len(cases), errs)
		}
		for _, c := range cases {
			if r := c.Try(explain); !r.Passed {
				t.Errorf("%s: %s\n%s", r.URL, r.Failures, files["xml"])
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

// TestOperationsCommands: each command of docs/operations.md is run by a case file.
func TestOperationsCommands(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join("..", "..", "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	// Only the addresses differ.
	address := regexp.MustCompile(`(http://www\.example\.com|\$SITE)(/\S*)`)
	run := map[string]bool{}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if command, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "! "), "exec "); ok {
				run[address.ReplaceAllString(command, "URL")] = true
			}
		}
	}
	commands := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "    sextant ") {
			continue
		}
		commands++
		command, _, _ := strings.Cut(line, "  #")
		if command = address.ReplaceAllString(strings.TrimSpace(command), "URL"); !run[command] {
			t.Errorf("no case file runs %s", command)
		}
	}
	if commands < 20 {
		t.Errorf("only %d commands found", commands)
	}
}

// TestOperationsConfiguration: the elements on the page are ones that check accepts.
func TestOperationsConfiguration(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 2 {
		t.Errorf("only %d blocks found", len(blocks))
	}
	for _, b := range blocks {
		text := `<CrawlConfig><Crawler name="a"><Root url="http://www.example.com/" group="news"/>` + b[1] + `</Crawler></CrawlConfig>`
		_, report := config.Parse("operations.md", []byte(text), config.Lookups{})
		for _, p := range slices.Concat(report.Errors, report.Warnings) {
			t.Errorf("%s\n%s", p, b[1])
		}
	}
}
