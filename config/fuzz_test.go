package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse: no input makes Parse panic; every position lies inside the file;
// there is a File exactly where there are no errors; and the two readers of a
// file never disagree about its attributes.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"bad", "good", "space"} {
		paths, _ := filepath.Glob(filepath.Join("..", "testdata", "config", folder, "*.txtar"))
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add([]byte(parseArchive(string(text)).file(FileName)))
		}
	}
	f.Add([]byte("\xFF\xFE<\x00a\x00/\x00>\x00"))
	f.Add([]byte("<CrawlConfig><Crawler a='&#10;' b\t=\n\"'\" c='>'name='a'/></CrawlConfig>"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		fuzzParse(t, raw)
	})
}

func fuzzParse(t *testing.T, raw []byte) {
	file, report := Parse("f.xml", raw, Lookups{})
	if (file == nil) != (len(report.Errors) > 0) {
		t.Errorf("file %v with %d errors", file, len(report.Errors))
	}
	text, _ := xmlFile.decode(raw)
	lines := splitLines(string(text))
	for _, list := range [][]Problem{report.Errors, report.Warnings, report.Notes} {
		for _, p := range list {
			if p.At.Line < 1 || p.At.Line > len(lines) || p.At.Column < 1 || p.At.Column > len([]rune(lines[p.At.Line-1]))+1 {
				t.Errorf("%v lies outside of the file", p)
			}
			if strings.Contains(p.Message, "cannot be read: write each") {
				t.Errorf("%v: the readers disagree", p)
			}
			if strings.ContainsAny(p.Message, "\n\r") {
				t.Errorf("%q is not one line", p.Message)
			}
		}
	}
}

func splitLines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
}
