package crawlspace

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// expression is a regular expression, split at its alternatives: plain texts are compared as such, and the others are
// tried only if a text that they require occurs. That is many times faster than the whole expression.
type expression struct {
	re       *regexp.Regexp // the whole
	inside   *matcher
	prefixes []string
	suffixes []string
	guarded  []guarded
	rest     *regexp.Regexp // alternatives that need no text; nil without such alternatives
}

// guarded is an alternative with a text that every match holds.
type guarded struct {
	need string
	re   *regexp.Regexp
}

func newExpression(re *regexp.Regexp) *expression {
	e := &expression{re: re}
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil { // not after it has compiled
		e.rest = re
		return e
	}
	alternatives := []*syntax.Regexp{parsed}
	if parsed.Op == syntax.OpAlternate {
		alternatives = parsed.Sub
	}
	var inside []pattern
	var rest []string
	for _, a := range alternatives {
		begin, literal, end := anchoredLiteral(a)
		switch {
		case literal == "":
			rest = e.guard(a, rest)
		case begin && end:
			rest = append(rest, a.String())
		case begin:
			e.prefixes = append(e.prefixes, literal)
		case end:
			e.suffixes = append(e.suffixes, literal)
		default:
			inside = append(inside, pattern{literal, 0})
		}
	}
	e.inside = newMatcher(inside, anywhere)
	if len(rest) > 0 {
		e.rest = regexp.MustCompile(strings.Join(rest, "|"))
	}
	return e
}

// guard adds an alternative with the longest text that it needs, or to rest.
func (e *expression) guard(a *syntax.Regexp, rest []string) []string {
	const shortest = 3 // a shorter text is in too many URLs
	need := ""
	if a.Op == syntax.OpConcat {
		for _, sub := range a.Sub {
			if _, text, _ := anchoredLiteral(sub); len(text) > len(need) {
				need = text
			}
		}
	}
	if len(need) < shortest {
		return append(rest, a.String())
	}
	e.guarded = append(e.guarded, guarded{need, regexp.MustCompile(a.String())})
	return rest
}

// anchoredLiteral takes an expression apart that is a text, or a text behind ^ or
// before $. literal is empty for all others.
func anchoredLiteral(a *syntax.Regexp) (begin bool, literal string, end bool) {
	parts := []*syntax.Regexp{a}
	if a.Op == syntax.OpConcat {
		parts = a.Sub
	}
	if len(parts) > 1 && parts[0].Op == syntax.OpBeginText {
		begin, parts = true, parts[1:]
	}
	if len(parts) > 1 && parts[len(parts)-1].Op == syntax.OpEndText {
		end, parts = true, parts[:len(parts)-1]
	}
	if len(parts) != 1 || parts[0].Op != syntax.OpLiteral || parts[0].Flags&syntax.FoldCase != 0 {
		return false, "", false
	}
	literal = string(parts[0].Rune)
	if strings.ContainsRune(literal, wildcard) {
		return false, "", false
	}
	return begin, literal, end
}

// match is re.MatchString.
func (e *expression) match(text string) bool {
	if e.inside.first(text) != none {
		return true
	}
	for _, p := range e.prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	for _, s := range e.suffixes {
		if strings.HasSuffix(text, s) {
			return true
		}
	}
	for _, g := range e.guarded {
		if strings.Contains(text, g.need) && g.re.MatchString(text) {
			return true
		}
	}
	return e.rest != nil && e.rest.MatchString(text)
}
