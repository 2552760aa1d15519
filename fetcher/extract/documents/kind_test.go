package documents

import (
	"archive/zip"
	"bytes"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
)

func TestKindOf(t *testing.T) {
	all := testdocs.All(testdocs.Content{Title: "T", Text: "x", Link: "http://h/"})
	for ext, body := range all {
		for _, declared := range []string{"", "application/octet-stream", "binary/octet-stream; x=y", "application/zip", "application/pdf", "application/msword", "*/*"} {
			if kind, ok := KindOf(declared, body); !ok || string(kind) != ext {
				t.Errorf("%s as %q: %q, %v", ext, declared, kind, ok)
			}
		}
		for _, declared := range []string{"text/html", "text/plain", "image/png", "application/epub+zip"} {
			if kind, ok := KindOf(declared, body); ok {
				t.Errorf("%s as %q: %q", ext, declared, kind)
			}
		}
	}
	tests := []struct {
		contentType, body string
		want              Kind
	}{
		{"application/pdf", "", ""},
		{"application/pdf", "not one", PDF},
		{"Application/PDF ; q", "x", PDF},
		{"application/pdf; =;", "x", PDF},
		{"", "\n\xef\xbb\xbf %PDF-1.7", PDF},
		{"", "<html>about %PDF-1.7", ""},
		{"", "plain %PD", ""},
		{"", string(bytes.Repeat([]byte("x"), 2000)) + "%PDF-", ""},
		{"application/pdf", `{\rtf1}`, "rtf"},
		{"application/rtf", "x", "rtf"},
		{"application/vnd.ms-excel", "x", ""},
		{"application/vnd.ms-excel", "<table><tr><td>x", ""},
		{"application/msword", `{\rtf1}`, "rtf"},
		{"application/msword", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "doc"}, // cut off
		{"application/vnd.ms-excel", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xls"},
		{"application/x-cfb", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ""},
		{"application/vnd.ms-excel.sheet.macroEnabled.12", "x", "xlsx"},
		{"application/vnd.openxmlformats-officedocument.presentationml.slideshow", "x", "pptx"},
		{"application/vnd.oasis.opendocument.text-template", "x", "odt"},
		{"application/vnd.oasis.opendocument.graphics", "x", ""},
		{"application/octet-stream", "PK\x03\x04", ""},
		{"application/octet-stream", string(testdocs.Zip(testdocs.Part{Name: "a.txt", Body: "x"})), ""},
	}
	for _, tt := range tests {
		if got, ok := KindOf(tt.contentType, []byte(tt.body)); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q, %.20q: %q, %v; want %q", tt.contentType, tt.body, got, ok, tt.want)
		}
	}
}

// TestKindOfLargeArchive: the names of parts stand at its end.
func TestKindOfLargeArchive(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"media/image.png", "xl/workbook.xml"} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(make([]byte, 1<<20))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if kind, _ := KindOf("", b.Bytes()); kind != "xlsx" {
		t.Errorf("got %q", kind)
	}
}

func FuzzKindOf(f *testing.F) {
	f.Add("application/pdf", []byte("%PDF-1.4"))
	f.Add("", []byte("PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.text"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		if kind, ok := KindOf(contentType, body); ok != (kind != "") {
			t.Errorf("%q, %v", kind, ok)
		}
	})
}
