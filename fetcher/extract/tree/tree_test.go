package tree

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const shop = `<!doctype html><title>Lamp</title>
<meta name="sku" content="A-1">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[
 {"@type":"BreadcrumbList","itemListElement":[{"@type":"ListItem","name":"Home"}]},
 {"@type":["Product","Thing"],"name":"Lamp","offers":[{"@type":"Offer","price":12.50,"priceCurrency":"EUR"},{"@type":"Offer","price":14,"priceCurrency":"USD"}],
  "brand":{"@type":"Brand","name":"Lux"},"inStock":true,"description":"two
lines"}]}</script>
<script type="application/ld+json">{"@type":"https://schema.org/Person","name":"Ann", broken</script>
<body><nav><a href=/a>A</a></nav>
<main><h1>The <b>Lamp</b></h1>
<p class="price">12,50&nbsp;€<script>x()</script></p><p class="price old">20 €</p><p class=price>12,50 €</p>
<ul><li>one<li>two<li>  </ul>
<table><tr><td>a</td><td>b</td></tr></table>
<img SRC="/lamp.png" alt=""><input name=q value="lamp"></main>`

func pick(t *testing.T, body string, p Pick) Picked {
	t.Helper()
	found, err := Read(t.Context(), &Order{ContentType: "text/html; charset=utf-8", Picks: []Pick{p}}, []byte(body))
	if err != nil || len(found.Picked) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	return found.Picked[0]
}

func TestPicks(t *testing.T) {
	for _, tt := range []struct {
		Pick
		want string
	}{
		{Pick{Select: "css:.price"}, "12,50 €"},
		{Pick{Select: "css:.price", Multiple: true}, "12,50 €|20 €"}, // each once
		{Pick{Select: "css:li", Multiple: true}, "one|two"},
		{Pick{Select: "css:main > h1, nav a", Multiple: true}, "A|The Lamp"},
		{Pick{Select: "css:table"}, "a b"},
		{Pick{Select: "css:img", Attribute: "Src"}, "/lamp.png"},
		{Pick{Select: "css:img", Attribute: "alt"}, ""},
		{Pick{Select: "css:.none"}, ""},
		{Pick{Select: "css:p:not(.old)", Multiple: true}, "12,50 €"},
		{Pick{Select: "xpath://main//p[2]"}, "20 €"},
		{Pick{Select: "xpath://main/img/@src"}, "/lamp.png"},
		{Pick{Select: "xpath://input", Attribute: "value"}, "lamp"},
		{Pick{Select: "xpath://td", Multiple: true}, "a|b"},
		{Pick{Select: "xpath:string(//h1)"}, "The Lamp"},
		{Pick{Select: "xpath:count(//td)"}, "2"},
		{Pick{Select: "xpath://a[contains(., 'A')]/@href"}, "/a"},
		{Pick{Select: "xpath://p[@class='price']/preceding-sibling::h1/text()"}, "The"},
		{Pick{Select: "xpath://li/following::td[1]"}, "a"},
		{Pick{Select: "xpath://comment()"}, ""},
		{Pick{Select: "jsonld:name"}, "Lamp"},
		{Pick{Select: "jsonld:Product/offers.price"}, "12.50"},
		{Pick{Select: "jsonld:Offer/price", Multiple: true}, "12.50|14"},
		{Pick{Select: "jsonld:Product/brand"}, "Lux"},
		{Pick{Select: "jsonld:Product/inStock"}, "true"},
		{Pick{Select: "jsonld:Product/description"}, "two lines"},
		{Pick{Select: "jsonld:ListItem/name"}, "Home"},
		{Pick{Select: "jsonld:Person/name"}, ""}, // broken
		{Pick{Select: "jsonld:Product/offers.none.price"}, ""},
	} {
		if got := pick(t, shop, tt.Pick); strings.Join(got.Values, "|") != tt.want || got.Failed != "" {
			t.Errorf("%+v: %q, %s; want %q", tt.Pick, got.Values, got.Failed, tt.want)
		}
	}
}

