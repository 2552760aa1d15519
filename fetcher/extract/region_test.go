package extract

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func removal(t testing.TB, elements ...string) *Removal {
	t.Helper()
	m, err := NewRemoval(elements)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRemoval has pages, their text, and their content; "=" is the page itself.
func TestRemoval(t *testing.T) {
	removed := []string{"nav", ".ads", "div.box", "#foot", "p#first", "x-menu", "br", "td.r", "li.r", "option.r"}
	tests := []struct{ name, html, text, content string }{
		{"nothing", "a<p>b</p>", "a b", "="},
		{"name", "a<nav>b<div>c</div></nav>d", "a d", "a d"},
		{"name in upper case", "a<NAV>b</Nav>d", "a d", "a d"},
		{"class", "a<i class='x ads y'>b</i>c", "ac", "ac"},
		{"class, other case", "a<i class=ADS>b</i>c", "abc", "="},
		{"class with a reference", "a<i class=&#97;ds>b</i>c", "ac", "ac"},
		{"name and class", "a<div class=box>b</div><p class=box>c</p>", "a c", "a <p class=box>c</p>"},
		{"id", "a<i id=foot>b</i><i id=FOOT>c</i>", "ac", "a<i id=FOOT>c</i>"},
		{"name and id", "<p id=first>a</p><i id=first>b</i>", "b", " <i id=first>b</i>"},
		{"custom element", "a<x-menu>b<x-entry>c</x-entry></x-menu>d", "ad", "ad"},
		{"void element", "a<br>b<BR/>c", "a b c", "a b c"},
		{"nested", "a<nav>b<nav>c</nav>d</nav>e", "a e", "a e"},
		{"same element inside", "a<div class=box>b<div>c</div>d</div>e", "a e", "a e"},
		{"links inside count, text not", "<nav><a href=1>b</a></nav>", "", " "},
		{"to the end", "a<nav>b", "a", "a"},
		{"wrong end tags inside", "a<nav>b</i></span></ul>c</nav>d", "a d", "a d"},
		{"ended by what is around it", "<div>a<i class=ads>b</div>c", "a c", "<div>a </div>c"},
		{"paragraph without end tag", "<p class=ads>a<p>b", "b", " <p>b"},
		{"paragraph ended by a block", "<p class=ads>a<i>b<div>c</div>", "c", " <div>c</div>"},
		{"entry without end tag", "<ul><li class=r>a<ul><li>b</ul><li>c</ul>d", "c d", "<ul> <li>c</ul>d"},
		{"cell without end tag", "<table><tr><td class=r>a<td>b<tr><td class=r>c</table>d", "b d", "<table><tr> <td>b<tr> </table>d"},
		{"cell with a table", "<table><tr><td class=r>a<table><tr><td>b</table>c<td>d</table>", "d", "<table><tr> <td>d</table>"},
		{"end tag that does not reach out of a cell", "<div><table><tr><td class=r>a</div>b</table>c</div>", "c", "<div><table><tr> </table>c</div>"},
		{"option", "<select><option class=r>a<option>b</select>c", "b c", "<select> <option>b</select>c"},
		{"raw text inside", "a<nav><script>'</nav>'</script>b</nav>c", "a c", "a c"},
		{"comment inside", "a<nav><!--</nav>-->b</nav>c", "a c", "a c"},
		{"noindex", "a<!--noindex-->b<!--endnoindex-->c", "a c", "a c"},
		{"googleoff", "a<!--googleoff: index-->b<p>c<!--googleon: index-->d", "a d", "a d"},
		{"noindex across a removed element", "a<!--noindex-->b<nav>c<!--endnoindex-->d</nav>e", "a e", "a e"},
		{"removed element across noindex", "a<nav>b<!--noindex-->c</nav>d<!--endnoindex-->e", "a e", "a e"},
		{"void element in noindex", "a<!--noindex-->b<br>c<!--endnoindex-->d", "a d", "a d"},
		{"hidden is kept in the content", "a<p hidden>b</p>c<nav>d</nav>", "a c", "a<p hidden>b</p>c "},
		{"hidden around", "a<p hidden>b<i class=ads>c</i>d</p>e", "a e", "a<p hidden>b d</p>e"},
		{"hidden inside", "a<nav>b<p hidden>c</nav>d", "a d", "a d"},
		{"the page itself", "<html class=ads><body class=ads id=foot>a", "a", "="},
		{"in SVG", "a<svg><g class=ads><text>b</text></g><path class=ads /><text>c</text></svg>d", "a c d", "a<svg>  <text>c</text></svg>d"},
		{"title stays", "<title class=ads>t</title>a", "a", " a"},
		{"all", "<nav>a", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := HTML([]byte(tt.html), "text/html; charset=utf-8", Options{Removal: removal(t, removed...), KeepContent: true})
			if err != nil {
				t.Fatal(err)
			}
			content := string(p.Content)
			if p.Content == nil {
				content = "="
			}
			if p.Text != tt.text || content != tt.content {
				t.Errorf("%s\ntext    %q\nwant    %q\ncontent %q\nwant    %q", tt.html, p.Text, tt.text, content, tt.content)
			}
			if want := ""; p.Content != nil {
				if want = "utf-8"; p.ContentCharset != want {
					t.Errorf("charset of the content %q", p.ContentCharset)
				}
			}
		})
	}
}

