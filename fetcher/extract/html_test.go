package extract

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

func read(t testing.TB, body, contentType string) Page {
	t.Helper()
	p, err := HTML([]byte(body), contentType, Options{Agent: "Sextant"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWholePage(t *testing.T) {
	got := read(t, `<!DOCTYPE html>
<html lang=" en-GB ">
<head>
<meta charset="utf-8">
<title> A page &amp;
 its  title </title>
<meta name="Description" content=" What it
 says ">
<meta property="og:title" content="Shared">
<meta name=robots content="NoFollow, unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noarchive">
<base href=" /base/ "><base href="/second/">
<link rel="canonical" href="https://a.test/">
<link rel="stylesheet" href="style.css">
<link rel="alternate" hreflang="de" href="/de">
<link rel="alternate" type="application/rss+xml" href="/feed">
<link rel="Next" href="?p=2">
</head>
<body>
<h1>Head<b>line</b></h1><p>One <a href=" x.html
">link</a>, <a rel="external NoFollow" href='y?a=1&amp;b=2'>another</a>
<a name=anchor>no link</a><a href="">empty</a>
<map><area href="area"></map><iframe src=frame.html>fallback</iframe>
<script>document.write('<a href="script">no</a>')</script><!-- <a href="comment">no</a> -->
</body></html>`, "text/html")
	want := Page{
		Title: "A page & its title", Text: "Headline One link, another no linkempty",
		Language: "en-GB", Charset: "utf-8", Base: "/base/", Canonical: "https://a.test/",
		Metas: []Meta{
			{"description", "What it says"}, {"og:title", "Shared"},
			{"robots", "NoFollow, unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noarchive"},
		},
		Links: []Link{
			{Href: "https://a.test/"}, {Href: "/de"}, {Href: "?p=2"}, {Href: "x.html"},
			{Href: "y?a=1&b=2", NoFollow: true}, {Href: "area"}, {Href: "frame.html"},
		},
		Robots: Directives{NoFollow: true, NoArchive: true, UnavailableAfter: "Friday, 25-Jun-10 15:00:00 UTC", UnavailableAt: june25(15)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestText(t *testing.T) {
	tests := []struct{ name, html, want string }{
		{"inline elements join", "a<b>b</b><span>c</span><x-y>d</x-y><a href=x>e</a>", "abcde"},
		{"blocks separate", "a<p>b</p>c<div>d</div>e<li>f<td>g<h2>h</h2>i", "a b c d e f g h i"},
		{"breaks and replaced elements", "a<br>b<hr>c<img src=x>d<input>e<br/>f", "a b c d e f"},
		{"a chance to break is no space", "a<wbr>b&shy;c", "abc"},
		{"white space", " \n a \t\u00a0 b&nbsp;\u3000c\r\n", "a b c"},
		{"entities", "&lt;b&gt; &eacute;&#x20AC;&#0;", "<b> é€\ufffd"},
		{"control characters", "a\x00b\x01c\x7fd", "ab c d"},
		{"no UTF-8", "\xc3\xa9 a\xff\xfeb", "é a\ufffd\ufffdb"},
		{"script and style", "a<script>x < y</script>b<style>p{}</style>c", "abc"},
		{"unclosed script", "a<script>b", "a"},
		{"title not in the text", "<title>t</title>a", "a"},
		{"noscript", "a<noscript>b<p>c</p></noscript>d", "ad"},
		{"template", "a<template><p>b<template>c</template>d</p></template>e", "ae"},
		{"hidden", "a<div hidden>b<div>c</div>d</div>e", "a e"},
		{"hidden with value", "a<span hidden=hidden>b</span>c<i hidden=until-found>d</i>", "acd"},
		{"hidden in upper case", "a<DIV CLASS=x HIDDEN>b</DIV>c", "a c"},
		{"hidden as a value", "a<div class=hidden title='&hidden'>b</div>c", "a b c"},
		{"hidden paragraph without end tag", "<div><p hidden>a<p>b</div>c", "b c"},
		{"hidden list entry without end tag", "<ul><li hidden>a<ul><li>b</ul><li>c</ul>d", "c d"},
		{"hidden cell", "<table><tr><td hidden>a<td>b<tr><td hidden>c</table>d", "b d"},
		{"hidden definition", "<dl><dt hidden>a<dd>b</dl>", "b"},
		{"hidden void element", "a<br hidden>b<input hidden>c", "a b c"},
		{"hidden, wrongly nested", "<div hidden><p>a</i></p></div>b", "b"},
		{"hidden inside the element that ends", "<div><span hidden>a</div>b", "b"},
		{"hidden body", "<body hidden>a", "a"},
		{"iframe fallback", "a<iframe>b</iframe>c", "a c"},
		{"textarea and button", "<textarea>a<b></textarea><button>b</button>", "a<b> b"},
		{"comment inside a word", "a<!-- x -->b", "ab"},
		{"noindex", "a<!--noindex-->b<p>c<!-- EndNoIndex -->d", "a d"},
		{"googleoff", "a<!--googleoff: index-->b<!--googleon: index-->c<!-- googleoff:all -->d<!--googleon: all-->e", "a c e"},
		{"other googleoff", "a<!--googleoff: anchor-->b<!--googleoff: snippet-->c", "abc"},
		{"noindex is not ended by googleon", "a<!--noindex-->b<!--googleon: all-->c<!--endnoindex-->d", "a d"},
		{"noindex to the end", "a<!--noindex-->b", "a"},
		{"svg", "a<svg><title>b</title><text>c</text></svg>d", "a c d"},
		{"cdata", "a<![CDATA[b]]>c", "ac"},
		{"svg style that ends itself", "<svg><style/><text>a</text></svg>b<style>c</style>", "a b"},
		{"svg style and script", "<svg><style>a</style><script>b</script><desc>c</desc><metadata>d</metadata><text>e</text></svg>f", "e f"},
		{"svg ended by html", "<svg><path><p>a<title/>b</title>c", "a c"},
		{"svg ended by the end of its block", "<div><svg><g></div><script>'<p>a'</script>b", "b"},
		{"html in svg", "<svg><foreignObject><p>a</p><style>b</style></foreignObject><text>c</text></svg>", "a c"},
		{"svg that ends itself", "a<svg/><style>b</style>c", "a c"},
		{"cdata in svg", "<svg><text><![CDATA[a<b>&amp;]]></text></svg><![CDATA[c]]>", "a<b>&amp;"},
		{"cdata in math", "<math><mi><![CDATA[a<b>]]></mi></math>", "a<b>"},
		{"noscript in a hidden element", "<p hidden>a<noscript><p>b</noscript>c</p>d", "d"},
		{"noscript that ends too early", "<noscript><div hidden></noscript>a", "a"},
		{"noscript without end", "a<noscript>b", "a"},
		{"plaintext", "a<plaintext>b</plaintext><p>", "a b</plaintext><p>"},
		{"xmp", "a<xmp><p>&amp;</xmp>b", "a <p>&amp; b"},
		{"only brackets", "a < b <3 </ > <", "a < b <3 <"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(t, tt.html, "text/html; charset=utf-8").Text; got != tt.want {
				t.Errorf("%s\n got %q\nwant %q", tt.html, got, tt.want)
			}
		})
	}
}

// TestBeyondASCII has much text that is written in the faster way, and then what may
// not be taken as it is: text of a valid page and of one that is not.
func TestBeyondASCII(t *testing.T) {
	words := strings.Repeat("\u0434\u0440\u0443\u0433\u043e\u0435 \u4e00\u4e01 ", 200)
	for in, want := range map[string]string{
		"a\u00a0b":                 "a b",
		"a\u0085b":                 "a b",
		"a\u00adb":                 "ab",
		"a\u1680b":                 "a b",
		"a\u2003\u2028b":           "a b",
		"a\u200bb":                 "a b",
		"a\u3000b":                 "a b",
		"a\ufeffb":                 "ab",
		"a\x7fb":                   "a b",
		"a\x00b":                   "ab",
		"\u00bf\u0e01\u3042\uff0c": "\u00bf\u0e01\u3042\uff0c",
		"a  b&amp;\n":              "a b&",
		"\U0001f600 \uffff":        "\U0001f600 \uffff",
	} {
		if got := read(t, words+in, "text/html; charset=utf-8").Text; got != words+want {
			t.Errorf("%q: got %q, want %q", in, got[len(words)-1:], want)
		}
		// A page with a wrong byte anywhere.
		if got := read(t, "\xff"+words+in+"<p>\xe6\x97", "text/html; charset=utf-8").Text; got != "\ufffd"+words+want+" \ufffd\ufffd" {
			t.Errorf("%q, wrong bytes: got %q, want %q", in, got[len(words)-1:], want)
		}
	}
}

func TestLinks(t *testing.T) {
	long := strings.Repeat("x", 4097)
	tests := []struct {
		name, html string
		want       []string
	}{
		{"hidden, noscript, noindex", `<p hidden><a href=1></a></p><noscript><a href=2></a></noscript><!--noindex--><a href=3></a>`, []string{"1", "2", "3"}},
		{"noframes", `<frameset><frame src=1><noframes><a href=2></a></noframes></frameset>`, []string{"1", "2"}},
		{"script, comment, style, template, title, textarea", `<script><a href=1></a></script><!--<a href=2>--><style><a href=3></style>
<template><a href=4></a></template><title><a href=5></title><textarea><a href=6></textarea>`, nil},
		{"after a template", `<template><div></template><a href=1>`, []string{"1"}},
		{"as written", `<a href="HTTP://A.test/%7e b">`, []string{"HTTP://A.test/%7e b"}},
		{"first of two", `<a href=1 href=2>`, []string{"1"}},
		{"upper case", `<A HREF=1><AREA HREF=2><IFRAME SRC=3></IFRAME><LINK REL=NEXT HREF=4>`, []string{"1", "2", "3", "4"}},
		{"not at the end of the page", `<a href=1><a href="2`, []string{"1"}},
		{"too long", `<a href=` + long + `><a href=` + long[1:] + `>`, []string{long[1:]}},
		{"no UTF-8", "<a href='\xff'>", []string{"\ufffd"}},
		{"control characters around", "<a href='\x01 1 \x1f'>", []string{"1"}},
		{"images and scripts", `<img src=1><script src=2></script><embed src=3><form action=4></form>`, nil},
		{"svg", `<svg><a href=1></a></svg>`, []string{"1"}},
		{"xlink in svg", `<svg><a xlink:href=1></a><a xlink:href=2 href=3></a><use xlink:href=4></use></svg><a xlink:href=5></a>`, []string{"1", "3"}},
		{"canonical in the body", `<p>x</p><link rel=canonical href=1>`, []string{"1"}},
		{"script in svg", `<svg><script><a href=1></a></script><a href=2></a></svg><script><a href=3></script>`, []string{"2"}},
		{"template in a hidden element", `<p hidden><template><a href=1></a></template><a href=2>`, []string{"2"}},
		{"references", `<a href="?a=1&amp;b=2&copy=3&lt;&#x41;">`, []string{"?a=1&b=2&copy=3<A"}},
		{"new line", "<a href='a\r\nb\rc'>", []string{"a\nb\nc"}},
		{"encoded space around", "<a href='&#32;1&#10;'>", []string{"1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, l := range read(t, tt.html, "text/html; charset=utf-8").Links {
				got = append(got, l.Href)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.html, d)
			}
		})
	}
}

func TestEmbedded(t *testing.T) {
	tests := []struct {
		name, html string
		want       []string
	}{
		{"images", `<img src=1 srcset="2 1x, 3 2x"><input type=IMAGE src=4><input type=text src=no>`, []string{"1", "2", "3", "4"}},
		{"picture", `<picture><source srcset="1, 2 100w"><img src=3></picture>`, []string{"1", "2", "3"}},
		{"srcset", `<img srcset=",, a,b 1x,c(1,2) 2x,&amp;d , e (x,y) 1w,f,">`, []string{"a,b", "c(1,2)", "&d", "e", "f"}},
		{"references once", `<img srcset="?a=1&amp;amp;b=2">`, []string{"?a=1&amp;b=2"}},
		{"media", `<video src=1 poster=2><track src=3></video><audio src=4></audio>`, []string{"1", "2", "3", "4"}},
		{"plug-ins", `<embed src=1><object data=2></object>`, []string{"1", "2"}},
		{"forms", `<form action=1><form method=GET action=2><form method=post action=no><form method="" action=3><form>`, []string{"1", "2", "3"}},
		{"links too", `<a href=1><img src=2></a>`, []string{"1", "2"}},
		{"no scripts and style sheets", `<script src=1></script><link rel=stylesheet href=2>`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := HTML([]byte(tt.html), "text/html; charset=utf-8", Options{Embedded: true})
			var got []string
			for _, l := range p.Links {
				got = append(got, l.Href)
			}
			if d := cmp.Diff(tt.want, got); err != nil || d != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tt.html, err, d)
			}
		})
	}
}

