package config

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// slowPosition counts from the beginning of the text, character by character.
func slowPosition(text string, offset int) actionrules.Position {
	at := actionrules.Position{File: "f", Line: 1, Column: 1}
	for i, r := range text {
		switch {
		case i >= offset:
			return at
		case r == '\n' || r == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			at.Line++
			at.Column = 1
		default:
			at.Column++
		}
	}
	return at
}

func TestPositionsAgreeWithCounting(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "é", "漢", "🙂", "\n", "\r", "\r\n", strings.Repeat("xü", 200), strings.Repeat("x", 600)}), 0, 40).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		src := newSource("f", []byte(text))
		for offset := range text { // the beginnings of characters
			want := slowPosition(text, offset)
			if got := src.position(offset); got != want {
				t.Fatalf("position(%d) of %q = %v, want %v", offset, text, got, want)
			}
			if got := src.offset(want); got != offset {
				t.Fatalf("offset(%v) of %q = %d, want %d", want, text, got, offset)
			}
		}
		if got, want := src.position(len(text)), slowPosition(text, len(text)); got != want {
			t.Fatalf("position of the end of %q = %v, want %v", text, got, want)
		}
	})
}

func TestPositionOutsideOfTheFile(t *testing.T) {
	src := newSource("f", []byte("ab\nc"))
	for offset, want := range map[int]actionrules.Position{
		-5: {File: "f", Line: 1, Column: 1},
		99: {File: "f", Line: 2, Column: 2},
	} {
		if got := src.position(offset); got != want {
			t.Errorf("position(%d) = %v, want %v", offset, got, want)
		}
	}
	if got := src.offset(actionrules.Position{Line: 9, Column: 1}); got != 0 {
		t.Errorf("offset of line 9 = %d, want 0", got)
	}
	if got := newSource("f", nil).position(0); got != (actionrules.Position{File: "f", Line: 1, Column: 1}) {
		t.Errorf("position in an empty file = %v", got)
	}
}

func TestRawLength(t *testing.T) {
	for _, c := range []struct {
		raw  string
		n    int
		want string // what raw begins with
	}{
		{"abc", 2, "ab"},
		{"a&amp;b", 1, "a"},
		{"a&amp;b", 2, "a&amp;"},
		{"&#233;x", 2, "&#233;"},
		{"&#xE9;x", 3, "&#xE9;x"},
		{"é&lt;", 2, "é"},
		{"a\r\nb", 2, "a\r\n"},
		{"a\rb", 2, "a\r"},
		{"ab", 9, "ab"},
	} {
		if got := c.raw[:rawLength([]byte(c.raw), c.n)]; got != c.want {
			t.Errorf("%d bytes of %q: %q, want %q", c.n, c.raw, got, c.want)
		}
	}
}
