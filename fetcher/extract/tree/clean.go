package tree

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// cleaner copies the content of a page: listed elements and attributes, only the content of other elements, and no
// parts that are not text.
type cleaner struct {
	form string
	base *url.URL
	left int // bytes that may still be copied
	cut  bool
	// nested counts the open lists and quotes. In Markdown each adds a prefix to all lines in it.
	nested int
	tables int                   // that are open
	shapes map[*html.Node]*shape // of all tables, for Markdown
}

// maxNested is the nesting of lists and quotes that is kept; the content of deeper ones moves to the last.
const maxNested = 12

// dropped reports whether an element is dropped with its content, which is not text of the page.
func dropped(name string) bool {
	switch name {
	case "head", "script", "style", "template", "noscript", "noframes", "noembed", "iframe", "frame", "frameset", "object", "embed", "applet", "param",
		"input", "select", "option", "optgroup", "textarea", "datalist", "progress", "meter",
		"canvas", "audio", "video", "source", "track", "map", "area", "title", "meta", "link", "base", "xmp", "plaintext", "dialog", "svg":
		return true
	}
	return false
}

// copied returns the attributes that are copied for an element, besides those of all elements; ok is false for an
// element that is not copied.
func copied(name string) (attributes []string, ok bool) {
	switch name {
	case "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "dl", "dt", "dd", "pre", "code", "em", "strong", "b", "i", "u", "s", "sub", "sup",
		"small", "mark", "abbr", "dfn", "cite", "kbd", "samp", "var", "br", "hr", "wbr", "figure", "figcaption", "table", "caption", "thead", "tbody", "tfoot", "tr",
		"details", "summary", "address", "article", "section", "main", "aside", "header", "footer", "nav", "ruby", "rt", "rp", "bdi", "bdo":
		return nil, true
	case "a":
		return []string{"href"}, true
	case "img":
		return []string{"src", "alt"}, true
	case "td", "th":
		return []string{"colspan", "rowspan"}, true
	case "ol":
		return []string{"start"}, true
	case "li":
		return []string{"value"}, true
	case "time":
		return []string{"datetime"}, true
	case "blockquote", "q", "ins", "del":
		return []string{"cite"}, true
	}
	return nil, false
}

// inside copies the content of a node. The parser bounds its depth.
func (c *cleaner) inside(to, from *html.Node) {
	for n := from.FirstChild; n != nil && !c.cut; n = n.NextSibling {
		switch n.Type {
		case html.TextNode:
			c.text(to, n.Data)
		case html.ElementNode:
			c.element(to, n)
		case html.DocumentNode, html.CommentNode, html.DoctypeNode, html.ErrorNode, html.RawNode:
		}
	}
}

func (c *cleaner) element(to, n *html.Node) {
	if dropped(n.Data) {
		return
	}
	own, ok := copied(n.Data)
	nests := n.Data == "ul" || n.Data == "ol" || n.Data == "dl" || n.Data == "blockquote"
	unfit := nests && c.nested >= maxNested || c.form == formMarkdown && c.unfit(n)
	if !ok || n.Namespace != "" || unfit {
		if n.Data == "td" || n.Data == "th" {
			c.text(to, " ")
		}
		c.inside(to, n)
		return
	}
	e := &html.Node{Type: html.ElementNode, Data: n.Data, DataAtom: n.DataAtom}
	for _, a := range n.Attr {
		if value, ok := c.attribute(n.Data, own, a); ok {
			e.Attr = append(e.Attr, html.Attribute{Key: a.Key, Val: value})
		}
	}
	switch {
	case n.Data == "img" && valueOf(e, "src") == "":
		c.text(to, valueOf(e, "alt"))
		return
	case n.Data == "a" && valueOf(e, "href") == "":
		c.inside(to, n)
		return
	}
	if !c.take(c.cost(e)) {
		return
	}
	to.AppendChild(e)
	var open *int
	switch {
	case nests:
		open = &c.nested
	case n.Data == "table":
		open = &c.tables
	default:
		c.inside(e, n)
		return
	}
	*open++
	c.inside(e, n)
	*open--
}

// unfit reports whether an element cannot be written in Markdown, so that only its content is: a pre in a one-line cell
// would not be code, and a table gets as many cells in each row as in its longest.
func (c *cleaner) unfit(n *html.Node) bool {
	switch n.Data {
	case "pre", "td", "th":
		return (n.Data == "pre") == (c.tables > 0)
	case "table":
		if s := c.shapes[n]; s != nil {
			return s.rows*s.longest > 2*s.cells+maxFilled
		}
	}
	return false
}

// maxFilled is the number of cells that can be added to a Markdown table, in addition to doubling them.
const maxFilled = 10_000

