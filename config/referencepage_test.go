package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

func TestReferenceIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "docs", "configuration.md")
	if *update {
		if err := os.WriteFile(path, []byte(referencePage(t)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := testdir.Read(t, path)
	if diff := cmp.Diff(string(want), referencePage(t)); diff != "" {
		t.Errorf("run go test ./config -update (-file +table):\n%s", diff)
	}
}

// TestReferenceIsWhole: each element of the table has a section with an example of it, and
// each attribute stands in one table.
func TestReferenceIsWhole(t *testing.T) {
	text := testdir.Read(t, filepath.FromSlash(guide))
	elements := newSchema().elements
	sections := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^##+ `).Split(string(text), -1)[1:] {
		name, rest, _ := strings.Cut(section, "\n")
		if strings.Contains(string(text), "\n### "+name+"\n") && elements[name] != nil {
			sections[name] += rest
		}
	}
	tables := map[string]int{}
	for line := range strings.Lines(string(text)) {
		names, attributes, _ := tableOf(elements, line)
		for _, name := range names {
			for _, attribute := range attributes {
				tables[name+" "+attribute]++
			}
		}
	}
	for _, e := range Elements() {
		if n := strings.Count(string(text), "\n### "+e.key()+"\n"); n != 1 {
			t.Errorf("%s: %d sections are about <%s>", guide, n, e.Name)
		}
		example := regexp.MustCompile("(?s)```xml\n[^`]*<(?:ar:)?" + e.Name + "[ />]")
		if !example.MatchString(sections[e.key()]) {
			t.Errorf("%s: the section about <%s> has no example of it", guide, e.Name)
		}
		for _, a := range e.Attributes {
			if n := tables[e.key()+" "+a.Name]; n != 1 {
				t.Errorf("%s: %s of <%s> stands in %d tables", guide, a.Name, e.Name, n)
			}
		}
	}
}

// TestReferenceExamples: each example loads, and check has nothing to say about it.
func TestReferenceExamples(t *testing.T) {
	page := testdir.Read(t, filepath.Join("..", "docs", "configuration.md"))
	files := map[string]string{
		"roots.txt": "https://www.example.com/\n", "intranet.rules": "allow domain www.example.com\nforbid domain *\n", "page-operator": "", "ocr.sh": "", "socket": "",
		"reject.txt": "# nothing yet\n", "kill.txt": "https://www.example.com/a\n", "kill-patterns.txt": "/draft/\n",
		"api.token": "secret", "wiki.password": "secret", "search.key": "secret",
	}
	lookups := Lookups{
		Env: func(string) (string, bool) { return "https://hooks.example.com/secret", true },
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := files[filepath.Base(path)]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		},
		Exists: func(path string) bool { _, ok := files[filepath.Base(path)]; return ok },
	}
	blocks := regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if least := len(Elements()); len(blocks) < least {
		t.Errorf("%d examples for %d elements", len(blocks), least)
	}
	for _, b := range blocks {
		_, report := Parse("configuration.md", []byte(aroundExample(b[1])), lookups)
		for _, p := range slices.Concat(report.Errors, report.Warnings) {
			t.Errorf("%s\n%s", p, b[1])
		}
	}
}

// aroundExample puts what an example leaves out around it.
func aroundExample(example string) string {
	const namespaces = `xmlns="exa:com.exalead.mercury.mami.crawl.v21" xmlns:ar="exa:com.exalead.actionrules.v21"`
	switch {
	case strings.HasPrefix(example, "<CrawlConfig"):
		return example
	case strings.HasPrefix(example, "<Crawler"):
		return `<CrawlConfig ` + namespaces + `>` + example + `</CrawlConfig>`
	case strings.HasPrefix(example, "<Rule>"):
		example = "<Rules>" + example + "</Rules>"
	}
	if !strings.Contains(example, "<Root") {
		example = `<Root url="https://www.example.com/"/>` + example
	}
	return `<CrawlConfig ` + namespaces + `><Crawler name="example" smartRefresh="true" errorPolicy="cautious">` + example + `</Crawler></CrawlConfig>`
}