func TestHeadOnly(t *testing.T) {
	for _, tt := range []struct{ html, canonical, title, base, language string }{
		{`<link rel=canonical href=/1><link rel=canonical href=/2>`, "/1", "", "", ""},
		{`<p>x</p><link rel=canonical href=/1>`, "", "", "", ""},
		{`<head></head><link rel=canonical href=/1>`, "", "", "", ""},
		{`<link rel="shortlink CANONICAL" href=" /1 ">`, "/1", "", "", ""},
		{`<link rel=canonical href="">`, "", "", "", ""},
		{`<head><noscript><img src=x></noscript><link rel=canonical href=/1>`, "/1", "", "", ""},
		{`<head><noscript><iframe src=x></iframe></noscript><link rel=canonical href=/1>`, "/1", "", "", ""},
		{`<head><noscript><div><p>x<b>y</b></div></noscript><link rel=canonical href=/1>`, "/1", "", "", ""},
		{`<head><noframes><div></noframes><link rel=canonical href=/1>`, "/1", "", "", ""},
		{`<head><noscript><link rel=canonical href=/1></noscript>`, "", "", "", ""},
		{`<head><noscript><img></head><body><link rel=canonical href=/1>`, "", "", "", ""},
		{`<body><noscript><img></noscript><link rel=canonical href=/1>`, "", "", "", ""},
		{`<title>a</title><title>b</title>`, "", "a", "", ""},
		{`<svg><title>a</title></svg><title>b</title>`, "", "b", "", ""},
		{`<title>a<b>c</b>`, "", "a<b>c</b>", "", ""},
		{`<base target=x><base href=1><base href=2>`, "", "", "1", ""},
		{`<html xml:lang=fr><meta http-equiv=content-language content=de>`, "", "", "", "fr"},
		{`<meta http-equiv=Content-Language content=de>`, "", "", "", "de"},
		{`<meta http-equiv=Content-Language content="de, en">`, "", "", "", ""},
	} {
		p := read(t, tt.html, "text/html")
		if p.Canonical != tt.canonical || p.Title != tt.title || p.Base != tt.base || p.Language != tt.language {
			t.Errorf("%s: canonical %q, title %q, base %q, language %q", tt.html, p.Canonical, p.Title, p.Base, p.Language)
		}
	}
}