func TestLimits(t *testing.T) {
	got := pick(t, "<p>"+strings.Repeat("é", maxValueBytes), Pick{Select: "css:p"})
	if n := len(got.Values[0]); n > maxValueBytes || n < maxValueBytes-2 {
		t.Errorf("a value of %d bytes", n)
	}
	var list strings.Builder
	for i := range 3 * maxValues {
		list.WriteString("<li>" + strings.Repeat("x", i+1))
	}
	if got := pick(t, list.String(), Pick{Select: "css:li", Multiple: true}); len(got.Values) != maxValues {
		t.Errorf("%d values", len(got.Values))
	}
	nested := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	if got := pick(t, `<script type="application/ld+json">{"a":`+nested+`,"b":1}</script>`, Pick{Select: "jsonld:b"}); got.Failed != "" || got.Values[0] != "1" {
		t.Errorf("deep JSON: %+v", got)
	}
	if _, err := Read(t.Context(), &Order{}, []byte(strings.Repeat("<div>", 100_000))); err != ErrTooDeep { //nolint:errorlint // itself
		t.Errorf("a deep page: %v", err)
	}
}

// TestTimeEnds: what was found before the time ended is kept.
func TestTimeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found, err := Read(ctx, &Order{Picks: []Pick{{Select: "css:p"}, {Select: "xpath://p"}, {Select: "xpath:1 + 1"}}}, []byte("<p>a"))
	want := Found{Picked: []Picked{{Failed: Late}, {Failed: Late}, {Values: []string{"2"}}}}
	if err != nil || !cmp.Equal(found, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, found))
	}
}

