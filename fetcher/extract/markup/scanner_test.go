package markup

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// token is what both tokenizers must agree on. What they may differ in is this, and
// nothing else:
//
//   - NUL and U+FFFD are left out: which of them, or none, a NUL becomes depends on the
//     state and on who asks, and no reader of text tells them apart (clean);
//   - consecutive texts are one (tokens.text);
//   - x/net/html replaces references in CDATA sections and comments, the standard
//     does not (reference, scannedIn);
//   - "</>" is an empty comment in both, and nothing in the standard;
//   - doctypes are not read;
//   - x/net/html leaves the escaped state of a script at a < that no letter or / follows,
//     the standard does not (leavesEscaped, TestScripts).
type token struct {
	Kind       string
	Data       string
	Attributes [][2]string
}

type tokens []token

func (ts *tokens) text(s string) {
	s = strings.NewReplacer("\x00", "", "\ufffd", "").Replace(s)
	if s == "" {
		return
	}
	if n := len(*ts); n > 0 && (*ts)[n-1].Kind == "text" {
		(*ts)[n-1].Data += s
		return
	}
	*ts = append(*ts, token{Kind: "text", Data: s})
}

// foreign follows which elements of SVG and MathML are open, so that both
// tokenizers are told the same about CDATA sections.
type foreign int

func (f *foreign) tag(name string, end bool) {
	if name != "svg" && name != "math" {
		return
	}
	if *f++; end {
		*f = max(*f-2, 0)
	}
}

func reference(page []byte) (ts tokens) {
	z := html.NewTokenizer(bytes.NewReader(page))
	var in foreign
	var content Tag // the element whose content may come next and is not markup
	for {
		z.AllowCDATA(in > 0)
		kind, before := z.Next(), content
		content = Other
		switch kind {
		case html.ErrorToken:
			return ts
		case html.TextToken:
			raw := string(z.Raw())
			if in > 0 && before == Other && strings.HasPrefix(raw, "<![CDATA[") {
				// x/net/html replaces references in CDATA sections; the standard does not.
				raw = strings.TrimSuffix(strings.TrimPrefix(raw, "<![CDATA["), "]]>")
				ts.text(newlines(raw))
				continue
			}
			ts.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			got := token{Kind: "start", Data: clean(t.Data)}
			for _, a := range t.Attr {
				got.Attributes = append(got.Attributes, [2]string{clean(a.Key), clean(a.Val)})
			}
			ts = append(ts, got)
			in.tag(t.Data, false)
			if tag := Lookup([]byte(t.Data)); tag.Is(Raw) {
				content = tag
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			in.tag(string(name), true)
			ts = append(ts, token{Kind: "end", Data: clean(string(name))})
		case html.CommentToken:
			if text := z.Text(); !bytes.HasPrefix(z.Raw(), []byte("</>")) {
				ts = append(ts, token{Kind: "comment", Data: clean(string(text))})
			}
		}
	}
}

func clean(s string) string { return strings.NewReplacer("\x00", "", "\ufffd", "").Replace(s) }

func newlines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func lowerCase(b []byte) string { return clean(asciiLower(b)) }

func asciiLower(b []byte) string {
	b = bytes.Clone(b)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 0x20
		}
	}
	return string(b)
}

func unescaped(b []byte) string {
	b = []byte(newlines(string(b)))
	var out []byte
	for i := 0; i < len(b); {
		if b[i] != '&' {
			out = append(out, b[i])
			i++
			continue
		}
		first, second, n := Reference(b[i:], false)
		out = utf8.AppendRune(out, first)
		if second != 0 {
			out = utf8.AppendRune(out, second)
		}
		i += n
	}
	return string(out)
}

