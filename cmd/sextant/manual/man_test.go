package manual

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManualText(t *testing.T) {
	var out bytes.Buffer
	m := roff{bufio.NewWriter(&out)}
	m.text(".hidden 'x' a\\b `c` " + strings.Repeat("word ", 20) + "'end. New.")
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "\\&.hidden 'x' a\\eb \\(gac\\(ga word word word word word word word word word word\nword word word word word word word word word word 'end.\nNew.\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
