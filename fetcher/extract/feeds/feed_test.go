package feeds

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func readFeed(t *testing.T, file string) ([]Item, Summary, error) {
	t.Helper()
	var items []Item
	s, err := Feed(strings.NewReader(file), Options{MaxEntries: 100}, func(i Item) error { items = append(items, i); return nil })
	return items, s, err
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestRSS(t *testing.T) {
	const file = `<?xml version="1.0"?>
<rss version="2.0" xmlns:c="http://purl.org/rss/1.0/modules/content/" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="m">
<channel><title>News &amp; more</title><language>en-gb</language><link>http://a.test/</link>
<atom:link rel="self" href="http://a.test/feed"/><image><title>Logo</title><link>http://a.test/logo</link></image>
<item><title>One</title><link> http://a.test/1 </link><media:title>no</media:title><atom:link href="http://a.test/no"/>
  <description>&lt;p&gt;Short &amp;amp; sweet&lt;/p&gt;</description><guid isPermaLink="true">http://a.test/guid</guid>
  <pubDate>Sat, 03 Jan 2026 10:00:00 +0100</pubDate><category>a</category><category>b</category>
  <enclosure url="http://a.test/1.mp3" length="1" type="audio/mpeg"/><author>x@a.test</author></item>
<item><guid>http://a.test/2</guid><title>Two</title><description>short</description><c:encoded><![CDATA[<p>Long<br>text</p>]]></c:encoded>
  <dc:date>2026-01-04T05:06:07Z</dc:date><dc:creator>Y</dc:creator></item>
<item><guid isPermaLink="false">http://a.test/3</guid><title>Three</title></item>
<item><guid>urn:4</guid><description>Only <b>markup</b> here</description></item>
<item/>
</channel></rss>`
	want := []Item{
		{
			Link: "http://a.test/1", Title: "One", Content: "<p>Short &amp; sweet</p>", HTML: true, Date: at(t, "2026-01-03T09:00:00Z"),
			Author: "x@a.test", Language: "en-gb", Categories: []string{"a", "b"}, Enclosures: []string{"http://a.test/1.mp3"},
		},
		{
			Link: "http://a.test/2", Title: "Two", Content: "<p>Long<br>text</p>", HTML: true, Date: at(t, "2026-01-04T05:06:07Z"),
			Author: "Y", Language: "en-gb",
		},
		{Title: "Three", Language: "en-gb"},
		{Content: "Only  markup  here", HTML: true, Language: "en-gb"},
	}
	got, s, err := readFeed(t, file)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if d := cmp.Diff(Summary{Format: RSS, Entries: 4, Title: "News & more", Language: "en-gb"}, s); d != "" {
		t.Errorf("summary (-want +got):\n%s", d)
	}
}

func TestRDF(t *testing.T) {
	const file = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:d="http://purl.org/dc/elements/1.1/">
<channel rdf:about="http://a.test/"><title>T</title><items><rdf:Seq><rdf:li resource="http://a.test/1"/></rdf:Seq></items></channel>
<item rdf:about="http://a.test/about"><title>One</title><link>http://a.test/1</link><d:date>2026-01-03</d:date></item>
<item rdf:about="http://a.test/2"><title>Two</title></item></rdf:RDF>`
	want := []Item{
		{Link: "http://a.test/1", Title: "One", Date: at(t, "2026-01-03T00:00:00Z")},
		{Link: "http://a.test/2", Title: "Two"},
	}
	got, s, err := readFeed(t, file)
	if d := cmp.Diff(want, got); d != "" || err != nil || s.Format != RDF || s.Title != "T" {
		t.Errorf("%+v, %v (-want +got):\n%s", s, err, d)
	}
}

func TestAtom(t *testing.T) {
	const file = `<a:feed xmlns:a="http://www.w3.org/2005/Atom" xml:base="http://b.test/x/" xml:lang="de"><a:title type="text">T</a:title>
<a:link href="http://a.test/"/>
<a:entry><a:title type="html">A &lt;b&gt;</a:title><a:link rel="edit" href="edit"/><a:link rel="alternate" type="application/json" href="1.json"/>
  <a:link rel="alternate" type="text/html" href="1"/><a:link href="other"/><a:link rel="enclosure" href="1.mp3"/>
  <a:id>urn:1</a:id><a:updated>2026-02-02T00:00:00Z</a:updated><a:published>2026-01-01T00:00:00Z</a:published>
  <a:summary>Sum</a:summary><a:author><a:name>N</a:name></a:author><a:category term="c"/>
  <a:content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Hello <b>you</b></p></div></a:content></a:entry>
<a:entry xml:base="y/" xml:lang="fr"><a:link href="2"/><a:updated>2026-02-02T00:00:00Z</a:updated><a:summary type="html">&lt;i&gt;S&lt;/i&gt;</a:summary></a:entry>
<a:entry><a:title>src</a:title><a:content src="http://c.test/3" type="text/html"/></a:entry>
<a:entry><a:title>bytes</a:title><a:content type="image/png">AAAA</a:content><a:link rel="related" href="no"/></a:entry>
</a:feed>`
	const base = "http://b.test/x/"
	want := []Item{
		{
			Link: "1", Base: base, Title: "A <b>", Content: "Hello  you", Date: at(t, "2026-01-01T00:00:00Z"), Author: "N", Language: "de",
			Categories: []string{"c"}, Enclosures: []string{"1.mp3"},
		},
		{Link: "2", Base: base + "y/", Content: "<i>S</i>", HTML: true, Date: at(t, "2026-02-02T00:00:00Z"), Language: "fr"},
		{Link: "http://c.test/3", Base: base, Title: "src", Language: "de"},
		{Base: base, Title: "bytes", Language: "de"},
	}
	got, s, err := readFeed(t, file)
	if d := cmp.Diff(want, got); d != "" || err != nil || s.Format != Atom || s.Title != "T" || s.Language != "de" {
		t.Errorf("%+v, %v (-want +got):\n%s", s, err, d)
	}
	for i, reference := range []string{base + "1", base + "y/2", "http://c.test/3", ""} {
		if r := got[i].Reference(); r != reference {
			t.Errorf("reference %d is %q, want %q", i, r, reference)
		}
	}
}

// TestAuthors: of a person only the name counts, or the address where there is none.
func TestAuthors(t *testing.T) {
	for author, want := range map[string]string{
		"<author><name>Jo  Doe</name><uri>http://a.test/jo</uri><email>jo@a.test</email></author>": "Jo Doe",
		"<author><email>jo@a.test</email><uri>http://a.test/jo</uri></author>":                     "jo@a.test",
		"<author><uri>http://a.test/jo</uri></author>":                                             "",
		"<author>jo@a.test (Jo <b>Doe</b>)</author>":                                               "jo@a.test (Jo Doe)",
		"<author><name>A</name></author><author><name>B</name></author>":                           "A",
		"<author><name/></author><dc:creator>C</dc:creator>":                                       "C",
	} {
		for _, file := range []string{"<feed><entry><title>t</title>" + author + "</entry></feed>", "<rss><item><title>t</title>" + author + "</item></rss>"} {
			items, _, err := readFeed(t, file)
			if err != nil || len(items) != 1 || items[0].Author != want {
				t.Errorf("%s: %+v, %v; want %q", file, items, err, want)
			}
		}
	}
}

// TestPrefixedRDF: RSS 1.0 whose own elements have a prefix.
func TestPrefixedRDF(t *testing.T) {
	for _, declared := range []string{`xmlns:rss="http://purl.org/rss/1.0/"`, `xmlns:RSS="http://my.netscape.com/rdf/simple/0.9/"`} {
		items, s, err := readFeed(t, `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" `+declared+`>
<rss:channel><rss:title>T</rss:title></rss:channel>
<rss:item rdf:about="http://a.test/1"><rss:title>One</rss:title><rss:link>http://a.test/1</rss:link></rss:item>
<item><title>Two</title><link>http://a.test/2</link></item></rdf:RDF>`)
		want := []Item{{Link: "http://a.test/1", Title: "One"}, {Link: "http://a.test/2", Title: "Two"}}
		if d := cmp.Diff(want, items); d != "" || err != nil || s.Title != "T" {
			t.Errorf("%+v, %v (-want +got):\n%s", s, err, d)
		}
	}
}