func TestMetas(t *testing.T) {
	got := read(t, `<meta name=A content=1><meta property=B content="&lt;2&gt;"><meta name=a content=3>
<meta name="both" property="p" content="4"><meta name=none><meta name="" content=5><meta name=empty content="">
<meta name=`+strings.Repeat("x", 300)+` content=6><meta http-equiv=x content=7>`, "text/html").Metas
	want := []Meta{{"a", "1"}, {"b", "<2>"}, {"a", "3"}, {"both", "4"}, {"p", "4"}, {"empty", ""}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRefresh(t *testing.T) {
	tests := []struct {
		content, target string
		seconds         int
	}{
		{"0;url=/a", "/a", 0},
		{"5; URL=/a", "/a", 5},
		{"5,/a", "/a", 5},
		{"5 /a", "/a", 5},
		{" 3.9 ; url = '/a b' x", "/a b", 3},
		{`0; url="/a`, "/a", 0},
		{".5; /a", "/a", 0},
		{"0; urls/a", "urls/a", 0},
		{"99999999999999999999; url=/a", "/a", maxRefresh},
		{"5", "", 0},
		{"5;", "", 0},
		{"5x/a", "", 0},
		{"-1; url=/a", "", 0},
		{"url=/a", "", 0},
		{"", "", 0},
	}
	for _, tt := range tests {
		p := read(t, `<meta http-equiv="Refresh" content="`+strings.ReplaceAll(tt.content, `"`, "&quot;")+`">`, "text/html")
		if p.Refresh != tt.target || p.RefreshAfter != tt.seconds {
			t.Errorf("%q: got %q after %d s, want %q after %d s", tt.content, p.Refresh, p.RefreshAfter, tt.target, tt.seconds)
		}
	}
	p := read(t, `<noscript><meta http-equiv=refresh content="0; /noscript"></noscript>
<meta http-equiv=refresh content=60><meta http-equiv=refresh content="1; /1"><meta http-equiv=refresh content="2; /2">`, "text/html")
	if p.Refresh != "/1" || p.RefreshAfter != 1 {
		t.Errorf("got %q after %d s", p.Refresh, p.RefreshAfter)
	}
}

func TestCharsets(t *testing.T) {
	const text = "Grüße: 日本"
	encode := func(s string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	latin := encode(charmap.Windows1252.NewEncoder().String("Grüße €"))
	utf16 := encode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text))
	sjis := encode(japanese.ShiftJIS.NewEncoder().String("日本"))
	cyrillic := encode(charmap.KOI8R.NewEncoder().String("Привет"))
	tests := []struct{ name, body, contentType, want, charset string }{
		{"byte order mark before header", "\ufeff" + text, "text/html; charset=iso-8859-1", text, "utf-8"},
		{"UTF-16 byte order mark", utf16, "text/html", text, "utf-16le"},
		{"header before meta", "<meta charset=utf-8>" + cyrillic, "text/html; charset=KOI8-R", "Привет", "koi8-r"},
		{"meta", "<meta charset=shift_jis>" + sjis, "text/html", "日本", "shift_jis"},
		{"meta http-equiv", `<meta http-equiv=content-type content="text/html; charset=koi8-r">` + cyrillic, "", "Привет", "koi8-r"},
		{"meta is believed", "<meta charset=windows-1252>é", "text/html", "Ã©", "windows-1252"},
		{"unknown charset in header", "<meta charset=koi8-r>" + cyrillic, "text/html; charset=x-none", "Привет", "koi8-r"},
		{"XML declaration", `<?xml version="1.0" encoding="KOI8-R"?>` + cyrillic, "application/xhtml+xml", "Привет", "koi8-r"},
		{"nothing said, UTF-8", text, "text/html", text, "utf-8"},
		{"nothing said, UTF-8 late", strings.Repeat(" ", 2000) + text, "", text, "utf-8"},
		{"nothing said, UTF-8 cut", strings.Repeat(" ", 2000) + text + "\xe6\x97", "", text + "\ufffd\ufffd", "utf-8"},
		{"nothing said, default", latin, "text/html", "Grüße €", "windows-1252"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := read(t, tt.body, tt.contentType)
			if p.Text != tt.want || p.Charset != tt.charset {
				t.Errorf("got %q in %s, want %q in %s", p.Text, p.Charset, tt.want, tt.charset)
			}
		})
	}
	p, err := Text([]byte(cyrillic+"\n <b> & "), "text/plain; charset=koi8-r")
	if d := cmp.Diff(Page{Text: "Привет <b> &", Charset: "koi8-r"}, p); err != nil || d != "" {
		t.Errorf("plain text: %v (-want +got):\n%s", err, d)
	}
}

