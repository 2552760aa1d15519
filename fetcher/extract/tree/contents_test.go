package tree

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderer "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
)

const guide = `<!doctype html><html><head><title>Lamps</title><style>p{}</style><script>x()</script></head>
<body onload="x()"><nav><a href="/">Home</a></nav>
<form action=/buy><h1 id=top onclick="y()">The <em>lamp</em></h1>
<p style="color:red" class=big>It *is* <b>bright</b> &amp; <a href="../shop?a=1&b=2#x" onmouseover=z()>for sale</a>,
<a href="java&#10;script:alert(1)">not this</a><a href="data:text/html,x">or that</a> <a href="https://u:p@h/">nor</a>.<br>Second line.</p>
<input name=q value=secret><select><option>One</select><button>Buy</button>
<ul><li>one<ul><li>inner</ul><li>two</ul><ol start=3><li>three</ol>
<blockquote>Quoted</blockquote>
<pre><code class="hl language-go">if a &lt; b {
	c()
}</code></pre>
<table><tr><th>Name<th colspan=2>Price</tr><tr><td>a|b<td>1<td>2</table>
<img src=/i.png alt="A lamp"><img src="data:image/png;base64,AAAA" alt="inline">
<svg><script>1</script><text>svg</text></svg><math><mi>x</mi></math><iframe src=/f>no</iframe><noscript><p>off</p></noscript>
<template><p>hidden</p></template><custom-card>custom <span>text</span></custom-card></form></body></html>`

