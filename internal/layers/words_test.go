package layers

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"unicode"
)

// wording is a pattern of docs/project/style.md: phrases, separated by |, and how often they may occur in the pages of
// docs/ with README.md, and in comments of Go files. A limit is never raised; a change that needs fewer lowers it.
type wording struct {
	phrases         string
	pages, comments int
}

func wordings() []wording {
	return []wording{
		{"of which", 2, 43},
		{"is none|are none|was none|were none|none is", 3, 147},
		{"but for", 0, 3},
		{"nobody", 2, 31},
		{"who", 11, 30},
		{"what is|what was|what are|what has|what have|what it|what they|what waits", 34, 366},
		{"says|tells|tell", 8, 237},
		{"wants|knows", 4, 58},
		{"says whether|tells whether", 0, 2},
		{"is asked|are asked|was asked|be asked|is told|are told|be told|be had|is had", 2, 145},
		{"answer|answers|answered", 25, 251},
		{"for good|for ever|next to nothing|anew", 3, 28},
		{"of its own|of their own|of an own", 13, 85},
	}
}

func TestWordings(t *testing.T) {
	pages, comments := wordsOfProject(t)
	for _, w := range wordings() {
		inPages, inComments := 0, 0
		for phrase := range strings.SplitSeq(w.phrases, "|") {
			inPages += strings.Count(pages, " "+phrase+" ")
			inComments += strings.Count(comments, " "+phrase+" ")
		}
		if inPages > w.pages || inComments > w.comments {
			t.Errorf("%q: %d times in pages, %d in comments, limits %d and %d: docs/project/style.md has better words",
				w.phrases, inPages, inComments, w.pages, w.comments)
		}
	}
}

// wordsOfProject returns the words of all pages without blocks of code, and of all comments, in lower case between
// spaces.
func wordsOfProject(t *testing.T) (pages, comments string) {
	t.Helper()
	var page, comment strings.Builder
	tree := os.DirFS("../..")
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		isPage := name == "README.md" || strings.HasPrefix(name, "docs/") && path.Ext(name) == ".md"
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (ignoredFolder(d.Name()) || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !isPage && path.Ext(name) != ".go" || name == "docs/project/style.md":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		code := false
		for line := range strings.Lines(string(text)) {
			if _, after, ok := strings.Cut(line, "// "); ok && !isPage {
				comment.WriteString(after)
			}
			code = code != strings.HasPrefix(line, "```")
			if isPage && !code {
				page.WriteString(line)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plainWords(page.String()), plainWords(comment.String())
}

func plainWords(text string) string {
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) }
	return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), notLetter), " ") + " "
}
