package layers

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// wording is a pattern of docs/project/style.md and how often it may occur: never more than today.
type wording struct {
	pattern       string
	docs, comment int // in the pages of docs/ and README.md; in comments of Go files
}

func wordings() []wording {
	return []wording{
		{`\bof which\b`, 0, 0},
		{`\b(is|are|was|were) none\b`, 0, 0},
		{`\bbut for\b`, 0, 0},
		{`\bnobody\b`, 0, 0},
		{`\bwho\b`, 0, 0},
		{`\bwhat (is|was|are|has|have|it|they|a|the|waits)\b`, 0, 0},
		{`\b(says|tells|tell|wants|knows)\b`, 0, 0},
		{`\b(is|are|was|be|been) (asked|told|had)\b`, 0, 0},
		{`\banswer(s|ed)?\b`, 0, 0},
		{`\b(for good|for ever|next to nothing|anew)\b`, 0, 0},
		{`\bof (its|their|a|an) own\b`, 0, 0},
		{`\bto be (read|had|kept|sent|found|made)\b`, 0, 0},
	}
}

// TestWordings counts the patterns; who lowers a count lowers its limit.
func TestWordings(t *testing.T) {
	pages, comments := prosePages(t)
	for _, w := range wordings() {
		pattern := regexp.MustCompile(`(?i)` + w.pattern)
		for _, c := range []struct {
			where, text string
			limit       int
		}{{"pages", pages, w.docs}, {"comments", comments, w.comment}} {
			if n := len(pattern.FindAllStringIndex(c.text, -1)); n > c.limit {
				t.Errorf("%s: %d times in %s, limit %d: see docs/project/style.md", w.pattern, n, c.where, c.limit)
			}
		}
	}
}

// prosePages returns the text of all pages without blocks of code, and all comments of Go files.
func prosePages(t *testing.T) (pages, comments string) {
	t.Helper()
	var page, comment strings.Builder
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (ignoredFolder(d.Name()) || d.Name() == "node_modules"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".go"):
			for line := range strings.Lines(read(t, name)) {
				if _, after, ok := strings.Cut(line, "// "); ok {
					comment.WriteString(after + "\n")
				}
			}
		case name == "README.md" || strings.HasPrefix(name, "docs/") && strings.HasSuffix(name, ".md"):
			code := name == "docs/project/style.md"
			for line := range strings.Lines(read(t, name)) {
				if strings.HasPrefix(line, "```") {
					code = !code
				} else if !code {
					page.WriteString(line + "\n")
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return page.String(), comment.String()
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