// shape counts the cells of a table, without those of nested tables.
type shape struct{ rows, longest, cells, inRow int }

// measure counts the cells of all tables in a node inside a table of shape s.
func (c *cleaner) measure(from *html.Node, s *shape) {
	for n := from.FirstChild; n != nil; n = n.NextSibling {
		in := s
		switch n.Data {
		case "table":
			in = new(shape)
			c.shapes[n] = in
		case "tr":
			in.rows, in.inRow = in.rows+1, 0
		case "td", "th":
			in.cells, in.inRow = in.cells+1, in.inRow+1
			in.longest = max(in.longest, in.inRow)
		}
		c.measure(n, in)
	}
}

// attribute returns the copied value of an attribute. own are the element's own copied attributes.
func (c *cleaner) attribute(element string, own []string, a html.Attribute) (value string, ok bool) {
	value = strings.TrimSpace(strings.ToValidUTF8(a.Val, "\uFFFD"))
	switch {
	case a.Namespace != "" || value == "":
		return "", false
	case a.Key == "class" && (element == "code" || element == "pre"):
		return languageClass(value)
	case a.Key == "title", a.Key == "lang", a.Key == "dir":
		return value, c.form == formHTML
	case !slices.Contains(own, a.Key):
		return "", false
	}
	switch a.Key {
	case "href", "src", "cite":
		return c.address(value, a.Key != "src")
	case "alt":
		if c.form == formMarkdown { // where it is written unchanged
			value = textOnly.Replace(plainAlt.Replace(value))
		}
	case "colspan", "rowspan", "start", "value":
		n, err := strconv.Atoi(value)
		span := strings.HasSuffix(a.Key, "span")
		if span && c.form == formMarkdown { // each becomes empty cells, as many as the page declares
			return "", false
		}
		return strconv.Itoa(n), err == nil && (!span || n > 1 && n <= 1000)
	}
	return value, true
}

// languageClass returns the class that names a code's language.
func languageClass(class string) (string, bool) {
	for word := range strings.FieldsSeq(class) {
		name, ok := strings.CutPrefix(word, "language-")
		if ok && name != "" && len(name) <= 30 && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf || strings.ContainsRune("`\"'<>&", r) }) {
			return word, true
		}
	}
	return "", false
}

// address returns an absolute address, if a reader can follow it safely.
func (c *cleaner) address(written string, linked bool) (string, bool) {
	written = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' { // as browsers do
			return -1
		}
		return r
	}, written)
	u, err := url.Parse(written)
	if err != nil {
		return "", false
	}
	if c.base != nil {
		u = c.base.ResolveReference(u)
	}
	switch {
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && !strings.ContainsAny(u.Host, "()<>\"`|\\ "):
	case linked && (u.Scheme == "mailto" || u.Scheme == "tel"):
	default:
		return "", false
	}
	if c.form == formMarkdown {
		return plainAddress.Replace(u.String()), true
	}
	return u.String(), true
}

var (
	// plainAddress encodes characters that would end an address in Markdown, or a cell.
	plainAddress = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `"`, "%22", "`", "%60", `\`, "%5C", "|", "%7C", " ", "%20",
		codeBegins, "%EF%B7%90", codeEnds, "%EF%B7%91", barMark, "%EF%B7%92", squareMark, "%EF%B7%93", "\uF002", "%EF%80%82")
	plainAlt = strings.NewReplacer("[", "(", "]", ")", "<", " ", ">", " ", "`", "'", `\`, "/", "|", "/", "\n", " ", "\r", " ")
)

// text copies text, within the limit.
func (c *cleaner) text(to *html.Node, s string) {
	if s = strings.ToValidUTF8(s, "\uFFFD"); s == "" || c.cut {
		return
	}
	for cost := c.costOf(s); cost > c.left; cost = c.costOf(s) {
		c.cut = true
		end := max(0, len(s)-(cost-c.left+5)/6) // a character grows at most six times
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		if s = s[:end]; s == "" {
			return
		}
	}
	c.left -= c.costOf(s)
	to.AppendChild(&html.Node{Type: html.TextNode, Data: s})
}

// take reserves space for an element, if available.
func (c *cleaner) take(cost int) bool {
	if cost > c.left {
		c.cut = true
		return false
	}
	c.left -= cost
	return true
}

// cost returns the length of an element's tags in HTML, which is about what other forms add.
func (c *cleaner) cost(e *html.Node) int {
	n := len("<></>\n") + 2*len(e.Data)
	for _, a := range e.Attr {
		n += len(` =""`) + len(a.Key) + len(html.EscapeString(a.Val))
	}
	if c.form == formText {
		return 1
	}
	return n
}

func (c *cleaner) costOf(text string) int {
	if c.form != formHTML {
		return len(text)
	}
	return len(html.EscapeString(text))
}
