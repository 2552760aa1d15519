package tree

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestNothingGetsThrough: what is written to get through comes out harmless, in each form.
func TestNothingGetsThrough(t *testing.T) {
	for _, body := range attacks {
		for _, form := range contentForms() {
			for _, value := range contentOf(t, body, "content:"+form, 0).Values {
				checkClean(t, form, value)
			}
		}
	}
}

var attacks = []string{
	`<script>alert(1)</script><SCRIPT SRC=//x/y.js></SCRIPT>`,
	`<img src=x onerror=alert(1)><svg onload=alert(1)><body onload=alert(1)>`,
	`<a href="javascript:alert(1)">a</a><a href=" JaVaScRiPt:alert(1)">b</a><a href="java&Tab;script:alert(1)">c</a><a href="&#1;javascript:alert(1)">d</a><a href="vbscript:x">e</a>`,
	`<a href="data:text/html;base64,PHNjcmlwdD4=">a</a><img src="javascript:alert(1)"><blockquote cite="javascript:x">q</blockquote>`,
	`<base href="javascript:alert(1)//"><a href="x">a</a>`,
	`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
	`<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>`,
	`<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>`,
	`<svg></p><style><a id="</style><img src=1 onerror=alert(1)>"></svg>`,
	`<textarea></textarea><img src=x onerror=alert(1)></textarea><xmp><img src=x onerror=y></xmp><plaintext><b onclick=x>`,
	`<p title="&quot;><script>x</script>">t</p><p lang='"><script>'>u</p>`,
	`<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;script&amp;gt;</p><code>&lt;script&gt;</code><pre>&lt;script&gt;</pre>`,
	`<p>[x](javascript:alert(1)) &lt;javascript:alert(1)&gt; [y]: javascript:alert(1)</p><p>[y]</p>`,
	`<p>[x]<b></b>(javascript:alert(1))</p><p>&lt;<i></i>script&gt;alert(1)&lt;/scr<i></i>ipt&gt;</p><p>![a]<span>(javascript:b)</span></p>`,
	`<img src="/a" alt="](x) <script>alert(1)</script> [y](javascript:alert(1))"><img src="/b" alt="x\" title='"<script>alert(1)</script>'>`,
	`<a href="http://h/)<script>alert(1)</script>">a</a><a href="/x y (z) <b>|&quot;" title=")[a](javascript:b)">b</a><a href="http://a/?q=)[x](javascript:alert(1))">c</a>`,
	"<pre>```\n</pre><p>&lt;script&gt;</p><pre><code class='language-x&#10;```&#10;<script>'>```\n~~~\n&lt;script&gt;</code></pre>",
	"<code>`</code><p>&lt;script&gt;`</p><code>a``b`</code>&lt;script&gt;``",
	`<table><tr><td>|<td>&lt;script&gt;|<tr><td>a<br>b<pre>&lt;script&gt;
c</pre></table>`,
	`<p>a</p>    &lt;script&gt; <li>&lt;script&gt;</li><h1>
&lt;script&gt;</h1><blockquote>&lt;script&gt;</blockquote>`,
	`<blockquote><pre>b

&lt;img src=x onerror=alert(1)&gt;</pre></blockquote>`,
	"<s><pre>a\n\n&lt;script&gt;alert(1)&lt;/script&gt;</pre></s>",
	`<code>a&#13;&#13;&lt;img src=x onerror=alert(1)&gt;</code>`,
	"<blockquote>~~~<br><pre>```\n~~~\n&lt;img src=x onerror=alert(1)&gt;</pre></blockquote>", // fences of text in quotes
	`<p>a | <code>x | &lt;img src=x onerror=alert(1)&gt;</code><br>--|--|--</p>`,              // a table that is none
	`<p>[x<br>](javascript:alert(1)) ![x<br>](javascript:alert(1)) [y<br>]: javascript:alert(1)</p>`,
	"<p>a\uF002\uF002~~~\uF002\a`&lt;b \a[x](javascript:alert(1)) \a\a<code>\uF002\uF002&lt;img src=x onerror=y&gt;</code>", // the converter's marks
	"<p>\uFDD00\uFDD1 \uFDD2\uFDD3x](javascript:alert(1))</p><code>\uFDD00\uFDD1&lt;img src=x onerror=y&gt;</code><img src='/a?\uFDD00\uFDD1\uF002' alt='\uFDD00\uFDD1\uF002\uF002'>",
}

