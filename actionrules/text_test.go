package actionrules

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// TestNormalisedIsNormalise also puts each character behind another, with marks,
// as normalisation looks at what follows.
func TestNormalisedIsNormalise(t *testing.T) {
	var b buffers
	for r := range rune(0x30000) { // beyond there are no letters
		for _, s := range [...]string{string(r), "A\u0301\u0323" + string(r) + "\u0323\u0301%C3%89%2F"} {
			for n := range Norm(len(normNames)) {
				if got, want := b.normalised(s, FieldPath, n, traitsOf(s)), normalise(s, n); got != want {
					t.Fatalf("%q, %s: %q, want %q", s, n, got, want)
				}
			}
		}
	}
	seeded.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.StringOf(rapid.SampledFrom([]rune("aZ%2fFéÉ각\u0301"))).Draw(t, "text")
		for n := range Norm(len(normNames)) {
			if got, want := b.normalised(s, FieldPath, n, traitsOf(s)), normalise(s, n); got != want {
				t.Fatalf("%q, %s: %q, want %q", s, n, got, want)
			}
		}
		if got, want := b.characters(s), utf8.RuneCountInString(decode(s)); got != want {
			t.Fatalf("%q: %d characters, want %d", s, got, want)
		}
	})
}
