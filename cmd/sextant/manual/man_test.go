package manual

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManualText(t *testing.T) {
	got := roffText(".hidden 'x' a\\b `c` " + strings.Repeat("word ", 20) + "'end. New.")
	want := "\\&.hidden 'x' a\\eb \\(gac\\(ga word word word word word word word word word word\nword word word word word word word word word word 'end.\nNew."
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