func TestCharset(t *testing.T) {
	found, err := Read(t.Context(), &Order{ContentType: "text/html; charset=iso-8859-1", Picks: []Pick{{Select: "css:p"}}}, []byte("<p>caf\xe9"))
	if err != nil || found.Picked[0].Values[0] != "café" {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestParse(t *testing.T) {
	for written, want := range map[string]string{
		"css:.a > b": "", " xpath : //a ": "", "jsonld:a.b": "", "meta:OG:title": "", "header:X-A": "",
		".price":           "does not begin with css:, xpath:, jsonld:, meta:, header: or content:",
		"CSS:a":            "does not begin with",
		"css: ":            "has nothing after css: write a selector, such as css:.price",
		"meta:":            "has nothing after meta: write a name, such as meta:article:section",
		"css:a[":           "is not a CSS selector: ",
		"css:a::text":      `ends with ::text: omit it`,
		"css:a:nope":       "is not a CSS selector: ",
		"xpath://a[":       "is not an XPath 1.0 expression: ",
		"xpath:nope(1)":    "is not an XPath 1.0 expression: ",
		"content:markdown": "", "content:page/html": "", "content: main / text": "",
		"content:":           "has nothing after content: write a form, such as content:markdown",
		"content:md":         `has the unknown form of content "md": write content:text, content:markdown, content:html`,
		"content:site/text":  `has "site" before the /: write main or page`,
		"content:/text":      `has "" before the /: write main or page`,
		"css:a:not(.b":       "is not a CSS selector: a ) is missing at the end",
		"css:a[href":         "is not a CSS selector: a ] is missing at the end",
		"css:a]":             "is not a CSS selector: there is an unmatched ]: remove it",
		`css:a[href="b]`:     `is not a CSS selector: `,
		`xpath://a[.='\']`:   "",
		`css:a[b=")"]`:       "",
		`css:a\(b`:           "",
		"xpath:count(//a":    "is not an XPath 1.0 expression: a ) is missing at the end",
		"xpath://a]":         "is not an XPath 1.0 expression: there is an unmatched ]",
		"xpath://svg:a/b":    "is not an XPath 1.0 expression: the prefix of svg:a is not declared: elements of pages have no prefix; write a",
		"xpath://a[@x:href]": "is not an XPath 1.0 expression: the prefix of x:href is not declared: elements of pages have no prefix; write href",
		"xpath://a[. = 'b:c']/following-sibling::d": "",
		"xpath://child::a/attribute::*":             "",
		"jsonld:a[0]":                               `has "a[0]" in the place of a property name`,
		"jsonld:/a":                                 "has more than one type before a /",
		"jsonld:A/b/c":                              "has more than one type before a /",
		"jsonld:a..b":                               `has "" in the place`,
		"header:a b":                                "is not a header name",
		"header:set-cookie":                         "names cookies",
		"css:" + long:                               "is longer than 1000 bytes",
		"xpath:" + long + "(":                       "is longer than 1000 bytes",
	} {
		_, err := Parse(written)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", written, err, want)
		}
	}
	if s, _ := Parse("meta:OG:Title"); s.Kind != Meta || s.Name != "og:title" {
		t.Errorf("%+v", s)
	}
}

var long = strings.Repeat("(", 2000)

func TestFindsNothing(t *testing.T) {
	for _, tt := range []struct{ written, attribute, want string }{
		{"css:meta[name=sku]", "", `meta never contains text: write attribute="content", too`},
		{"css:main  IMG.big", "", `img never contains text: write attribute="src", too`},
		{"css:main > input", "", `input never contains text: write attribute="value", too`},
		{"css:a:hover", "", ":hover depends on user interaction and never matches: remove it"},
		{"css:a:not(:hover)", "", ""}, {"css:a:hover, b", "", ""},
		{"css:link", "href", ""},
		{"css:img", "alt", ""},
		{"css:.meta", "", ""}, {"css:metadata", "", ""}, {"css:img ~ p", "", ""}, {"css:img, p", "", ""},
		{"xpath://DIV/p", "", "element names are in lower case in a page's tree: write div"},
		{"xpath://div[@class='A']/p", "", ""}, {"xpath:string(//p)", "", ""},
		{"xpath://meta[@name='a']", "", `meta never contains text: write attribute="content", too, or /@content at the end`},
		{"xpath://meta[@name='a']/@content", "", ""},
		{"meta:a", "", ""},
	} {
		s, err := Parse(tt.written)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.FindsNothing(tt.attribute); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.written, got, tt.want)
		}
	}
}

// FuzzParse: no selector crashes its parser, or looking for it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"css:.a > b:nth-child(2n+1)", "xpath://a[1]/@b | //c", "xpath:count(//a) > 1", "jsonld:A/b.c", "meta:a", "header:a", "css:a:not(:has(b))"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, written string) {
		if _, err := Parse(written); err != nil {
			return
		}
		for _, attribute := range []string{"", "a"} {
			p := pick(t, "<a b=c>d</a><p>e", Pick{Select: written, Attribute: attribute, Multiple: true})
			if len(p.Values) > maxValues {
				t.Errorf("%d values", len(p.Values))
			}
		}
	})
}

// FuzzRead: no page crashes what looks through it, and values are bounded.
func FuzzRead(f *testing.F) {
	f.Add([]byte("<p class=a>b<table><td>c<svg><a>"))
	f.Add([]byte(`<script type="application/ld+json">[{"@graph":[{"a":{"b":[1]}}]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		o := Order{Picks: []Pick{
			{Select: "css:* > *", Multiple: true}, {Select: "xpath://*[text()]/@*", Multiple: true}, {Select: "jsonld:a.b"}, {Select: "jsonld:Product/name", Multiple: true},
		}}
		found, err := Read(t.Context(), &o, body)
		if err != nil {
			return
		}
		for _, p := range found.Picked {
			if p.Failed != "" || len(p.Values) > maxValues {
				t.Errorf("%+v", p)
			}
		}
	})
}