func TestContentCharset(t *testing.T) {
	const page = "a\xe9<!--noindex-->b<!--endnoindex-->c"
	p, err := HTML([]byte(page), "text/html; charset=iso-8859-1", Options{KeepContent: true})
	if err != nil || string(p.Content) != "a\u00e9 c" || p.ContentCharset != "utf-8" || p.Charset != "windows-1252" {
		t.Errorf("%q in %s, of %s, %v", p.Content, p.ContentCharset, p.Charset, err)
	}
	p, err = HTML([]byte("a<!--noindex-->b"), "text/html; charset=iso-8859-1", Options{KeepContent: true})
	if err != nil || string(p.Content) != "a" || p.ContentCharset != "windows-1252" {
		t.Errorf("ASCII: %q in %s, %v", p.Content, p.ContentCharset, err)
	}
	p, err = HTML([]byte(page), "text/html; charset=iso-8859-1", Options{})
	if err != nil || p.Content != nil || p.ContentCharset != "" {
		t.Errorf("not asked for: %q in %q, %v", p.Content, p.ContentCharset, err)
	}
}

func TestRemovalErrors(t *testing.T) {
	for element, words := range map[string]string{
		"":             "empty",
		" ":            "empty",
		"div p":        "not the name of an element",
		"div > p":      "not the name of an element",
		"div,p":        "not the name of an element",
		"*":            "not the name of an element",
		"a[href]":      "not the name of an element",
		"a:hover":      "", // a name with a prefix, as XHTML has them
		"1div":         "not the name of an element",
		".":            "not a class or id",
		"#":            "not a class or id",
		"div.a.b":      "not a class or id",
		".a .b":        "not a class or id",
		".a:hover":     "not a class or id",
		"div#a.b":      "not a class or id",
		"body":         "cannot be removed",
		"HTML":         "cannot be removed",
		"body.x":       "cannot be removed",
		" nav ":        "",
		"Footer.Small": "",
	} {
		_, err := NewRemoval([]string{element})
		switch {
		case words == "" && err != nil:
			t.Errorf("%q: %v", element, err)
		case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
			t.Errorf("%q: %v, want %q", element, err, words)
		}
	}
	if _, err := NewRemoval([]string{"nav", "a b", "c d"}); err == nil || !strings.Contains(err.Error(), `"c d"`) || !strings.Contains(err.Error(), `"a b"`) {
		t.Errorf("not all errors: %v", err)
	}
	if m, err := NewRemoval(nil); err != nil {
		t.Errorf("%v, %v", m, err)
	}
}

// randomPage draws a page of correctly nested elements, some without their optional end tags.
type randomPage struct {
	*rapid.T
	b     strings.Builder
	words int
}

func (g *randomPage) text() {
	g.words++
	g.b.WriteString(string(rune('a'+g.words%26)) + rapid.SampledFrom([]string{"", " ", "\n", "&amp;", "\u00e9", "<!--x-->"}).Draw(g.T, "text"))
}

func (g *randomPage) open(name string) {
	g.b.WriteString("<" + name)
	g.b.WriteString(rapid.SampledFrom([]string{"", "", "", " class=r", " hidden", " id=x"}).Draw(g.T, "attribute"))
	g.b.WriteString(">")
}

// close writes an end tag, or not, where it may be left out.
func (g *randomPage) close(name string, needed bool) {
	if needed || rapid.Bool().Draw(g.T, "end tag") {
		g.b.WriteString("</" + name + ">")
	}
}

func (g *randomPage) phrasing(depth int) {
	for range rapid.IntRange(0, 3).Draw(g.T, "phrasing") {
		name := rapid.SampledFrom([]string{"", "", "span", "i", "x-y", "br", "img", "svg"}).Draw(g.T, "inline")
		switch {
		case name == "" || depth <= 0:
			g.text()
		case name == "br" || name == "img":
			g.open(name)
		case name == "svg":
			g.b.WriteString("<svg><path/><title>T</title><text>")
			g.text()
			g.b.WriteString("</text></svg>")
		default:
			g.open(name)
			g.phrasing(depth - 1)
			g.close(name, true)
		}
	}
}

