package main

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl"
)

// TestReportTextIsPlain: what a stranger wrote moves no cursor and turns no line around.
func TestReportTextIsPlain(t *testing.T) {
	var out strings.Builder
	text := reportText{out: &out, kind: "changes"}
	if err := text.Changed(crawl.Changed{Change: "failed", URL: "http://a.test/", Words: "a\x1b[2Jb\u202ec\u2066d\ne"}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasSuffix(got, "  a [2Jb c d e\n") {
		t.Errorf("%q", got)
	}
}
