package config

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
)

func inRule(condition string) []byte {
	return []byte("<CrawlConfig><Crawler name='a'><Rules><Rule>\n" + condition + "<Accept/></Rule></Rules></Crawler></CrawlConfig>")
}

func nested(depth int) []byte {
	return inRule(strings.Repeat("<Not>\n", depth) + "<Host val='a'/>" + strings.Repeat("</Not>", depth))
}

func TestNesting(t *testing.T) {
	file, report := Parse("f.xml", nested(maxConditionDepth), Lookups{})
	if err := report.Err(); err != nil || len(file.Crawlers[0].Rules.Rules) != 1 {
		t.Fatalf("depth %d: %v", maxConditionDepth, err)
	}
	for depth, want := range map[int]string{
		maxConditionDepth + 1: "f.xml:1003:1: conditions are nested deeper than 1000: join nested <And> and <Or>\n",
		100_000:               "f.xml:1022:1: elements are nested deeper than 1024: conditions can be nested to a depth of 1000\n",
	} {
		if _, report = Parse("f.xml", nested(depth), Lookups{}); problemLines(report.Errors) != want {
			t.Errorf("depth %d:\n got %.400s\nwant %s", depth, problemLines(report.Errors), want)
		}
	}
}

// The document type is refused where it begins: neither its size nor what it
// would expand to matters.
func TestDocumentTypes(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("<?xml version='1.0'?>\n<!DOCTYPE lolz [\n<!ENTITY lol0 'lol'>\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&laughs, "<!ENTITY lol%d '%s'>\n", i, strings.Repeat(fmt.Sprintf("&lol%d;", i-1), 10))
	}
	laughs.WriteString("]>\n<CrawlConfig>&lol29;</CrawlConfig>")
	for name, c := range map[string]struct{ text, at string }{
		"billion laughs": {laughs.String(), "2:1"},
		"quadratic":      {"<!DOCTYPE x [<!ENTITY a '" + strings.Repeat("a", 1<<20) + "'>]><CrawlConfig>" + strings.Repeat("&a;", 1<<16) + "</CrawlConfig>", "1:1"},
		"never ending":   {"<!DOCTYPE " + strings.Repeat("<", 1<<20), "1:1"},
		"inside":         {"<CrawlConfig>\n  <!ENTITY a 'b'></CrawlConfig>", "2:3"},
		"lower case":     {"<!doctype html><CrawlConfig/>", "1:1"},
	} {
		_, report := Parse("f.xml", []byte(c.text), Lookups{})
		want := "f.xml:" + c.at + ": document types and entity declarations (<!DOCTYPE, <!ENTITY) are not allowed: remove this\n"
		if got := problemLines(report.Errors); got != want {
			t.Errorf("%s:\n got %.400s\nwant %s", name, got, want)
		}
	}
}

func TestFileTooLarge(t *testing.T) {
	_, report := Parse("f.xml", bytes.Repeat([]byte(" "), MaxFileBytes+1), Lookups{})
	if got, want := problemLines(report.Errors), "f.xml: the file is larger than 64 MiB\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTooManyParts(t *testing.T) {
	src := newSource("f.xml", []byte("<a><b x='1' y='2'/><c/><d/></a>")) // 6 parts, the last one at 23
	scan := func(most int) *fault {
		s := &scan{src: src, dec: xml.NewDecoder(bytes.NewReader(src.data)), most: most}
		_, f := s.run()
		return f
	}
	if f := scan(6); f != nil {
		t.Errorf("6 parts of 6: %v", f)
	}
	if f := scan(5); f == nil || f.offset != 23 || !strings.Contains(f.message, "more than 5 elements and attributes") {
		t.Errorf("6 parts of 5: fault %v, want one at <d/>", f)
	}
}

func TestReportIsBounded(t *testing.T) {
	text := "<CrawlConfig><Crawler name='a'>" + strings.Repeat("<Unknown/>\n", 3*maxProblems) + "</Crawler></CrawlConfig>"
	_, report := Parse("f.xml", []byte(text), Lookups{})
	if len(report.Errors) != maxProblems {
		t.Fatalf("%d errors, want %d", len(report.Errors), maxProblems)
	}
	last := report.Errors[maxProblems-1]
	if !strings.Contains(last.Message, "too many errors") || last.At.Line != maxProblems {
		t.Errorf("last error: %v", last)
	}
}

func TestLongNamesAndValuesAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	text := "<CrawlConfig><Crawler name='a' " + long + "='1' nthreads='" + long + "'><" + long + "/></Crawler></CrawlConfig>"
	_, report := Parse("f.xml", []byte(text), Lookups{})
	if len(report.Errors) != 3 {
		t.Fatalf("%d errors, want 3", len(report.Errors))
	}
	for _, p := range report.Errors {
		if len(p.String()) > 300 {
			t.Errorf("message of %d bytes: %.100s", len(p.String()), p)
		}
	}
}

// TestAttributeTwice covers few attributes, which are searched linearly, and many, which are in a map.
func TestAttributeTwice(t *testing.T) {
	for name, between := range map[string]string{"few": "", "many": ` a1="" a2="" a3="" a4="" a5="" a6="" a7="" a8="" a9=""`} {
		t.Run(name, func(t *testing.T) {
			_, report := Parse("c.xml", []byte("<CrawlConfig>\n<Crawler name=\"a\""+between+" name=\"b\"/>\n</CrawlConfig>"), Lookups{})
			if err := report.Err(); err == nil || !strings.Contains(err.Error(), "attribute name is written twice (first at 2:10): remove one") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestLongRoots: a root's URL has at most 4,096 bytes, and so have its metas.
func TestLongRoots(t *testing.T) {
	long := strings.Repeat("x", 4096)
	for written, want := range map[string]string{
		`url="http://a.example/" kvs="k=` + long[2:] + `"`: "",
		`url="http://a.example/" kvs="k=` + long[1:] + `"`: "kvs is longer than 4096 bytes, and every document below the root would repeat it",
		`url="http://a.example/` + long + `"`:              "is longer than 4096 bytes",
	} {
		_, report := Parse("c.xml", []byte(`<CrawlConfig><Crawler name="a"><Root `+written+`/></Crawler></CrawlConfig>`), Lookups{})
		if err := report.Err(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", written, err, want)
		}
	}
}
