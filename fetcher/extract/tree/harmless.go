package tree

import (
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
)

// harmless inserts the code, and parses the result as a second safeguard: if a reader would find tags or unsafe
// addresses in it, it is written without code, and as a last resort as plain text.
func (k *keeper) harmless(written string, top *html.Node) string {
	for _, withCode := range []bool{true, false} {
		if value := k.putIn(written, withCode); !runs(value) {
			return value
		}
	}
	var lines, b strings.Builder
	writeLines(&lines, top)
	for line := range strings.Lines(strings.NewReplacer(barMark, "|", squareMark, "[").Replace(lines.String())) {
		for i, part := range strings.Split(line, codeBegins) {
			if number, after, ok := strings.Cut(part, codeEnds); i > 0 && ok {
				if n, err := strconv.Atoi(number); err == nil && n < len(k.codes) {
					b.WriteString(escaped(oneLine(k.codes[n].text)))
				}
				part = after
			}
			b.WriteString(escaped(part))
		}
	}
	return b.String()
}

// escaped writes text so that Markdown readers see only text.
func escaped(s string) string { return entities().Replace(s) }

var entities = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, char := range "\\`*_{}[]()<>#+-.!|~&:\"'$^=/@" {
		pairs = append(pairs, string(char), "&#"+strconv.Itoa(int(char))+";")
	}
	return strings.NewReplacer(pairs...)
})

// readers are two parsers of Markdown, with and without tables.
var readers = sync.OnceValue(func() []parser.Parser {
	return []parser.Parser{goldmark.DefaultParser(), goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser()}
})

// runs reports whether a reader finds HTML in Markdown, or an address that cleaner.address would refuse.
func runs(markdown string) bool {
	source := []byte(markdown)
	for _, reader := range readers() {
		found := false
		_ = ast.Walk(reader.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if found = found || entering && runsNode(n, source); found {
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
		if found {
			return true
		}
	}
	return false
}

func runsNode(n ast.Node, source []byte) bool {
	switch n := n.(type) {
	case *ast.HTMLBlock:
		return true
	case *ast.RawHTML:
		return string(n.Segments.Value(source)) != "<br />" // used for line breaks in a cell
	case *ast.Link:
		return !leadsOn(string(n.Destination))
	case *ast.Image:
		return !leadsOn(string(n.Destination))
	case *ast.AutoLink:
		return !leadsOn(string(n.URL(source)))
	}
	return false
}

func leadsOn(address string) bool {
	scheme, _, ok := strings.Cut(address, ":")
	return ok && (scheme == "http" || scheme == "https" || scheme == "mailto" || scheme == "tel")
}
