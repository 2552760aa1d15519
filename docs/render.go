package docs

import (
	"bytes"
	"errors"
	"html/template"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown is the dialect of the pages: CommonMark with tables.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(parts{}, 100))),
	)
})

// parse parses a page. Its headings get the same ids as on code hosts, so links work in files and here.
func parse(source []byte) ast.Node {
	return markdown().Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&ids{seen: map[string]int{}}))))
}

// render renders a file as a page. Links to files outside the sources become text.
func render(name string, source []byte, sources map[string][]byte) (*Page, error) {
	doc := parse(source)
	p := &Page{Path: pathOf(name)}
	if err := relink(doc, name, sources); err != nil {
		return nil, err
	}
	p.sections = sectionsOf(doc, source)
	for i := range p.sections {
		switch h := p.sections[i].heading; {
		case h.Level == 1 && p.Title == "":
			p.Title = h.Text
		case h.Level == 1:
			return nil, errors.New("a page has one title: " + h.Text)
		case h.Level <= 3:
			p.Headings = append(p.Headings, h)
		}
	}
	if p.Title == "" {
		return nil, errors.New("a page begins with its title")
	}
	var b bytes.Buffer
	if err := markdown().Renderer().Render(&b, source, doc); err != nil {
		return nil, err
	}
	p.Body = template.HTML(b.String()) //nolint:gosec // raw HTML is left out, see parts
	return p, nil
}

// words returns the text of a node without its markup.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case !entering:
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindText:
			t := n.(*ast.Text)
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindString:
			b.Write(n.(*ast.String).Value)
		case n.Kind() == ast.KindCodeBlock || n.Kind() == ast.KindFencedCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	}) // the function returns no error
	return strings.TrimSpace(b.String())
}

// entry is a heading of index.md, or a page that it names in a list.
type entry struct{ text, page string }

func entries(index []byte) []entry {
	var all []entry
	doc := parse(index)
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				all = append(all, entry{text: words(n, index)})
			}
		case *ast.List:
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				if link, ok := item.FirstChild().FirstChild().(*ast.Link); ok {
					all = append(all, entry{words(link, index), string(link.Destination)})
				}
			}
		}
	}
	return all
}

// relink rewrites the links of a page to the addresses at which pages are served.
func relink(doc ast.Node, name string, sources map[string][]byte) error {
	var leaving []*ast.Link
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			n.Destination = []byte(Root + path.Join(path.Dir(name), string(n.Destination)))
		case *ast.Link:
			to, ok := address(name, string(n.Destination), sources)
			if !ok {
				leaving = append(leaving, n)
			}
			n.Destination = []byte(to)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range leaving {
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			link.Parent().InsertBefore(link.Parent(), link, child)
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
	return err
}

// address returns the address for a link in a file. It is false for a link that leaves the folder of the manual and
// does not lead to another server.
func address(from, link string, sources map[string][]byte) (string, bool) {
	if strings.HasPrefix(link, "#") || strings.HasPrefix(link, "http://") || strings.HasPrefix(link, "https://") {
		return link, true
	}
	file, fragment, _ := strings.Cut(link, "#")
	if fragment != "" {
		fragment = "#" + fragment
	}
	to := path.Join(path.Dir(from), file)
	if _, ok := sources[to]; ok {
		return Root + pathOf(to) + fragment, true
	}
	if _, _, ok := File(to); ok {
		return Root + to, true
	}
	return "", false
}

// ids gives headings the same ids as code hosts: lower case, letters, digits, hyphens and underscores, and hyphens for
// blanks.
type ids struct{ seen map[string]int }

// Generate returns the id of the next heading.
func (s *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(string(value)))
	n := s.seen[id]
	s.seen[id]++
	if n > 0 {
		id += "-" + strconv.Itoa(n)
	}
	return []byte(id)
}

// Put does nothing: no page writes ids itself.
func (s *ids) Put([]byte) {}

func idOf(n ast.Node) string {
	id, _ := n.AttributeString("id")
	b, _ := id.([]byte)
	return string(b)
}

// parts renders the console's pages differently from goldmark: wide parts can be scrolled by keyboard, header cells
// have a scope, headings have links, and HTML in the text is omitted.
type parts struct{}

// RegisterFuncs registers the nodes rendered here.
func (parts) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	nothing := func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkSkipChildren, nil }
	to.Register(ast.KindHTMLBlock, nothing)
	to.Register(ast.KindRawHTML, nothing)
	to.Register(tables.KindTable, around(`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`, "</table></div>\n"))
	to.Register(tables.KindTableHeader, around("<thead><tr>", "</tr></thead>\n<tbody>\n"))
	to.Register(tables.KindTableCell, renderCell)
	to.Register(ast.KindCodeBlock, renderCode)
	to.Register(ast.KindFencedCodeBlock, renderCode)
	to.Register(ast.KindHeading, renderHeading)
}

func around(begin, end string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		written := end
		if entering {
			written = begin
		}
		_, err := w.WriteString(written)
		return ast.WalkContinue, err
	}
}

func renderCell(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	begin, end := "<td>", "</td>"
	if n.Parent().Kind() == tables.KindTableHeader {
		begin, end = `<th scope="col">`, "</th>"
		if n.FirstChild() == nil {
			begin, end = "<td>", "</td>" // an empty head does not describe its column
		}
	}
	return around(begin, end)(w, source, n, entering)
}

func renderCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	code := template.HTMLEscapeString(string(n.Lines().Value(source)))
	if fenced, ok := n.(*ast.FencedCodeBlock); ok && string(fenced.Language(source)) == "xml" {
		code = highlight(code)
	}
	_, err := w.WriteString(`<pre tabindex="0"><code>` + code + "</code></pre>\n")
	return ast.WalkSkipChildren, err
}

// xmlPart is a part of escaped XML that has a colour: a comment, a tag, an attribute's name or its value.
var xmlPart = regexp.MustCompile(`&lt;!--(?s:.*?)--&gt;|&lt;[/?]?[\w:.-]+|[/?]?&gt;|[\w:.-]+=|&#34;.*?&#34;`)

// highlight marks the parts of escaped XML by classes, which a style sheet colours.
func highlight(code string) string {
	return xmlPart.ReplaceAllStringFunc(code, func(part string) string {
		class := "xml-tag"
		switch {
		case strings.HasPrefix(part, "&lt;!--"):
			class = "xml-comment"
		case strings.HasPrefix(part, "&#34;"):
			class = "xml-value"
		case strings.HasSuffix(part, "="):
			class = "xml-name"
		}
		return `<span class="` + class + `">` + part + "</span>"
	})
}

func renderHeading(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level, id := strconv.Itoa(n.(*ast.Heading).Level), template.HTMLEscapeString(idOf(n))
	begin, end := "<h"+level+` id="`+id+`">`, "</h"+level+">\n"
	if level != "1" {
		end = ` <a class="anchor" href="#` + id + `" aria-label="Link to this section">#</a>` + end
	}
	return around(begin, end)(w, source, n, entering)
}
