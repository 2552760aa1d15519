package main

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config"
)

// TestFetchingDocumentation: the examples of docs/fetching.md are configurations that
// check has nothing to say against, and each attribute of a Fetch is explained there.
func TestFetchingDocumentation(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "fetching.md"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(nil)
	server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	text := string(content)
	examples := regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(text, -1)
	for _, b := range examples {
		lookups := config.Lookups{
			Env:    func(string) (string, bool) { return "secret", true },
			Exists: func(path string) bool { return filepath.Base(path) == "ca.pem" },
			ReadFile: func(path string) ([]byte, error) {
				if filepath.Base(path) != "ca.pem" {
					return nil, os.ErrNotExist
				}
				return authority, nil
			},
		}
		parsed, report := config.Parse("fetching.md", []byte("<CrawlConfig>"+b[1]+"</CrawlConfig>"), lookups)
		if err := report.Err(); err != nil {
			t.Errorf("%v\n%s", err, b[1])
			continue
		}
		if s := crawlSettings(parsed.Crawlers[0]); s.Name == "" {
			t.Errorf("no settings of\n%s", b[1])
		}
	}
	if len(examples) < 5 || len(examples) != strings.Count(text, "```xml") {
		t.Errorf("%d examples", len(examples))
	}
	reference, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, of, found := strings.Cut(string(reference), "\n### Fetch\n")
	of, _, _ = strings.Cut(of, "\n###")
	attributes := regexp.MustCompile(`(?m)^\| (\w+) \| `).FindAllStringSubmatch(of, -1)
	if !found || len(attributes) < 20 {
		t.Fatalf("%d attributes of a Fetch in configuration.md", len(attributes))
	}
	for _, a := range attributes {
		if a[1] == "attribute" { // a table's head
			continue
		}
		if !regexp.MustCompile(`\b` + a[1] + `\b`).MatchString(text) {
			t.Errorf("%s is not explained", a[1])
		}
	}
}
