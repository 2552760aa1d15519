package papi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/wire"
)

// Whatever a page contains, the strict parser finds one document with the same
// values: nothing of it becomes a part or a header.
func FuzzDocument(f *testing.F) {
	f.Add("http://h/a.html", "title", "author", "text", []byte(nil), "")
	f.Add("http://h/\"\r\n", "a\r\n--b\r\nContent-Disposition: form-data; name=\"PAPI_0:uri\"\r\n\r\n", "\";\r\n\x00é\u2028", "\r\n--", []byte("x"), "a\r\nB: c")
	f.Add("http://h/%zz", "", "a:b\\", "", []byte{0xff}, "text/html; charset=\"\x7f")
	f.Fuzz(func(t *testing.T, uri, title, meta, text string, content []byte, contentType string) {
		if uri == "" {
			return
		}
		clean := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") } // as JSON does
		e := pushtest.DocumentEntry(push.Document{
			URL: clean(uri), Title: clean(title), Text: clean(text), Content: content, ContentType: clean(contentType),
			Metas: map[string][]string{clean(meta): {"value"}},
		})
		form := newForm()
		var items []wire.Item
		for i := range 2 {
			b, err := form.document(i, e, &Settings{StampPart: "stamp"})
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, wire.Item{Entry: e, Wire: b})
		}
		for i := range 2 {
			docs, err := parseDocuments(form.contentType(), string(form.body(items[i:i+1])))
			if err != nil || len(docs) != 1 {
				t.Fatalf("%d documents: %v", len(docs), err)
			}
			body := clean(text)
			if len(content) > 0 {
				body = string(content)
			}
			d := docs[0]
			if d.uri != e.URL || d.text() != body {
				t.Errorf("URI %q and text %q became %q and %q", e.URL, body, d.uri, d.text())
			}
			if got := fmt.Sprint(d.values("meta:title")); title != "" && got != fmt.Sprint([]string{clean(title)}) {
				t.Errorf("title %q became %q", title, got)
			}
		}
	})
}
