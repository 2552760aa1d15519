package feeds

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

func readSitemap(t *testing.T, file string, o Options) ([]Entry, Summary, error) {
	t.Helper()
	var entries []Entry
	s, err := Sitemap(strings.NewReader(file), o, func(e Entry) error { entries = append(entries, e); return nil })
	return entries, s, err
}

func locs(entries []Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Loc)
	}
	return all
}

func TestSloppySitemaps(t *testing.T) {
	const urls = "<url><loc>http://a.test/1</loc></url><url><loc>http://a.test/2</loc></url>"
	both := []string{"http://a.test/1", "http://a.test/2"}
	tests := []struct {
		name, file string
		want       []string
		err        string // in words; empty: none
	}{
		{"plain", `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + urls + `</urlset>`, both, ""},
		{"no namespace", "<urlset>" + urls + "</urlset>", both, ""},
		{"wrong case", "<URLSET><Url><LOC>http://a.test/1</LOC></Url><url><loc>http://a.test/2</Loc></URL></urlSet>", both, ""},
		{"mark and blanks before", "\ufeff \n\n<?xml version='1.0'?>\n<urlset>" + urls + "</urlset>", both, ""},
		{"blanks before the mark's declaration", "\n<?xml version='1.0' encoding='utf-8'?><urlset>" + urls + "</urlset>", both, ""},
		{"text behind the root", "<urlset>" + urls + "</urlset>\n<!-- made in 3 s --> <script>x</script> & more", both, ""},
		{"no end", "<urlset>" + urls, both, "line 1, column 83: the file ends inside <urlset>"},
		{"cut inside a URL", "<urlset>" + urls + "\n<url><loc>http://a.test/3", both, "line 2, column 26: the file ends inside <loc>"},
		{"cut inside a tag", "<urlset>" + urls + "\n<ur", both, "line 2, column 4: the file ends inside the tag <ur>"},
		{"cut behind a URL", "<urlset><url><loc>http://a.test/1</loc>", both[:1], "the file ends inside <url>"},
		{"end tags that are missing", "<urlset><url><loc>http://a.test/1</loc><url><loc>http://a.test/2</loc></urlset>", both, ""},
		{"end tags too many", "<urlset></url></a>" + urls + "</urlset>", both, ""},
		{"an index without loc", "<sitemapindex><sitemap>\nhttp://a.test/1\n</sitemap><sitemap><loc>http://a.test/2</loc></sitemap></sitemapindex>", both, ""},
		{"CDATA and comments", "<urlset><url><loc><![CDATA[http://a.test/1]]></loc></url><!-- > <url><loc>x</loc></url> --><url><loc>http://a.<!-- -->test/2</loc></url></urlset>", both, ""},
		{"references", "<urlset><url><loc>http://a.test/?a&amp;b&#38;c&#x26;d&e&nbsp;&lt;</loc></url></urlset>", []string{"http://a.test/?a&b&c&d&e&nbsp;<"}, ""},
		{"prefixes", "<s:urlset xmlns:s='x'><s:url><s:loc>http://a.test/1</s:loc><image:image><image:loc>http://a.test/i</image:loc></image:image></s:url></s:urlset>", both[:1], ""},
		{"no loc", "<urlset><url><lastmod>2020</lastmod></url><url/><url></url></urlset>", nil, ""},
		{"two locs", "<urlset><url><loc>http://a.test/1</loc><loc>http://a.test/2</loc></url></urlset>", both[:1], ""},
		{"stray signs", "<urlset>a < b && <1 <url a=b c='>' d><loc>http://a.test/1</loc></url></urlset>", both[:1], ""},
		{"zero bytes", "<urlset><url><loc>http://a.\x00test/1</loc></url></urlset>", both[:1], ""},
		{"plain DOCTYPE", `<!DOCTYPE urlset SYSTEM "http://a.test/x.dtd"><urlset>` + urls + "</urlset>", both, ""},
		{"entities", "<?xml version='1.0'?>\n<!DOCTYPE urlset [<!ENTITY a 'b'>]><urlset>" + urls + "</urlset>", nil,
			"line 2, column 1: a DOCTYPE with internal declarations is not supported"},
		{"HTML", "<!doctype html><html><body>Not found", nil, "it is an HTML page, not a sitemap"},
		{"another root", "<opml/>", nil, "its outermost element is <opml>, not a sitemap"},
		{"nothing", "", nil, "neither XML nor a list"},
		{"words", strings.Repeat("No sitemap here.\n", 200), nil, "neither XML nor a list"},
		{"only a declaration", "<?xml version='1.0'?>", nil, "the file has no element"},
		{"a list", "\r\nhttp://a.test/1\r\n# a comment\r\n  HTTP://a.test/2\t\r\nftp://a.test/", []string{"http://a.test/1", "HTTP://a.test/2"}, ""},
		{"a list with a long line", "http://a.test/1\nhttp://a.test/" + strings.Repeat("x", 1<<20) + "\nhttp://a.test/2\n", both, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, s, err := readSitemap(t, tt.file, Options{})
			if d := cmp.Diff(tt.want, locs(entries)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if s.Entries != len(entries) {
				t.Errorf("%d entries are counted as %d", len(entries), s.Entries)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			var syntax *SyntaxError
			if err != nil && !errors.As(err, &syntax) {
				t.Errorf("%T is no SyntaxError", err)
			}
		})
	}
}

func TestEntry(t *testing.T) {
	const file = `<urlset xmlns:x="http://www.w3.org/1999/xhtml"><url>
		<x:link rel="alternate" hreflang="de" href="http://a.test/de?a&amp;b"/>
		<xhtml:link rel='ALTERNATE' href='/fr' /><x:link rel="alternate"/><x:link rel="canonical" href="/c"/>
		<loc>http://a.test/en</loc><lastmod>2026-02-03</lastmod><news:news><news:title>T</news:title><loc>http://a.test/no</loc></news:news>
	</url><url><loc>/b</loc><lastmod>soon</lastmod></url></urlset>`
	want := []Entry{
		{Loc: "http://a.test/en", LastMod: time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC), Day: true, Alternates: []string{"http://a.test/de?a&b", "/fr"}},
		{Loc: "/b"},
	}
	got, _, err := readSitemap(t, file, Options{})
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	index, _, err := readSitemap(t, "<sitemapindex><sitemap><lastmod>2026-02-03T04:05Z</lastmod><loc>http://a.test/s</loc></sitemap></sitemapindex>", Options{})
	want = []Entry{{Loc: "http://a.test/s", LastMod: time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC), Sitemap: true}}
	if d := cmp.Diff(want, index); d != "" || err != nil {
		t.Errorf("index: %v (-want +got):\n%s", err, d)
	}
	feed, s, err := readSitemap(t, "<rss><channel><item><link>http://a.test/1</link><pubDate>Tue, 03 Feb 2026 04:05:06 GMT</pubDate></item><item><title>no link</title></item></channel></rss>", Options{})
	want = []Entry{{Loc: "http://a.test/1", LastMod: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)}}
	if d := cmp.Diff(want, feed); d != "" || err != nil || s.Format != RSS {
		t.Errorf("%s: %v (-want +got):\n%s", s.Format, err, d)
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGzip(t *testing.T) {
	first, second := gzipped(t, "<urlset><url><loc>http://a.test/1</loc></url>"), gzipped(t, "<url><loc>http://a.test/2</loc></url></urlset>")
	for name, file := range map[string]string{"members": first + second, "garbage behind": first + second + "garbage"} {
		entries, _, err := readSitemap(t, file, Options{})
		if err != nil || len(entries) != 2 {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
	}
	entries, _, err := readSitemap(t, first+second[:len(second)-20], Options{})
	if err == nil || len(entries) == 0 || !strings.Contains(err.Error(), "reading stopped in the file") {
		t.Errorf("cut off: %d entries, %v", len(entries), err)
	}
	if _, _, err := readSitemap(t, "\x1f\x8bno", Options{}); err == nil || !strings.Contains(err.Error(), "gzip") {
		t.Errorf("no gzip: %v", err)
	}
}

func TestEncodings(t *testing.T) {
	const body = `<urlset><url><loc>http://a.test/grün</loc></url></urlset>`
	encode := func(s string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	utf16 := func(e unicode.Endianness, b unicode.BOMPolicy) string {
		return encode(unicode.UTF16(e, b).NewEncoder().String(body))
	}
	latin := encode(charmap.ISO8859_1.NewEncoder().String(body))
	for _, tt := range []struct{ name, file, contentType string }{
		{"utf-8", body, ""},
		{"utf-8 against its header", "<?xml version='1.0' encoding='UTF-8'?>" + body, "text/xml; charset=iso-8859-1"},
		{"declared", "<?xml version='1.0' encoding='iso-8859-1'?>" + latin, "text/xml; charset=utf-8"},
		{"by the header", latin, "text/xml; charset=iso-8859-1"},
		{"utf-16 with a mark", utf16(unicode.LittleEndian, unicode.UseBOM), ""},
		{"utf-16be with a mark", utf16(unicode.BigEndian, unicode.UseBOM), ""},
		{"utf-16 without", utf16(unicode.LittleEndian, unicode.IgnoreBOM), ""},
		{"utf-16be without", utf16(unicode.BigEndian, unicode.IgnoreBOM), ""},
		{"a declaration that lies", "<?xml version='1.0' encoding='utf-16'?>" + body, ""},
		{"unknown", "<?xml version='1.0' encoding='klingon'?>" + body, ""},
	} {
		entries, _, err := readSitemap(t, tt.file, Options{ContentType: tt.contentType})
		if d := cmp.Diff([]string{"http://a.test/grün"}, locs(entries)); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, d)
		}
	}
	entries, _, _ := readSitemap(t, latin, Options{})
	if d := cmp.Diff([]string{"http://a.test/gr\uFFFDn"}, locs(entries)); d != "" {
		t.Errorf("bad UTF-8 (-want +got):\n%s", d)
	}
}

func TestLimits(t *testing.T) {
	file := "<urlset>" + strings.Repeat("<url><loc>http://a.test/1</loc></url>", 1000) + "</urlset>"
	for _, tt := range []struct {
		name string
		file string
		o    Options
		n    int
		cut  string
	}{
		{"all", file, Options{MaxBytes: int64(len(file)), MaxEntries: 1000}, 1000, ""},
		{"entries", file, Options{MaxEntries: 999}, 999, "it has more than 999 entries"},
		{"bytes", file, Options{MaxBytes: 380}, 10, "it is larger than its limit"},
		{"bytes of gzip", gzipped(t, file), Options{MaxBytes: 380}, 10, "it is larger than its limit"},
		{"bytes before", file[:390], Options{Truncated: true}, 10, "it is larger than its limit"},
		{"bytes of gzip before", gzipped(t, file)[:60], Options{Truncated: true}, -1, "it is larger than its limit"},
		{"bytes of a list", "http://a.test/1\nhttp://a.test/12", Options{MaxBytes: 31}, 1, "it is larger than its limit"},
		{"bytes of a list before", "http://a.test/1\nhttp://a.test/1", Options{Truncated: true}, 1, "it is larger than its limit"},
		{"all of a list", "http://a.test/1\nhttp://a.test/12", Options{MaxBytes: 32}, 2, ""},
	} {
		entries, s, err := readSitemap(t, tt.file, tt.o)
		if err != nil || len(entries) != tt.n && tt.n >= 0 || s.Cut != tt.cut {
			t.Errorf("%s: %d entries, %q, %v", tt.name, len(entries), s.Cut, err)
		}
	}
	for half, n := range map[string]int{"<url>http://a.test/1": 0, "<url><loc>http://a.test/1": 0, "<url><loc>http://a.test/1</loc>": 1} {
		if entries, _, err := readSitemap(t, "<urlset>"+half, Options{}); err == nil || len(entries) != n {
			t.Errorf("%s: %v, %v", half, entries, err)
		}
	}
	stop := errors.New("stop")
	if _, err := Sitemap(strings.NewReader(file), Options{}, func(Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the caller's error became %v", err)
	}
}

// TestHostileSizes: what has no end costs no memory.
func TestHostileSizes(t *testing.T) {
	for name, tt := range map[string]struct{ begin, repeat, want string }{
		"elements inside each other": {"<urlset>", "<a>", "nested deeper than 256"},
		"a text":                     {"<urlset><url><loc>http://a.test/", "x", "ends inside <loc>"},
		"an attribute":               {`<urlset><url a="`, "x", "ends inside the tag <url>"},
		"attributes":                 {"<urlset><url ", "a=b ", "ends inside the tag <url>"},
		"a name":                     {"<urlset><", "x", "ends inside the tag <xxx"},
		"a comment":                  {"<urlset><!--", "x", "ends inside a comment"},
		"a CDATA section":            {"<urlset><url><![CDATA[", "]]", "ends inside a CDATA section"},
		"a declaration":              {"<!DOCTYPE ", "x", "ends inside a declaration"},
		"blanks":                     {"", " ", "neither XML nor a list"},
		"end tags":                   {"<urlset>", "</x>", "ends inside <urlset>"},
		"ampersands":                 {"<urlset><url><loc>", "&", "ends inside <loc>"},
	} {
		t.Run(name, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(tt.begin), io.LimitReader(&repeated{text: tt.repeat}, 2<<20))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Sitemap(in, Options{}, func(Entry) error { return nil })
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if size := after.TotalAlloc - before.TotalAlloc; size > 1<<20 && tt.repeat != "</x>" && tt.repeat != "a=b " {
				t.Errorf("%d bytes allocated", size) // these two allocate and let go
			}
		})
	}
}

// repeated is a text without end.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}