// all returns the attributes of the present start tag, and panics where those that
// are known by name are others.
func (s *Scanner) all() (list [][2]string) {
	seen := map[string]bool{}
	known := *s
	_, i := s.Span()
	for {
		for class[s.page[i]]&betweenAttributes != 0 {
			i++
		}
		if i == s.pos-1 {
			break
		}
		name, _, value, next := attribute(s.page, i)
		i = next
		key := asciiLower(s.page[name.from:name.to])
		if seen[key] {
			continue
		}
		seen[key] = true
		raw := s.page[value.from:value.to]
		list = append(list, [2]string{lowerCase(s.page[name.from:name.to]), clean(string(AppendUnescaped(nil, raw)))})
		if n := slices.Index(attributeNames[:], key); n > 0 && (s.tag.Is(Attributed) || key == "hidden" || s.classes && (key == "class" || key == "id")) {
			if !known.Has(1<<n) || string(known.Value(Name(n))) != string(raw) {
				panic(fmt.Sprintf("%s is %q, not %q", key, known.Value(Name(n)), raw))
			}
			known.has &^= 1 << n
		} else if n > 0 {
			known.has &^= 1 << n // not promised
		}
	}
	if known.has != 0 {
		panic(fmt.Sprintf("attributes %b out of nothing", known.has))
	}
	return list
}

func scanned(page []byte) tokens { return scannedIn(string(page), Other) }

// scannedIn scans a page that begins in the content of an element.
func scannedIn(text string, raw Tag) (ts tokens) {
	page := []byte(text)
	s := NewScanner(page)
	s.raw = raw
	if len(page)%2 == 0 {
		s.ReadClasses()
	}
	var in foreign
	for {
		s.AllowCDATA(in > 0)
		switch s.Next() {
		case End:
			return ts
		case Text:
			if s.Literal() {
				ts.text(newlines(string(s.Data())))
			} else {
				ts.text(unescaped(s.Data()))
			}
		case StartTag:
			got := token{Kind: "start", Data: lowerCase(s.Data())}
			got.Attributes = s.all()
			ts = append(ts, got)
			in.tag(asciiLower(s.Data()), false)
		case EndTag:
			in.tag(asciiLower(s.Data()), true)
			ts = append(ts, token{Kind: "end", Data: lowerCase(s.Data())})
		case Comment:
			if !bytes.HasPrefix(page[max(s.start-2, 0):], []byte("</>")) {
				ts = append(ts, token{Kind: "comment", Data: clean(unescapedComment(s.Data()))})
			}
		}
	}
}

// unescapedComment does to a comment what x/net/html does, though there are no
// references in comments.
func unescapedComment(b []byte) string { return unescaped(b) }

// leavesEscaped are pages in which a script might have such a <.
var leavesEscaped = regexp.MustCompile(`(?is)<script.*<!--.*<[^a-z/]`)

// TestScripts has scripts, and their content by the standard (WHATWG HTML sections
// 13.2.5.4 and 13.2.5.15 to 13.2.5.31).
func TestScripts(t *testing.T) {
	for script, want := range map[string]string{
		"a</script>b":                                      "a",
		"<!--a</script>b":                                  "<!--a",
		"<!--<script>a</script>b</script>c":                "<!--<script>a</script>b",
		"<!--<<script>a</script>b</script>c":               "<!--<<script>a</script>b",
		"<!--<1<script/a</script>b</script>c":              "<!--<1<script/a</script>b",
		"<!--<!--<script>a</script>b</script>c":            "<!--<!--<script>a</script>b",
		"<!--<scriptx>a</script>b":                         "<!--<scriptx>a",
		"<!--<script><1</script>--></script>c":             "<!--<script><1</script>-->",
		"<!--<script>--><script></script>c":                "<!--<script>--><script>",
		"<!--<script>a":                                    "<!--<script>a",
		"<!--<script></script><script></script>a</script>": "<!--<script></script><script></script>a",
		"<!-->a</script>b":                                 "<!-->a",
		"<!--->a<script></script>b":                        "<!--->a<script>",
	} {
		s := NewScanner([]byte("<script>" + script))
		s.Next()
		if got := s.Next(); got != Text || string(s.Data()) != want {
			t.Errorf("%q: %q, want %q", script, s.Data(), want)
		}
	}
}

func compare(t *testing.T, page []byte) {
	t.Helper()
	before := bytes.Clone(page)
	got := scanned(page)
	if !bytes.Equal(before, page) {
		t.Fatalf("the page was changed: %q", before)
	}
	if diff := cmp.Diff(reference(page), got); diff != "" && !leavesEscaped.Match(page) {
		t.Errorf("%q (-x/net/html +ours):\n%s", page, diff)
	}
}