func TestIsHTML(t *testing.T) {
	const xhtml = `<?xml version="1.0"?><!-- <x> --><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">`
	tests := []struct {
		contentType, body string
		want              bool
	}{
		{"text/html", "", true}, {"Text/HTML; charset=utf-8", "x", true}, {"text/html; charset=\"", "x", true},
		{"application/xhtml+xml", "", true}, {"text/plain", "<html>", false}, {"application/pdf", "<html>", false},
		{"", "<!DOCTYPE html>", true}, {"", " <p>", true}, {"", "text", false}, {"", "", false}, {"", xhtml, true},
		{"application/xml", xhtml, true}, {"text/xml", "<rss><html></html></rss>", false}, {"text/xml", "<htmlx>", false},
		{"text/xml", "<!-- ", false}, {"text/xml", "<", false}, {"*/*", "<html>", true}, {"image/svg+xml", xhtml, false},
	}
	for _, tt := range tests {
		if got := IsHTML(tt.contentType, []byte(tt.body)); got != tt.want {
			t.Errorf("%q, %q: %v", tt.contentType, tt.body, got)
		}
	}
}

func TestLimits(t *testing.T) {
	p := read(t, strings.Repeat("<a href=x>", maxLinks+10), "")
	if len(p.Links) != maxLinks || !p.LinksCut {
		t.Errorf("%d links, cut: %t", len(p.Links), p.LinksCut)
	}
	for body, cut := range map[string]bool{
		strings.Repeat("<a href=x>", 10): true, strings.Repeat("<a href=x>", 3): false, "<img srcset='a, b, c'>": false, "<img srcset='a, b, c, d'>": true,
	} {
		p, err := HTML([]byte(body), "", Options{MaxLinks: 3, Embedded: true})
		if err != nil || len(p.Links) != 3 || p.LinksCut != cut {
			t.Errorf("%s: %d links of 3, cut: %t, %v", body, len(p.Links), p.LinksCut, err)
		}
	}
	var b Builder
	for range maxLinks {
		b.Link("x")
	}
	if b.Page().LinksCut {
		t.Error("as many links as a document may have are cut")
	}
	b.Link("x")
	if p := b.Page(); !p.LinksCut || len(p.Links) != maxLinks {
		t.Errorf("%d links of a document, cut: %t", len(p.Links), p.LinksCut)
	}
	long := strings.Repeat("é", 100_000)
	p = read(t, "<title>"+long+"</title>"+strings.Repeat("<meta name=n content='"+long+"'>", 3)+
		strings.Repeat("<meta name=n content=x>", maxMetas), "text/html; charset=utf-8")
	if len(p.Title) != maxTitle || len(p.Metas) != maxMetas || len(p.Metas[0].Content) != maxMetaContent || !utf8.ValidString(p.Title) {
		t.Errorf("title of %d bytes, %d metas, the first of %d bytes", len(p.Title), len(p.Metas), len(p.Metas[0].Content))
	}
	if got := collapse([]byte("ab cde f"), 5); got != "ab cd" {
		t.Errorf("cut to %q", got)
	}
	if got := collapse([]byte("ab é"), 4); got != "ab" {
		t.Errorf("cut to %q", got)
	}
	p = read(t, strings.Repeat("<div hidden><b>", 200_000)+"x"+strings.Repeat("</b></div>", 200_000)+"<p>end", "")
	if !strings.HasSuffix(p.Text, "end") {
		t.Errorf("deep nesting lost the end: %.50q", p.Text)
	}
}

