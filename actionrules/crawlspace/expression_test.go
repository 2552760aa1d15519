package crawlspace

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// An expression taken apart matches what it matches as a whole.
func TestExpressionsInParts(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "ba", "^", "$", "|", "|", ".", "a*", "(a|b)", "(?i)", "(?m)", "[ab]", "b?", `\b`, `\.`, "(?:^a|b$)", "", "a+b", `\z`, `\A`, "/"})
	seeded.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(t, "pieces"), "")
		re, err := regexp.Compile(expr)
		if err != nil {
			t.Skip()
		}
		e := newExpression(re)
		for _, s := range rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abAB./\n")), 0, 8, -1), 1, 12).Draw(t, "texts") {
			if e.match(s) != re.MatchString(s) {
				t.Fatalf("%q in %q: %v in parts, %v whole", expr, s, e.match(s), re.MatchString(s))
			}
		}
	})
}

// The seed's example needs no regular expression at all.
func TestPlainAlternativesAreNoExpressions(t *testing.T) {
	for expr, want := range map[string]struct{ prefixes, suffixes, guarded, rest int }{
		`search\?date=|^https:|\?OpenImageResource|/cgi-bin/|\.pdf$`: {1, 1, 0, 0},
		`\.anu\.edu\.au`:           {},
		`/calendar/\d+|(?i)\.PDF$`: {0, 0, 1, 1},
		`^a$|[ab]`:                 {0, 0, 0, 1},
	} {
		e := newExpression(regexp.MustCompile(expr))
		rest := 0
		if e.rest != nil {
			rest = 1
		}
		if len(e.prefixes) != want.prefixes || len(e.suffixes) != want.suffixes || len(e.guarded) != want.guarded || rest != want.rest {
			t.Errorf("%s: %+v", expr, e)
		}
	}
}
