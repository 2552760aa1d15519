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

// harmless puts code in, and reads the Markdown again as a wall behind the rules by which it is written: if a reader would
// find tags in it or addresses that may run something, it is written without code, and at last as nothing but text.
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

// escaped writes text so that no reader of Markdown finds anything else in it.
func escaped(s string) string { return entities().Replace(s) }

var entities = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, char := range "\\`*_{}[]()<>#+-.!|~&:\"'$^=/@" {
		pairs = append(pairs, string(char), "&#"+strconv.Itoa(int(char))+";")
	}
	return strings.NewReplacer(pairs...)
})

// readers are two readers of Markdown: tables are not known to all of them.
var readers = sync.OnceValue(func() []parser.Parser {
	return []parser.Parser{goldmark.DefaultParser(), goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser()}
})

// runs reports whether a reader finds HTML in Markdown, or an address other than those that cleaner.address lets through.
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
		return string(n.Segments.Value(source)) != "<br />" // that ends a line in a cell
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