func contentOf(t *testing.T, body, selector string, limit int) Picked {
	t.Helper()
	found, err := Read(t.Context(), &Order{
		ContentType: "text/html; charset=utf-8", Base: "https://shop.example/lamps/one.html", Picks: []Pick{{Select: selector, Bytes: limit}},
	}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return found.Picked[0]
}

func TestContents(t *testing.T) {
	for selector, want := range map[string]string{
		"content:text": `Home

The lamp

It *is* bright & for sale, not thisor that nor.
Second line.

Buy

one

inner

two

three

Quoted

if a < b {
	c()
}

Name	Price
a|b	1	2

inline x custom text`,
		"content:markdown": "[Home](https://shop.example/)\n\n# The *lamp*\n\n" +
			"It \\*is* **bright** & [for sale](https://shop.example/shop?a=1&b=2#x), not thisor that nor.  \nSecond line.\n\nBuy\n\n" +
			"- one\n  \n  - inner\n- two\n\n3. three\n\n> Quoted\n\n```go\nif a < b {\n\tc()\n}\n```\n\n" +
			"| Name | Price |  |\n|---|---|---|\n| a\\|b | 1 | 2 |\n\n![A lamp](https://shop.example/i.png)inline x custom text",
		"content: page / html": `<nav><a href="https://shop.example/">Home</a></nav>
<h1>The <em>lamp</em></h1>
<p>It *is* <b>bright</b> &amp; <a href="https://shop.example/shop?a=1&amp;b=2#x">for sale</a>,
not thisor that nor.<br/>Second line.</p>
Buy
<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol start="3"><li>three</li></ol>
<blockquote>Quoted</blockquote>
<pre><code class="language-go">if a &lt; b {
	c()
}</code></pre>
<table><tbody><tr><th>Name</th><th colspan="2">Price</th></tr><tr><td>a|b</td><td>1</td><td>2</td></tr></tbody></table>
<img src="https://shop.example/i.png" alt="A lamp"/>inline
x
custom text`,
	} {
		got := contentOf(t, guide, selector, 0)
		if got.Failed != "" || got.Cut || len(got.Values) != 1 {
			t.Fatalf("%s: %+v", selector, got)
		}
		if d := cmp.Diff(want, blankLines.ReplaceAllString(got.Values[0], "\n")); d != "" && selector != "content:text" && selector != "content:markdown" {
			t.Errorf("%s (-want +got):\n%s", selector, d)
		} else if d := cmp.Diff(want, got.Values[0]); d != "" && !strings.Contains(selector, "html") {
			t.Errorf("%s (-want +got):\n%s", selector, d)
		}
	}
}

// blankLines are what white space between blocks leaves.
var blankLines = regexp.MustCompile(`\n\s*\n`)

// TestContentOf: a content is of what the document's text is of, unless it says of what.
func TestContentOf(t *testing.T) {
	article := "<nav>Menu here</nav><article><h1>Tides</h1><p>" + strings.Repeat("The tide comes twice a day, and the harbour waits for it. ", 15) + "</p><p>" +
		strings.Repeat("Boats lie on the ground, until it is back again. ", 15) + "</p></article>"
	for _, tt := range []struct {
		selector   string
		main       bool
		body       string
		menu, tide bool
	}{
		{"content:markdown", false, article, true, true},
		{"content:markdown", true, article, false, true},
		{"content:page/markdown", true, article, true, true},
		{"content:main/html", false, article, false, true},
		{"content:text", true, "<nav>Menu here</nav>", true, false}, // there is no main content
		{"content:main/text", false, "<script></script>", false, false},
	} {
		found, err := Read(t.Context(), &Order{Main: tt.main, Picks: []Pick{{Select: tt.selector}}}, []byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(found.Picked[0].Values, "")
		if strings.Contains(got, "Menu here") != tt.menu || strings.Contains(got, "The tide comes") != tt.tide {
			t.Errorf("%s, main %v: %+v", tt.selector, tt.main, found.Picked[0])
		}
	}
}

// TestContentIsBounded: no content is longer than it may be, whatever is in the page; what is cut
// is whole to its end.
func TestContentIsBounded(t *testing.T) {
	for name, body := range hostilePages() {
		for _, form := range contentForms() {
			for _, limit := range []int{100, 50_000} {
				got := contentOf(t, body, "content:"+form, limit)
				if got.Failed != "" {
					t.Errorf("%s as %s: %s", name, form, got.Failed)
				}
				for _, value := range got.Values {
					if len(value) > limit || !utf8.ValidString(value) {
						t.Errorf("%s as %s: %d bytes of %d, valid %v", name, form, len(value), limit, utf8.ValidString(value))
					}
					checkClean(t, form, value)
				}
			}
		}
	}
	got := contentOf(t, "<ul><li>"+strings.Repeat("é", 100), "content:html", 60)
	if want := "<ul><li>" + strings.Repeat("é", 20) + "</li></ul>"; !got.Cut || got.Values[0] != want {
		t.Errorf("%+v; want %q", got, want)
	}
	got = contentOf(t, strings.Repeat("<p>line of text</p>", 10), "content:markdown", 60)
	if want := "line of text\n\nline of text\n\nline of text"; !got.Cut || got.Values[0] != want {
		t.Errorf("%+v; want %q", got, want)
	}
}

// TestCutCode: a cut opens nothing that was closed, such as code whose tags would then be a page's.
func TestCutCode(t *testing.T) {
	body := "<p>" + strings.Repeat("<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>** ", 10)
	for limit := 20; limit < 300; limit++ {
		for _, value := range contentOf(t, body, "content:markdown", limit).Values {
			if checkClean(t, formMarkdown, value); len(value) > limit {
				t.Errorf("%d bytes of %d", len(value), limit)
			}
		}
	}
}

// TestTableThatGrows: a table whose rows would be filled up without end is written without its form.
func TestTableThatGrows(t *testing.T) {
	got := contentOf(t, "<table><tr>"+strings.Repeat("<td>a", 500)+strings.Repeat("<tr><td>b<td>c", 500)+"</table><table><tr><td>d<td>e<tr><td>f</table>", "content:markdown", 0)
	if got.Cut || !strings.Contains(got.Values[0], "b c\n") || !strings.HasSuffix(got.Values[0], "| d | e |\n|---|---|\n| f |  |") {
		t.Errorf("%.100q ... %.100q", got.Values[0], got.Values[0][len(got.Values[0])-100:])
	}
}

// TestContentsTogether: the contents of a page are bounded together, as they are one answer.
func TestContentsTogether(t *testing.T) {
	body := []byte("<p>" + strings.Repeat("words ", 1<<19))
	o := Order{}
	for range 6 {
		o.Picks = append(o.Picks, Pick{Select: "content:text", Bytes: 4 << 20})
	}
	found, err := Read(t.Context(), &o, body)
	if err != nil {
		t.Fatal(err)
	}
	total, cut := 0, 0
	for _, p := range found.Picked {
		total += len(strings.Join(p.Values, ""))
		if p.Cut {
			cut++
		}
	}
	if total > maxContents || total < maxContents/2 || cut != 4 {
		t.Errorf("%d bytes, %d cut", total, cut)
	}
}

// hostilePages are pages that are large, deep, or grow when they are written in another form.
func hostilePages() map[string]string {
	pages := map[string]string{
		"spans":       "<table>" + strings.Repeat(`<tr><td colspan=1000 rowspan=65534>a</td><td colspan=999999999 rowspan=999999999>b</td></tr>`, 300),
		"long cell":   "<table><tr><td>" + strings.Repeat("x", 50_000) + strings.Repeat("<tr><td>y</td></tr>", 1000),
		"uneven rows": "<table><tr>" + strings.Repeat("<td>a", 1500) + strings.Repeat("<tr><td>b", 1500),
		"entities":    strings.Repeat("&NotNestedGreaterGreater;&amp;&lt;&#x1F600;&bogus;", 3000),
		"specials":    strings.Repeat("*_`[](#<>|\\~+-", 3000),
		"fences":      "<pre><code>" + strings.Repeat("`", 50_000) + "</code></pre>" + strings.Repeat("<code>`</code>", 3000),
		"siblings":    strings.Repeat("<hr><br>", 10_000),
		"addresses":   strings.Repeat("<a href='"+strings.Repeat("%zz(", 500)+"'>x</a><img src='"+strings.Repeat("/..", 500)+"'>", 50),
		"long alt":    `<img src="/a" alt="` + strings.Repeat("[", 100_000) + `">`,
		"not UTF-8":   strings.Repeat("\xff\xfe<p title=\xff>\xc3", 1000),
	}
	for _, name := range []string{"blockquote", "ul><li", "ol><li", "div", "b", "em", "a href=x", "table><tr><td", "dl><dd", "pre", "h1", "span", "details", "q", "section", "del", "figure"} {
		element := "<" + name + ">"
		depth := 500 / strings.Count(element, "<")
		if strings.HasPrefix(name, "table") {
			depth = 100 // with the tbody that the parser adds
		}
		pages["nested "+name] = strings.Repeat(element+"x ", depth) + strings.Repeat("y<br>\n", 300)
	}
	return pages
}

// checkClean: nothing in a content runs, loads by itself or is sent anywhere.
func checkClean(t *testing.T, form, value string) {
	t.Helper()
	switch form {
	case formText:
		return
	case formMarkdown:
		for _, reader := range []goldmark.Markdown{
			goldmark.New(goldmark.WithRendererOptions(renderer.WithUnsafe())),
			goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithRendererOptions(renderer.WithUnsafe())),
		} {
			var b strings.Builder
			if err := reader.Convert([]byte(value), &b); err != nil {
				t.Fatal(err)
			}
			checkCleanHTML(t, form, b.String())
		}
		return
	}
	checkCleanHTML(t, form, value)
}

func checkCleanHTML(t *testing.T, form, value string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(value))
	if err != nil && strings.Contains(err.Error(), "512") { // Markdown can nest, too
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data == "html" || n.Data == "head" || n.Data == "body" || n.Data == "colgroup" {
			continue
		}
		if _, ok := copied(n.Data); !ok || n.Namespace != "" {
			t.Fatalf("%s: an element %s in %.300q", form, n.Data, value)
		}
		for _, a := range n.Attr {
			scheme, _, _ := strings.Cut(a.Val, ":")
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "id" && form == formHTML:
				t.Fatalf("%s: an attribute %s in %.300q", form, a.Key, value)
			case a.Key != "href" && a.Key != "src" && a.Key != "cite":
			case !slices.Contains([]string{"http", "https", "mailto", "tel"}, scheme):
				t.Fatalf("%s: %s=%q in %.300q", form, a.Key, a.Val, value)
			}
		}
	}
}