func TestBrokenFeeds(t *testing.T) {
	items, s, err := readFeed(t, "<rss><channel><item><link>http://a.test/1</link><title>One")
	if len(items) != 1 || s.Entries != 1 || err == nil || !strings.Contains(err.Error(), "line 1, column 59: the file ends inside <title>") {
		t.Errorf("%d items, %+v, %v", len(items), s, err)
	}
	for _, half := range []string{"<link>http://a.test/1", "<guid>http://a.test/1", "<link>http://a.test/<b>1"} {
		items, _, err := readFeed(t, "<rss><channel><item><title>One</title>"+half)
		if len(items) != 1 || items[0].Link != "" || err == nil {
			t.Errorf("%s: %+v, %v", half, items, err)
		}
	}
	for file, want := range map[string]string{
		"":                                "the file has no element",
		"<urlset/>":                       "its outermost element is <urlset>, not an RSS or Atom feed",
		"<!DOCTYPE rss [<!ENTITY a 'b'>]": "a DOCTYPE with internal declarations",
	} {
		if _, _, err := readFeed(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
	many := "<rss>" + strings.Repeat("<item><title>a</title></item>", 200) + "</rss>"
	if items, s, err := readFeed(t, many); len(items) != 100 || s.Cut != "it has more than 100 entries" || err != nil {
		t.Errorf("%d items, %+v, %v", len(items), s, err)
	}
}

func TestSniff(t *testing.T) {
	for file, want := range map[string]Format{
		"<rss/>": RSS, " <?xml version='1.0'?><!-- <feed> --><rdf:RDF>": RDF, "<feed": Unknown, "<feed>": Atom, "<atom:feed>": Atom,
		"<x:urlset>": URLSet, "<sitemapindex>": Index, "<html>": Unknown, "rss": Unknown, "": Unknown, "\x1f\x8b": Unknown,
	} {
		if got := Sniff([]byte(file), "text/xml"); got != want {
			t.Errorf("%q is %s, want %s", file, got, want)
		}
	}
	if got := Sniff([]byte(gzipped(t, "<urlset/>")), ""); got != URLSet {
		t.Errorf("a gzipped one is %s", got)
	}
}

func TestParseTime(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		day      bool
	}{
		{"2026", "2026-01-01T00:00:00Z", true},
		{"2026-03", "2026-03-01T00:00:00Z", true},
		{"2026-03-04", "2026-03-04T00:00:00Z", true},
		{"20260304", "2026-03-04T00:00:00Z", true},
		{" 2026-03-04\n", "2026-03-04T00:00:00Z", true},
		{"2026-03-04T05:06Z", "2026-03-04T05:06:00Z", false},
		{"2026-03-04T05:06:07Z", "2026-03-04T05:06:07Z", false},
		{"2026-03-04t05:06:07z", "2026-03-04T05:06:07Z", false},
		{"2026-03-04T05:06:07.5+01:00", "2026-03-04T04:06:07.5Z", false},
		{"2026-03-04T05:06:07+0100", "2026-03-04T04:06:07Z", false},
		{"2026-03-04T05:06:07-08", "2026-03-04T13:06:07Z", false},
		{"2026-03-04 05:06:07", "2026-03-04T05:06:07Z", false},
		{"2026-03-04 05:06:07 UTC", "2026-03-04T05:06:07Z", false},
		{"2026-03-04 05:06:07 +01:00", "2026-03-04T04:06:07Z", false},
		{"Wed, 04 Mar 2026 05:06:07 GMT", "2026-03-04T05:06:07Z", false},
		{"Wed, 4 Mar 2026 05:06 EST", "2026-03-04T10:06:00Z", false},
		{"4 Mar 26 05:06:07 +0200", "2026-03-04T03:06:07Z", false},
		{"04 March 2026", "2026-03-04T00:00:00Z", false},
	} {
		got, day, ok := ParseTime(tt.in)
		if !ok || got.Format(time.RFC3339Nano) != tt.want || day != tt.day {
			t.Errorf("%q is %s (day %v, ok %v), want %s (day %v)", tt.in, got.Format(time.RFC3339Nano), day, ok, tt.want, tt.day)
		}
	}
	for _, in := range []string{"", "soon", "0000-00-00", "2026-13-01", "2026-02-30", "0666-10-14", "12345-01-01", "2026-03-04T25:00Z", strings.Repeat("2", 100)} {
		if got, _, ok := ParseTime(in); ok {
			t.Errorf("%q is %s", in, got)
		}
	}
}