// blocks writes what stands in a block; a block follows or the end of one.
func (g *randomPage) blocks(depth int) {
	for range rapid.IntRange(0, 3).Draw(g.T, "blocks") {
		name := rapid.SampledFrom([]string{"", "p", "p", "div", "section", "h2", "ul", "dl", "table", "button", "select", "template", "script"}).Draw(g.T, "block")
		if depth <= 0 {
			name = "p"
		}
		switch name {
		case "":
			g.phrasing(1)
			g.b.WriteString("<hr>")
		case "p":
			g.open("p")
			g.phrasing(2)
			g.close("p", false)
			g.b.WriteString("<hr>")
		case "h2":
			g.open(name)
			g.phrasing(2)
			g.close(name, true)
		case "button":
			g.open(name)
			g.phrasing(1)
			g.close(name, true)
		case "script":
			g.b.WriteString("<script>'<p>'</script>")
		case "ul":
			g.list(depth, "ul", "li")
		case "dl":
			g.list(depth, "dl", "dt", "dd")
		case "select":
			g.open("select")
			for range rapid.IntRange(0, 3).Draw(g.T, "options") {
				g.open("option")
				g.text()
				g.close("option", false)
			}
			g.close("select", true)
		case "table":
			g.table(depth)
		default:
			g.open(name)
			g.blocks(depth - 1)
			g.close(name, true)
		}
	}
}

func (g *randomPage) list(depth int, list string, entries ...string) {
	g.open(list)
	for range rapid.IntRange(0, 3).Draw(g.T, "entries") {
		entry := rapid.SampledFrom(entries).Draw(g.T, "entry")
		g.open(entry)
		g.phrasing(1)
		g.blocks(depth - 1)
		g.close(entry, false)
	}
	g.close(list, true)
}

func (g *randomPage) table(depth int) {
	g.open("table")
	for range rapid.IntRange(0, 2).Draw(g.T, "sections") {
		section := rapid.SampledFrom([]string{"thead", "tbody", "tfoot"}).Draw(g.T, "section")
		g.open(section)
		for range rapid.IntRange(0, 2).Draw(g.T, "rows") {
			g.open("tr")
			for range rapid.IntRange(0, 3).Draw(g.T, "cells") {
				cell := rapid.SampledFrom([]string{"td", "th"}).Draw(g.T, "cell")
				g.open(cell)
				g.phrasing(1)
				g.blocks(depth - 1)
				g.close(cell, false)
			}
			g.close("tr", false)
		}
		g.close(section, false)
	}
	g.close("table", true)
}

// treeText is the text of a tree, without what is hidden or removed.
func treeText(w *loopText, n *html.Node) {
	if n.Type == html.TextNode {
		w.write([]byte(n.Data))
		return
	}
	for _, a := range n.Attr {
		if n.Data != "body" && (a.Key == "hidden" || a.Key == "class" && slices.Contains(strings.Fields(a.Val), "r")) {
			w.gap = w.gap || separators[n.Data]
			return
		}
	}
	if n.Type == html.ElementNode {
		switch n.Data {
		case "script", "template", "title", "head":
			w.gap = w.gap || separators[n.Data]
			return
		}
		w.gap = w.gap || separators[n.Data]
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		treeText(w, c)
	}
	if n.Type == html.ElementNode {
		w.gap = w.gap || separators[n.Data]
	}
}

// TestTree holds the text to that of the tree that x/net/html makes of a page.
func TestTree(t *testing.T) {
	m := removal(t, ".r")
	seeded.Check(t, func(t *rapid.T) {
		g := randomPage{T: t}
		g.b.WriteString("<!doctype html><title>T</title><body>")
		g.blocks(4)
		page := g.b.String()
		tree, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		var want loopText
		treeText(&want, tree)
		got, err := HTML([]byte(page), "text/html; charset=utf-8", Options{Removal: m})
		if err != nil || got.Text != string(want.b) {
			t.Fatalf("%s\n got %q\nwant %q\n%v", page, got.Text, want.b, err)
		}
		kept, err := HTML([]byte(page), "text/html; charset=utf-8", Options{Removal: m, KeepContent: true})
		if err != nil {
			t.Fatal(err)
		}
		if kept.Content != nil {
			// What is left has the same text, and nothing to remove.
			again, err := HTML(kept.Content, "text/html; charset=utf-8", Options{Removal: m, KeepContent: true})
			if err != nil || again.Text != got.Text || again.Content != nil {
				t.Fatalf("%s\ncontent %s\ntext %q, not %q\n%v", page, kept.Content, again.Text, got.Text, err)
			}
		}
	})
}