func TestGarbage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, 10<<20)
	alphabet := []byte("<>/=\"'!-& abhref\x00\xff\xc3\n")
	for i := range body {
		body[i] = alphabet[random.IntN(len(alphabet))]
	}
	p, err := HTML(body, "text/html; charset=utf-8", Options{})
	if err != nil || !utf8.ValidString(p.Text) {
		t.Fatalf("%v, valid UTF-8: %v", err, utf8.ValidString(p.Text))
	}
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{
		"", "<p hidden>a<p>b", "<template><template></template>", "<!--noindex-->x<!--endnoindex-->",
		"<meta http-equiv=refresh content='0;url=\"x'>", "<meta name=robots content='unavailable_after: a, b, noindex'>",
		"<svg><title>a</title></svg><title>b", "<noscript><a href=x>", "<meta charset=utf-16le>\xff", "\xff\xfe<\x00a\x00", "<?xml encoding='koi8-r'?><a href=\xc1>",
	} {
		f.Add([]byte(s), "text/html")
	}
	m := removal(f, "nav", ".r", "#x", "td", "x-y")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		if _, err := HTML(body, contentType, Options{Removal: m, Embedded: true, KeepContent: true}); err != nil {
			t.Fatal(err)
		}
		p, err := HTML(body, contentType, Options{Agent: "Sextant"})
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, "text", p.Text)
		checkText(t, "title", p.Title)
		for _, m := range p.Metas {
			checkText(t, "name", m.Name)
			checkText(t, "content", m.Content)
		}
		for _, l := range p.Links {
			if l.Href == "" || !utf8.ValidString(l.Href) || strings.Trim(l.Href, " \t\n") != l.Href {
				t.Errorf("link %q", l.Href)
			}
		}
		if p.RefreshAfter < 0 || p.RefreshAfter > maxRefresh {
			t.Errorf("refresh after %d", p.RefreshAfter)
		}
		IsHTML(contentType, body)
	})
}

