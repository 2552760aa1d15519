package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
)

// TestRulesDocumentation runs the examples of docs/rules.md and docs/crawl-space.md: an
// xml block, blocks named like the files beside it, and a block of cases.
func TestRulesDocumentation(t *testing.T) {
	for name, least := range map[string]int{"rules.md": 10, "crawl-space.md": 7, "first-crawl.md": 1} {
		t.Run(name, func(t *testing.T) { runExamples(t, name, least) })
	}
}

func runExamples(t *testing.T, page string, least int) {
	text := testdir.Read(t, filepath.Join("..", "..", "docs", page))
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
	if want := strings.Count(string(text), "```cases"); examples != want || want < least {
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
	case strings.HasPrefix(example, "<CrawlConfig"):
		return example
	case strings.HasPrefix(example, "<Crawler"):
		return "<CrawlConfig>" + example + "</CrawlConfig>"
	case strings.HasPrefix(example, "<Rule>"):
		example = "<Rules>" + example + "</Rules>"
	}
	return `<CrawlConfig><Crawler name="example" smartRefresh="true"><Root url="http://www.example.com/" site="true"/>` + example + `</Crawler></CrawlConfig>`
}

// TestReadmeExample: the configuration in the README is one that check has nothing
// to say against.
func TestReadmeExample(t *testing.T) {
	text := testdir.Read(t, filepath.Join("..", "..", "README.md"))
	b := regexp.MustCompile("(?s)```xml\n(.*?)```").FindSubmatch(text)
	if b == nil {
		t.Fatal("no configuration found")
	}
	_, report := config.Parse("README.md", b[1], config.Lookups{})
	for _, p := range slices.Concat(report.Errors, report.Warnings) {
		t.Error(p)
	}
}

// TestSchedulingConfiguration: check accepts the elements on the pages about scheduling and refresh.
func TestSchedulingConfiguration(t *testing.T) {
	pages := readText(t, "..", "..", "docs", "scheduling.md") + readText(t, "..", "..", "docs", "refresh.md")
	blocks := regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(pages, -1)
	if len(blocks) < 3 {
		t.Errorf("only %d blocks found", len(blocks))
	}
	for _, b := range blocks {
		text := `<CrawlConfig><Crawler name="a" minimumAgedS="86400"><Root url="http://www.example.com/" group="news"/>` + b[1] + `</Crawler></CrawlConfig>`
		_, report := config.Parse("scheduling.md", []byte(text), config.Lookups{})
		for _, p := range slices.Concat(report.Errors, report.Warnings) {
			t.Errorf("%s\n%s", p, b[1])
		}
	}
}

// TestPageConfigurations: what the pages about tuning, hardening and Elasticsearch write into
// a configuration is accepted, and gives no warning.
func TestPageConfigurations(t *testing.T) {
	for _, name := range []string{"tuning.md", "hardening.md", "elasticsearch.md"} {
		page := testdir.Read(t, filepath.Join("..", "..", "docs", name))
		blocks := regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
		if len(blocks) == 0 {
			t.Errorf("%s: no block is found", name)
		}
		for _, b := range blocks {
			_, report := config.Parse(name, []byte(exampleConfig(b[1])), config.Lookups{Env: func(string) (string, bool) { return "secret", true }})
			for _, p := range slices.Concat(report.Errors, report.Warnings) {
				t.Errorf("%s\n%s", p, b[1])
			}
		}
	}
}

// TestLibraryPage: the code on the page is that of the examples that run.
func TestLibraryPage(t *testing.T) {
	page := testdir.Read(t, filepath.Join("..", "..", "docs", "project", "library.md"))
	code := testdir.Read(t, filepath.Join("..", "..", "crawl", "example_test.go"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(string(code), strings.TrimRight(b[1], "\n")) {
			t.Errorf("crawl/example_test.go has no\n%s", b[1])
		}
	}
}

// TestJSONIsDocumented: each command with --json is run with it by a case file, and
// operations.md says what it prints.
func TestJSONIsDocumented(t *testing.T) {
	page := testdir.Read(t, filepath.Join("..", "..", "docs", "operations.md"))
	script := testdir.Read(t, filepath.Join("..", "..", "testdata", "script", "json.txtar"))
	_, table, _ := strings.Cut(string(page), "| command | with `--json` |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, c := range manual.Reference(newApp(nil, nil, nil)) {
		has := slices.ContainsFunc(c.Flags, func(f manual.Flag) bool { return slices.Contains(f.Names, "--json") })
		if documented := strings.Contains(table, "`"+c.Name+"`"); documented != has {
			t.Errorf("%s: it has --json: %v, operations.md lists it: %v", c.Name, has, documented)
		}
		if run := regexp.MustCompile(`(?m)^(?:! )?(?:exec )?sextant ` + c.Name + `\b.*--json`).Match(script); run != has {
			t.Errorf("%s: it has --json: %v, json.txtar runs it: %v", c.Name, has, run)
		}
	}
}

// TestReasonsAreDocumented: reports.md explains every fate and every reason, by its word.
func TestReasonsAreDocumented(t *testing.T) {
	page := testdir.Read(t, filepath.Join("..", "..", "docs", "reports.md"))
	var words []string
	for _, fate := range scheduler.Fates() {
		words = append(words, fate.String())
	}
	for reason := scheduler.NoReason + 1; reason.Known(); reason++ {
		words = append(words, reason.String())
	}
	for _, word := range words {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/reports.md does not explain %s", word)
		}
	}
}
