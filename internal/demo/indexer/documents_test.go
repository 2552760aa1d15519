package indexer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

// stored is what /documents shows.
type stored struct {
	Connector, URL, Stamp, Title, Text, Source string
	ContentType                                string `json:"content_type"`
	Metas                                      map[string][]string
}

func (c *client) document(uri string) stored {
	c.t.Helper()
	code, body, _ := c.do(http.MethodGet, c.address+"/documents?"+one("url", uri).Encode(), "", nil)
	c.must(code, body)
	var d stored
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		c.t.Fatal(err)
	}
	return d
}

func TestADocumentWithEveryPart(t *testing.T) {
	c := open(t, indexer.Settings{})
	html := "<html><head><title>Caf\xe9 &amp; bar</title><style>p{}</style></head><body><p>Gr<b>un</b>d</p><p>second<script>var x='<p>'</script> caf\xe9"
	c.must(c.add(
		part{"PAPI_d-1:part_bytes:master", html, "text/html"},
		part{"PAPI_d-1:meta:author", "Jane", ""},
		part{"PAPI_d-1:meta:author", "Joe", ""},
		part{"PAPI_d-1:meta:source", "intranet", ""},
		part{"PAPI_d-1:meta:a:b", "colons", ""},
		part{"PAPI_d-1:part_directive:master:encoding", "ISO-8859-1", ""},
		part{"PAPI_d-1:part_directive:master:filename", "x.html", ""},
		part{"PAPI_d-1:part_directive:master:mimeHint", "text/html", ""},
		part{"PAPI_d-1:directive:datamodel_class", "document", ""},
		part{"PAPI_d-1:stamp", "s1", ""},
		part{"PAPI_d-1:uri", "http://a/1", ""},
	))
	c.sync()
	want := stored{
		Connector: "web", URL: "http://a/1", Stamp: "s1", Title: "Café & bar", Text: "Grund second café", Source: "intranet",
		ContentType: "text/html", Metas: map[string][]string{"author": {"Jane", "Joe"}, "source": {"intranet"}, "a:b": {"colons"}},
	}
	if diff := cmp.Diff(want, c.document("http://a/1")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestTextByContentType(t *testing.T) {
	tests := []struct{ contentType, body, title, text string }{
		{"text/plain", "a <b> &amp; \n c", "", "a <b> &amp; \n c"},
		{"text/plain; charset=windows-1252", "\x80 5", "", "€ 5"},
		{"text/plain; charset=utf-8", "x\xffy", "", "x\uFFFDy"},
		{"text/plain; charset=klingon", "plain", "", "plain"},
		{"TEXT/HTML; charset=utf-8", "<title>T</title><p>a<p>b", "T", "a b"},
		{"application/xhtml+xml", "<p>x<br/>y</p>", "", "x y"},
		{"text/html", "<p>&lt;script&gt;", "", "<script>"},
		{"text/html", "<", "", "<"},
		{"text/html", "", "", ""},
		{"application/pdf", "%PDF-1.7 secret", "", ""},
		{"nonsense///", "secret", "", ""},
		{"", "secret", "", ""},
	}
	c := open(t, indexer.Settings{})
	for i, tt := range tests {
		c.must(c.add(part{"PAPI_1:uri", fmt.Sprintf("http://a/%d", i), ""}, part{"PAPI_1:part_bytes:master", tt.body, tt.contentType}))
	}
	c.sync()
	for i, tt := range tests {
		got := c.document(fmt.Sprintf("http://a/%d", i))
		if got.Title != tt.title || got.Text != tt.text {
			t.Errorf("%s %q: title %q text %q, want %q %q", tt.contentType, tt.body, got.Title, got.Text, tt.title, tt.text)
		}
	}
}

func TestDocumentsOfARequestAreTakenInOrder(t *testing.T) {
	c := open(t, indexer.Settings{})
	first, second := page("1", "http://a/same", "first"), page("2", "http://a/same", "second")
	// Parts of two documents may be mixed; the order is that of the first parts.
	c.must(c.add(first[0], second[0], second[1], first[1], second[2], first[2]))
	c.sync()
	if got := c.document("http://a/same").Text; got != "second" {
		t.Errorf("text %q, want that of the second", got)
	}
}

func TestRefusedParts(t *testing.T) {
	uri := part{"PAPI_1:uri", "http://a/1", ""}
	tests := map[string]struct {
		parts []part
		words string
	}{
		"unknown field":         {[]part{uri, {"PAPI_1:colour", "x", ""}}, `PAPI_1:colour`},
		"unknown directive":     {[]part{uri, {"PAPI_1:part_directive:master:colour", "x", ""}}, `part_directive:master:colour`},
		"other part":            {[]part{uri, {"PAPI_1:part_bytes:second", "x", ""}}, `part_bytes:second`},
		"no prefix":             {[]part{uri, {"file", "x", ""}}, `\"file\"`},
		"no id":                 {[]part{{"PAPI_:uri", "http://a/1", ""}}, `PAPI_:uri`},
		"no field":              {[]part{uri, {"PAPI_1", "x", ""}}, `PAPI_1`},
		"nameless":              {[]part{uri, {"", "x", ""}}, `part \"\"`},
		"nameless meta":         {[]part{uri, {"PAPI_1:meta:", "x", ""}}, `PAPI_1:meta:`},
		"no uri":                {[]part{{"PAPI_1:meta:a", "x", ""}}, "no uri"},
		"one of two without":    {[]part{uri, {"PAPI_2:stamp", "x", ""}}, "no uri"},
		"two uris":              {[]part{uri, uri}, "twice"},
		"two bodies":            {[]part{uri, {"PAPI_1:part_bytes:master", "x", ""}, {"PAPI_1:part_bytes:master", "x", ""}}, "twice"},
		"two stamps":            {[]part{uri, {"PAPI_1:stamp", "", ""}, {"PAPI_1:stamp", "", ""}}, "twice"},
		"two encodings":         {[]part{uri, {"PAPI_1:part_directive:master:encoding", "", ""}, {"PAPI_1:part_directive:master:encoding", "", ""}}, "twice"},
		"empty uri":             {[]part{{"PAPI_1:uri", "", ""}}, "empty"},
		"NUL in uri":            {[]part{{"PAPI_1:uri", "http://a/\x00", ""}}, "control"},
		"newline in uri":        {[]part{{"PAPI_1:uri", "http://a/\n", ""}}, "control"},
		"long uri":              {[]part{{"PAPI_1:uri", "http://a/" + strings.Repeat("x", 40_000), ""}}, "longer"},
		"uri not UTF-8":         {[]part{{"PAPI_1:uri", "http://a/\xff", ""}}, "UTF-8"},
		"meta not UTF-8":        {[]part{uri, {"PAPI_1:meta:a", "\xff", ""}}, "UTF-8"},
		"meta name not UTF-8":   {[]part{uri, {"PAPI_1:meta:\xff", "x", ""}}, "part"},
		"huge meta":             {[]part{uri, {"PAPI_1:meta:a", strings.Repeat("x", 2<<20), ""}}, "longer"},
		"markup in a part name": {[]part{uri, {"<b>&amp;", "x", ""}}, "&lt;b&gt;"},
	}
	c := open(t, indexer.Settings{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, body := c.add(tt.parts...)
			if code != 400 {
				t.Fatalf("%d %s", code, body)
			}
			if message := checkErrorBody(t, code, body); !strings.Contains(body, strings.ReplaceAll(tt.words, `\"`, "&#34;")) {
				t.Errorf("message %q, want %q in it", message, tt.words)
			}
		})
	}
	c.sync()
	if n := c.count(); n != "0" {
		t.Errorf("%s documents of refused requests", n)
	}
}

func TestBrokenMultipart(t *testing.T) {
	c := open(t, indexer.Settings{})
	contentType, whole := form(t, page("1", "http://a/1", "text")...)
	tests := map[string]struct {
		contentType string
		body        []byte
	}{
		"no content type":   {"", whole},
		"not a form":        {"application/json", whole},
		"mixed":             {strings.Replace(contentType, "form-data", "mixed", 1), whole},
		"no boundary":       {"multipart/form-data", whole},
		"other boundary":    {"multipart/form-data; boundary=other", whole},
		"empty":             {contentType, nil},
		"end only":          {contentType, whole[bytes.LastIndex(whole, []byte("\r\n--"))+2:]},
		"endless preamble":  {contentType, bytes.Repeat([]byte("x"), 1<<20)},
		"header without :":  {contentType, bytes.Replace(whole, []byte("Disposition:"), []byte("Disposition"), 1)},
		"endless header":    {contentType, bytes.Replace(whole, []byte("form-data"), bytes.Repeat([]byte("form-data"), 1_300_000), 1)},
		"many header lines": {contentType, bytes.Replace(whole, []byte("\r\n\r\n"), []byte("\r\n"+strings.Repeat("A: b\r\n", 50_000)+"\r\n"), 1)},
	}
	for cut := 1; cut < len(whole)-4; cut += 13 {
		tests[fmt.Sprintf("cut at %d", cut)] = struct {
			contentType string
			body        []byte
		}{contentType, whole[:cut]}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, body, _ := c.do(http.MethodPost, c.url("add_documents", nil), tt.contentType, bytes.NewReader(tt.body))
			if code != 400 {
				t.Fatalf("%d %s", code, body)
			}
			checkErrorBody(t, code, body)
		})
	}
	c.sync()
	if n := c.count(); n != "0" {
		t.Errorf("%s documents of broken requests", n)
	}
}

