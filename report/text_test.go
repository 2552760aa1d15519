package report

import (
	"strings"
	"testing"
	"time"
)

// TestReportTextIsPlain: what a stranger wrote moves no cursor and turns no line around.
func TestReportTextIsPlain(t *testing.T) {
	var out strings.Builder
	text := NewLines(&out, KindChanges, time.Time{})
	if err := text.Put(Change{Change: "failed", URL: "http://a.test/", Words: "a\x1b[2Jb\u202ec\u2066d\ne"}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasSuffix(got, "  a [2Jb c d e\n") {
		t.Errorf("%q", got)
	}
}
