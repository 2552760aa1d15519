package visit

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
)

func TestSniff(t *testing.T) {
	zip := func(names ...string) string {
		s := "PK\x03\x04" + strings.Repeat("\x00", 26)
		return s + strings.Join(names, "\x00PK\x03\x04")
	}
	const office = "application/vnd.openxmlformats-officedocument."
	for _, tt := range []struct{ declared, body, want string }{
		{"text/html", "<p>x", "text/html"},
		{"text/html; charset=x", "", "text/html; charset=x"},
		{"text/html", "%PDF-1.7 ...", "application/pdf"},
		{"Text/Plain", "%PDF-1.7 ...", "application/pdf"},
		{"text/html", "\x89PNG\x0D\x0A\x1A\x0A", "image/png"},
		{"text/html", "\xc4\xe4hnliche", "text/html"}, // Latin-1
		{"text/html", "\xef\xbb\xbf<p>", "text/html"},
		{"text/html", "<\x00p\x00>\x00", "text/html"}, // UTF-16
		{"text/plain", "<html>", "text/plain"},
		{"application/json", "%PDF-1.7", "application/json"},
		{"", "<!DOCTYPE HTML><p>", "text/html; charset=utf-8"},
		{"application/octet-stream", "%PDF-1.4", "application/pdf"},
		{"application/x-download", "%PDF-1.4", "application/pdf"},
		{"binary/octet-stream", "plain words", "text/plain; charset=utf-8"},
		{"", "\x00\x01\x02\x03", "application/octet-stream"},
		{"", "", "text/plain; charset=utf-8"},
		{"", `{\rtf1`, "application/rtf"},
		{"application/octet-stream", zip("[Content_Types].xml", "word/document.xml"), office + "wordprocessingml.document"},
		{"", zip("[Content_Types].xml", "xl/workbook.xml"), office + "spreadsheetml.sheet"},
		{"", zip("[Content_Types].xml", "ppt/presentation.xml"), office + "presentationml.presentation"},
		{"", zip("mimetypeapplication/vnd.oasis.opendocument.textPK"), "application/vnd.oasis.opendocument.text"},
		{"", zip("word/other"), "application/zip"},
		{"", "PK\x03\x04", "application/zip"},
		{"?", "<html>", "text/html; charset=utf-8"}, // no type at all
	} {
		p, err := policy.New(everything(), nil)
		if err != nil {
			t.Fatal(err)
		}
		v := &visit{policy: p, lease: leaseOf(t, "http://h/")}
		r := &fetcher.Response{Status: 200, Header: http.Header{}, Body: []byte(tt.body)}
		if tt.declared != "" {
			r.Header.Set("Content-Type", tt.declared)
		}
		v.sniff(r)
		if got := r.Header.Get("Content-Type"); got != tt.want {
			t.Errorf("%q with %.20q: %q, want %q", tt.declared, tt.body, got, tt.want)
		}
	}
}
