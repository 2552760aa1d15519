package importer

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxLookahead is how much text a look-ahead may have: what it becomes nests as deep.
const maxLookahead = 100

// withoutLookahead writes an expression of the form X(?!Y).* without look-ahead, where Y is plain text; with whole
// false, where the expression may match a part, X(?!Y) too. What follows X then ends, or leaves Y at one of its
// characters: X(?!ab).* is X(?:\z|[^a]|a(?:\z|[^b])).*, which matches the same. Other forms stay as they are, and are
// refused where they are compiled.
func withoutLookahead(expression string, whole bool) string {
	before, rest, found := strings.Cut(expression, "(?!")
	if !found || strings.Contains(before, `\Q`) {
		return expression
	}
	if _, err := syntax.Parse(before, syntax.Perl); err != nil { // it is in a group, or no look-ahead
		return expression
	}
	end := 0
	for end < len(rest) && rest[end] != ')' {
		if rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(rest) {
		return expression
	}
	switch tail := rest[end+1:]; {
	case tail == ".*" || tail == ".*$", tail == "" && !whole:
		text, err := syntax.Parse(rest[:end], syntax.Perl)
		if err != nil || text.Op != syntax.OpLiteral || len(text.Rune) > maxLookahead || text.Flags&syntax.FoldCase != 0 {
			return expression
		}
		return before + leaving(text.Rune) + tail
	}
	return expression
}

// leaving matches the end, or the beginning of text up to where it is no longer that of other.
func leaving(other []rune) string {
	first := regexp.QuoteMeta(string(other[0]))
	expression := `(?:\z|[^` + first + `]`
	if len(other) > 1 {
		expression += "|" + first + leaving(other[1:])
	}
	return expression + ")"
}