// TestNoCodeGetsThrough: code stays code, or text, wherever it stands and whatever is in it.
func TestNoCodeGetsThrough(t *testing.T) {
	pages := 0
	for body := range hostileCode() {
		pages++
		got := contentOf(t, body, "content:markdown", 0)
		if len(got.Values) != 1 || !strings.Contains(got.Values[0], "onerror") {
			t.Fatalf("%q: %+v", body, got)
		}
		if checkClean(t, formMarkdown, got.Values[0]); t.Failed() {
			t.Fatalf("of %q", body)
		}
	}
	if pages < 5000 {
		t.Errorf("%d pages", pages)
	}
}

// hostileCode makes pages with code in all kinds of places.
func hostileCode() iter.Seq[string] {
	around := [][2]string{
		{"", ""}, {"<blockquote>", "</blockquote>"}, {"<ul><li>", "</ul>"}, {"<ol start=98><li>a<li>", "</ol>"}, {"<ul><li>text<br>", "</ul>"}, {"<ul><li><p>text</p>", "<li>x</ul>"},
		{"<s>", "</s>"}, {"<em>", "</em>"}, {"<b>x", "</b>"}, {"<a href=/x>", "</a>"}, {"<h2>", "</h2>"}, {"<h1>~~~<br>", "</h1>"}, {"<table><tr><th>a<th>", "<tr><td>b</table>"},
		{"<table><tr><td>a<td>", "</table>"}, {"<table><tr><td><ul><li>x</ul>", "</table>"}, {"<dl><dt>", "</dl>"}, {"<dl><dd>", "</dl>"}, {"<p>~~~<br>", "<br>~~~"}, {"<p>`", "`"}, {"<p>\\", "\\"},
		{"<p>a|b<br>-|-<br>", "|c"}, {"<p>- ", ""}, {"<p>1. ", ""}, {"<p>&amp;gt; ", ""}, {"<p>[", "<br>](javascript:x)"}, {"<p>&lt;!--", "--&gt;"}, {"<pre>", "</pre>"}, {"<code>", "</code>"}, {"<kbd>", "</kbd>"}, {"<details><summary>", "</details>"},
	}
	elements := [][2]string{{"<pre>", "</pre>"}, {"<pre><code class='language-x'>", "</code></pre>"}, {"<code>", "</code>"}, {"<samp>`", "`</samp>"}, {"<p>", "</p>"}}
	texts := []string{"a%[1]s%[1]s%[2]s", "```%[1]s%[2]s%[1]s~~~%[1]s%[2]s", "%[1]s%[1]s %[2]s``%[1]s", "> x%[1]s-|-%[1]s| %[2]s|%[1]s%[1]s    y"}
	lineEnds := []string{"\n", "&#13;", "&#13;\n", "\v", "\f", "&#x85;", "\u2028", "\u2029", "&#x1c;", "<br>", "\uF002"}
	const harm = "&lt;img src=x onerror=alert(1)&gt; [x](javascript:alert(1))"
	return func(yield func(string) bool) {
		for i, outer := range around {
			for j, inner := range around {
				for n, element := range elements {
					end := lineEnds[(i+j+n)%len(lineEnds)] // in two places one of the ends and texts, in one place all
					for m, text := range texts {
						for _, lineEnd := range lineEnds {
							if j > 0 && (lineEnd != end || m != (i+j/2)%len(texts)) {
								continue
							}
							if !yield(outer[0] + inner[0] + element[0] + fmt.Sprintf(text, lineEnd, harm) + element[1] + inner[1] + outer[1]) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// TestWall: where what is written could harm all the same, it is written with less form.
func TestWall(t *testing.T) {
	for _, tt := range []struct{ written, want string }{
		{"\uFDD00\uFDD1 *x*", "`<img src=x onerror=y>` *x*"},
		{"` \uFDD00\uFDD1 *x*", "` &#60;img src&#61;x onerror&#61;y&#62; *x*"}, // a span that begins before
		{"<script> *x*", "&#42;x&#42; &#60;img src&#61;x onerror&#61;y&#62; &#91;"},
		{"[a](javascript:x)", "&#42;x&#42; &#60;img src&#61;x onerror&#61;y&#62; &#91;"},
		{"[a]\n\n[a]: data:x", "&#42;x&#42; &#60;img src&#61;x onerror&#61;y&#62; &#91;"},
		{"<xx:y>", "&#42;x&#42; &#60;img src&#61;x onerror&#61;y&#62; &#91;"},
		{"<div\n", "&#42;x&#42; &#60;img src&#61;x onerror&#61;y&#62; &#91;"},
		{"a<br />[b](https://c/)![d](http://e/) mail me@example.com", "a<br />[b](https://c/)![d](http://e/) mail me@example.com"},
	} {
		k := keeper{codes: []code{{text: "<img src=x onerror=y>"}}}
		top := &html.Node{Type: html.DocumentNode}
		top.AppendChild(&html.Node{Type: html.TextNode, Data: "*x* \uFDD00\uFDD1 \uFDD3"})
		got := k.harmless(tt.written, top)
		if got != tt.want {
			t.Errorf("%q: %q; want %q", tt.written, got, tt.want)
		}
		checkClean(t, formMarkdown, got)
	}
}

// TestCodeKeepsItsForm: code is in a fence in lists and quotes, and has one line where there is but one.
func TestCodeKeepsItsForm(t *testing.T) {
	for body, want := range map[string]string{
		"<blockquote>q<pre>b\n\n&lt;i&gt;</pre>r</blockquote>":                    "> q\n> \n> ```\n> b\n> \n> <i>\n> ```\n> \n> r",
		"<ul><li>a<pre><code class=language-go>b\n\n`c`</code></pre></ul>":        "- a\n  \n  ```go\n  b\n  \n  `c`\n  ```",
		"<ol start=9><li>x<li><blockquote><pre>a\n```\nb</pre></blockquote></ol>": "09. x\n10. > ````\n    > a\n    > ```\n    > b\n    > ````",
		"<p>one <code>a\n\n&lt;b&gt;</code>, <kbd>`</kbd>.":                       "one `a <b>`, `` ` ``.",
		"<h2>T <pre>a\n\nb</pre></h2>":                                            "## T `a b`",
		"<table><tr><td>a<td><code>x</code><tr><td><code>a|b</code></table>":      "| a | `x` |\n|---|---|\n| a\\|b |  |",
		"<p>Home | [1] ~5 ~~~ x | y<p>-|-":                                        "Home | \\[1] \\~5 \\~\\~~ x | y\n\n-\\|-",
	} {
		if got := contentOf(t, body, "content:markdown", 0); got.Values[0] != want {
			t.Errorf("%q: %q; want %q", body, got.Values[0], want)
		}
	}
}

// FuzzContent: no page crashes what puts it into forms, or gets through it, and its length is bounded.
func FuzzContent(f *testing.F) {
	f.Add([]byte(guide), uint16(1000))
	several := 0
	for body := range hostileCode() {
		if several++; several%397 == 0 {
			f.Add([]byte(body), uint16(3000))
		}
	}
	for _, body := range attacks {
		f.Add([]byte(body), uint16(100))
	}
	f.Fuzz(func(t *testing.T, body []byte, limit uint16) {
		o := Order{ContentType: "text/html; charset=utf-8", Base: "https://shop.example/"}
		for _, form := range contentForms() {
			o.Picks = append(o.Picks, Pick{Select: "content:" + form, Bytes: int(limit) + 1})
		}
		found, err := Read(t.Context(), &o, body)
		if err != nil {
			return
		}
		for i, p := range found.Picked {
			for _, value := range p.Values {
				if len(value) > int(limit)+1 {
					t.Errorf("%d bytes", len(value))
				}
				checkClean(t, contentForms()[i], value)
			}
			if p.Failed != "" {
				t.Error(p.Failed)
			}
		}
	})
}
