package config

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// TestNamespaces: a configuration of the manual binds to its schema in an editor, by the catalog of the package.
func TestNamespaces(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, name := range pages {
		if page, err := os.ReadFile(name); err != nil || bytes.Contains(page, []byte("\n<CrawlConfig>\n")) {
			t.Errorf("%s: <CrawlConfig> has no namespace: %v", name, err)
		}
	}
	var catalog struct {
		URIs []struct {
			Name string `xml:"name,attr"`
			File string `xml:"uri,attr"`
		} `xml:"uri"`
	}
	source := testdir.Read(t, "../packaging/deb/catalog.xml")
	if err := xml.Unmarshal(source, &catalog); err != nil {
		t.Fatal(err)
	}
	for _, uri := range catalog.URIs {
		part, _, _ := strings.Cut(uri.File, ".")
		schema, err := SchemaText("", part)
		if err != nil || !bytes.Contains(schema, []byte(`targetNamespace="`+uri.Name+`"`)) {
			t.Errorf("the catalog names %s for %s: %v", uri.File, uri.Name, err)
		}
	}
	page, err := os.ReadFile("../docs/editor.md")
	_, page, _ = bytes.Cut(page, []byte("<catalog"))
	page, _, _ = bytes.Cut(page, []byte("</catalog>"))
	if err != nil || len(catalog.URIs) != 2 || !bytes.Contains(source, page) {
		t.Errorf("docs/editor.md has another catalog than the package: %v\n%s", err, page)
	}
}