func TestHostileSizes(t *testing.T) {
	c := open(t, indexer.Settings{MaxParts: 110_000})
	metas := []part{{"PAPI_1:uri", "http://a/metas", ""}}
	for i := range 100_000 {
		metas = append(metas, part{fmt.Sprintf("PAPI_1:meta:m%d", i), "v", ""})
	}
	c.must(c.add(metas...))
	c.must(c.add(page("2", "http://a/huge", strings.Repeat("many words ", 1<<20))...)) // 11 MiB
	c.must(c.add(part{"PAPI_3:uri", "http://a/word", ""}, part{"PAPI_3:part_bytes:master", strings.Repeat("x", 4<<20), "text/plain"}))
	c.must(c.add(part{"PAPI_4:uri", "http://a/tag", ""}, part{"PAPI_4:part_bytes:master", "before <p " + strings.Repeat("x", 8<<20) + ">", "text/html"}))
	c.must(c.add(part{"PAPI_5:uri", "http://a/nul", ""}, part{"PAPI_5:part_bytes:master", "a\x00b\x01 \u202e end", "text/plain"}))
	c.sync()
	if n := c.count(); n != "5" {
		t.Errorf("%s documents, want 5", n)
	}
	if got := c.document("http://a/metas"); len(got.Metas) != 100_000 {
		t.Errorf("%d metas", len(got.Metas))
	}
	if got := len(c.document("http://a/huge").Text); got != 1<<20 {
		t.Errorf("%d bytes of text kept, want 1 MiB", got)
	}
	if got := c.document("http://a/tag").Text; got != "before" {
		t.Errorf("text %.60q before an endless tag", got)
	}
	few := open(t, indexer.Settings{MaxParts: 3})
	if code, body := few.add(metas[:4]...); code != 400 || !strings.Contains(body, "more than 3 parts") {
		t.Errorf("four parts: %d %s", code, body)
	}
	few.must(few.add(metas[:3]...))
}

// The client seen in public sends the uri as a file, too, and no stamp.
func TestURIAsAFilePart(t *testing.T) {
	c := open(t, indexer.Settings{})
	body := "--b\r\nContent-Disposition: form-data; name=\"PAPI_7:uri\"; filename=\"PAPI_7:uri\"\r\n\r\nhttp://a/1\r\n--b--\r\n"
	code, answer, _ := c.do(http.MethodPost, c.url("add_documents", nil), "multipart/form-data; boundary=b", strings.NewReader(body))
	c.must(code, answer)
	if got := c.must(c.get("get_documents_status", url.Values{"PAPI_uri": {"http://a/1"}})); got != "http%3A%2F%2Fa%2F1 true \n" {
		t.Errorf("status %q", got)
	}
}
