package feeds

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

func documentation(t *testing.T) string {
	t.Helper()
	text := testdir.Read(t, filepath.Join("..", "..", "..", "docs", "reading-feeds.md"))
	return string(text)
}

// TestDocumentedExamples reads the examples of docs/reading-feeds.md and compares
// with what stands below each.
func TestDocumentedExamples(t *testing.T) {
	examples := regexp.MustCompile("(?s)```xml\n(.*?)```\n\n```text\n(.*?)```").FindAllStringSubmatch(documentation(t), -1)
	if len(examples) != 4 {
		t.Errorf("%d examples found", len(examples))
	}
	stamp := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return " " + at.Format(time.RFC3339)
	}
	for _, example := range examples {
		var lines []string
		s, err := Sitemap(strings.NewReader(example[1]), Options{}, func(e Entry) error {
			lines = append(lines, strings.Join(append([]string{e.Reference() + stamp(e.LastMod)}, e.Alternates...), " "))
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if s.Format.IsFeed() {
			lines = nil
			_, err = Feed(strings.NewReader(example[1]), Options{}, func(i Item) error {
				lines = append(lines, i.Reference()+stamp(i.Date)+" | "+i.Title+" | "+i.Content)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if d := cmp.Diff(strings.Split(strings.TrimSpace(example[2]), "\n"), append([]string{s.Format.String()}, lines...)); d != "" {
			t.Errorf("(-documented +read):\n%s", d)
		}
	}
}

func TestDocumentedLimits(t *testing.T) {
	text := documentation(t)
	for _, want := range []string{
		fmt.Sprintf("nested %d deep", maxDepth), fmt.Sprintf("titles are cut at %d KiB", maxField>>10), fmt.Sprintf("texts at %d MiB", maxContent>>20),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/reading-feeds.md does not say: %s", want)
		}
	}
}

// TestDocumentedPaths: the paths of the table are read.
func TestDocumentedPaths(t *testing.T) {
	_, table, _ := strings.Cut(documentation(t), "| path | names |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	n := 0
	for row := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.Trim(row, "| "), " |")
		for path := range strings.SplitSeq(first, ", ") {
			n++
			path = strings.Trim(path, "`")
			parse := ParsePath
			if strings.HasPrefix(path, "/") {
				parse = ElementPath
			}
			if _, err := parse(path); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if n < 9 {
		t.Errorf("only %d paths found", n)
	}
}
