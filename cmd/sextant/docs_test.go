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
	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/config"
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
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
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

// TestDocumentedCommands: each command of the pages for operators is run by a case file.
func TestDocumentedCommands(t *testing.T) {
	for page, least := range map[string]int{
		"operations.md": 12, "runbook.md": 20, "scheduling.md": 4, "first-crawl.md": 15, "install.md": 2, "upgrade.md": 3, "monitoring.md": 1,
		"reports.md": 5, "outbox.md": 8, "push.md": 3, "console.md": 1,
		"elasticsearch.md": 6, "faq.md": 1, "hardening.md": 2,
	} {
		t.Run(page, func(t *testing.T) { areRun(t, page, least) })
	}
}

func areRun(t *testing.T, name string, least int) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join("..", "..", "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	// Only addresses, folders, numbers of edits, counts of pages and where a service listens differ.
	address := regexp.MustCompile(`(http://www\.example\.com|\$SITE)(/\S*)?`)
	plain := func(command string) string {
		command = regexp.MustCompile(` --listen \S+| --log-level \S+| &\w+&$`).ReplaceAllString(command, "")
		command = strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(command, "/var/backups/", ""), "sh -c '"), "'")
		return regexp.MustCompile(`--(max-pages|edit) \d+`).ReplaceAllString(address.ReplaceAllString(command, "URL"), "--$1 N")
	}
	run := map[string]bool{}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if command, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "! "), "exec "); ok {
				run[plain(command)] = true
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
		if command = plain(strings.TrimSpace(command)); !run[command] {
			t.Errorf("no case file runs %s", command)
		}
	}
	if commands < least {
		t.Errorf("only %d commands found", commands)
	}
}

// TestSchedulingConfiguration: the elements on the page are ones that check accepts.
func TestSchedulingConfiguration(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "scheduling.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
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

// TestReadmeCommands: each command of the README is one that there is, with options and verbs
// that it has.
func TestReadmeCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]manual.Command{}
	for _, c := range manual.Reference(newApp(nil, nil, nil)) {
		known[c.Name] = c
	}
	lines := regexp.MustCompile(`(?m)^    (?:\./sextant|go run \./cmd/sextant) (\w+)(.*?)(?:  +#.*)?$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) < 12 {
		t.Errorf("only %d commands are found", len(lines))
	}
	for _, m := range lines {
		c, ok := known[m[1]]
		if !ok {
			t.Errorf("%s: there is no such command", m[0])
		}
		for _, option := range regexp.MustCompile(` (--?[a-z][a-z-]*)`).FindAllStringSubmatch(m[2], -1) {
			if !slices.ContainsFunc(c.Flags, func(f manual.Flag) bool { return slices.Contains(f.Names, option[1]) }) {
				t.Errorf("%s: %s has no option %s", m[0], c.Name, option[1])
			}
		}
		if words := strings.Fields(m[2]); len(words) > 0 && len(c.Verbs) > 0 && !strings.HasPrefix(c.Arguments, "[") && !slices.Contains(c.Verbs, words[0]) {
			t.Errorf("%s: write one of %s", m[0], c.Verbs)
		}
	}
}

// TestPageConfigurations: what the pages about tuning, hardening and Elasticsearch write into
// a configuration is accepted, and gives no warning.
func TestPageConfigurations(t *testing.T) {
	for _, name := range []string{"tuning.md", "hardening.md", "elasticsearch.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
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
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(filepath.Join("..", "..", "service", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(string(code), strings.TrimRight(b[1], "\n")) {
			t.Errorf("service/example_test.go has no\n%s", b[1])
		}
	}
}

// TestJSONIsDocumented: each command with --json is run with it by a case file, and
// operations.md says what it prints.
func TestJSONIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "testdata", "script", "json.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| command | with `--json` |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, c := range manual.Reference(newApp(nil, nil, nil)) {
		has := slices.ContainsFunc(c.Flags, func(f manual.Flag) bool { return slices.Contains(f.Names, "--json") })
		if documented := strings.Contains(table, "`"+c.Name+"`"); documented != has {
			t.Errorf("%s: it has --json: %v, operations.md lists it: %v", c.Name, has, documented)
		}
		if run := regexp.MustCompile(`exec sextant ` + c.Name + `\b.*--json`).Match(script); run != has {
			t.Errorf("%s: it has --json: %v, json.txtar runs it: %v", c.Name, has, run)
		}
	}
}

// TestReasonsAreDocumented: reports.md explains every fate and every reason, by its word.
func TestReasonsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reports.md"))
	if err != nil {
		t.Fatal(err)
	}
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