// samples are odd ends that the conformance data might lack.
func samples() []string {
	return []string{
		"", "<", "</", "<!", "<?", "a<", "a</", "<a", "<a ", "<a b", "<a b=", "<a b='", "<a b=c", "</a", "</>x", "</ x>y", "<!>", "<!a", "<!-->x", "<!--->x", "<!---->x",
		"<!--a--!>b", "<!--a--!-->b", "<!--a--!", "<!--a--", "<!--a-", "<!-- a -- b -->c", "<!doctype html>x", "<!DocType", "<!doct>", "<?xml ?>x",
		"<p a=1 A=2 b='x&amp;y' c=\"&lt\" d=&copy=1 e=&copy; =f / g/h=i j=>k", "<a href=a/>x", "<a/href=b>", "<a b='>'>x", "<a b=\">\">x", "<a b=c'>'>x",
		"<title>a<b>&amp;</title >c", "<textarea>x</TEXTAREA/y>z", "<style><a></style><a>", "<script>a<!--<script></script>--></script>b",
		"<script><!--<script >x</script>y</script>z", "<script><!-- </script>x", "<script><!--></script>x", "<script><!--a--></script>x", "<script><!--<script></script><script>--></script>b",
		"<script>x", "<script>x</scrip", "<script></script", "<plaintext>a<b></plaintext>", "<xmp><a></xmp><iframe><b></iframe><noscript><c></noscript><noembed><d></noembed><noframes><e></noframes>",
		"<svg><![CDATA[a<b>&amp;]]>c</svg><![CDATA[d]]>e", "<svg><![CDATA[]]>", "<math><![CDATA[a]]", "&amp&ampx&notin;&notit;&fjlig;&semi;&#0;&#128;&#x110000;&#xd800;&#;&#x;&;&unknown;&CounterClockwiseContourIntegral;",
		"a\r\nb\rc\x00d", "<scr\x00ipt>", "<a\x00b c\x00d=e\x00f>", "<H1>x</h1><H\x11>", "<blockquotes><figcaption>", "&#13;&#x80;&#x9f;&nbsp&nbsp;", "<a b=&ampx c=&amp d='&amp=' e=&notit; f=&fjlig;>",
	}
}

func TestSamples(t *testing.T) {
	for _, s := range samples() {
		compare(t, []byte(s))
	}
}

// conformance returns all inputs of html5lib-tests, as pages.
func conformance(tb testing.TB) (pages []string) {
	for _, s := range suites(tb) {
		for _, x := range s.Tests {
			pages = append(pages, x.Input, "<svg>"+x.Input)
			if x.LastStartTag != "" {
				pages = append(pages, "<"+x.LastStartTag+">"+x.Input)
			}
		}
		for _, x := range s.XMLViolationTests {
			pages = append(pages, x.Input)
		}
	}
	return pages
}

func TestConformance(t *testing.T) {
	pages := conformance(t)
	for _, p := range pages {
		compare(t, []byte(p))
	}
	t.Logf("%d pages", len(pages))
}

func FuzzScanner(f *testing.F) {
	for _, s := range samples() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) { compare(t, page) })
}

func TestNames(t *testing.T) {
	for tag := Other + 1; tag < Tags; tag++ {
		name := tag.String()
		if got := Lookup([]byte(strings.ToUpper(name))); got != tag || name == "" {
			t.Errorf("%q is found as %q", name, got)
		}
	}
	for n := noName + 1; n < names; n++ {
		name := n.String()
		page := []byte("x" + strings.ToUpper(name) + "=")
		from, key, _, _ := attribute(page, 1)
		if got := attributeTable.findIn(attributeNames[:], page, from, key); Name(got) != n || name == "" {
			t.Errorf("%q is found as %q", name, Name(got))
		}
	}
	for _, name := range []string{"", "x", "sc\x00ript", "h\x11", "\x01", "scriptx", "figcaptions", "blockquot\x85", "p\x00", "foreignobjecx"} {
		if got := Lookup([]byte(name)); got != Other {
			t.Errorf("%q is found as %q", name, got)
		}
	}
}

func TestReferences(t *testing.T) {
	for name := range strings.FieldsSeq(entityNames) {
		for _, text := range []string{"&" + name, "&" + name + "x", "&" + name + ";", "&" + strings.TrimSuffix(name, ";") + "="} {
			compare(t, []byte(text))
			compare(t, []byte("<a b='"+text+"'>"))
		}
	}
}
