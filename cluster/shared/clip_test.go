package shared

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestClip: the words of a refusal fit into the engine, however many errors a text has.
func TestClip(t *testing.T) {
	if got := clip("node n1: 3:1: wrong"); got != "node n1: 3:1: wrong" {
		t.Errorf("short words: %q", got)
	}
	for shift := range 3 {
		got := clip(strings.Repeat("x", shift) + strings.Repeat("€", 1<<20))
		if len(got) > refusedMost+8 || !utf8.ValidString(got) || !strings.HasSuffix(got, "€ …") {
			t.Errorf("shifted by %d: %d bytes, %q at the end", shift, len(got), got[len(got)-12:])
		}
	}
}