func checkText(t *testing.T, what, s string) {
	t.Helper()
	if !utf8.ValidString(s) || strings.TrimSpace(s) != s || strings.Contains(s, "  ") || strings.ContainsAny(s, "\x00\n\t") {
		t.Errorf("%s %q", what, s)
	}
}

// samplePage returns a page of about 15 KiB as sites have them: head, navigation, text.
func samplePage() []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A sample page</title>
<meta name="description" content="A page to measure with"><link rel="canonical" href="https://www.example.com/sample">
<style>body{font-family:sans-serif}</style><script>var a = 1 < 2;</script></head><body><nav><ul>`)
	for i := range 20 {
		fmt.Fprintf(&b, `<li class="entry"><a href="/section/%d/index.html" class="nav-link" title="Section %d">Section %d</a></li>`+"\n", i, i, i)
	}
	b.WriteString("</ul></nav><main>")
	for i := 0; b.Len() < 15<<10; i++ {
		fmt.Fprintf(&b, "<h2 id=\"h%d\">Heading %d</h2>\n<p class=\"text\">Some words of <em>running</em> text, with an &amp; in it, as they "+
			"stand on pages that people read; long enough to be a paragraph of its own, and then a little longer than that.</p>\n", i, i)
	}
	b.WriteString("</main></body></html>")
	return []byte(b.String())
}
