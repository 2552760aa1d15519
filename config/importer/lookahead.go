package importer

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
)

// maxLookahead bounds the text of a look-ahead, since the result is nested as deeply.
const maxLookahead = 100

// withoutLookahead rewrites an expression of the form X(?!Y).* without look-ahead, where Y is plain text; if whole is
// false, so that the expression may match a part, also X(?!Y). The text after X then ends, or differs from Y at one of
// its characters: X(?!ab).* is X(?:\z|[^a]|a(?:\z|[^b])).*, which matches the same. Other forms are returned unchanged,
// and are refused on compilation.
func withoutLookahead(expression string, whole bool) string {
	before, rest, found := strings.Cut(expression, "(?!")
	if !found || strings.Contains(before, `\Q`) {
		return expression
	}
	if _, err := syntax.Parse(before, syntax.Perl); err != nil { // inside a group, or not a look-ahead
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

// leaving returns an expression for the end, or for the beginning of text up to where it differs from other.
func leaving(other []rune) string {
	first := regexp.QuoteMeta(string(other[0]))
	expression := `(?:\z|[^` + first + `]`
	if len(other) > 1 {
		expression += "|" + first + leaving(other[1:])
	}
	return expression + ")"
}

// conditionOf returns the condition of an atom whose value is an expression with look-ahead. ^(?!.*Y) at its beginning,
// which holds if Y occurs nowhere and the rest matches, becomes a <Not>; other look-ahead is rewritten if possible.
func conditionOf(a actionrules.Atom) actionrules.Condition {
	whole := a.Kind == actionrules.KindExact
	absent, rest := absentFirst(a.Value, whole)
	if len(absent) == 0 {
		a.Value = withoutLookahead(a.Value, whole)
		return a
	}
	var all []actionrules.Condition
	for _, expression := range absent {
		none := a
		none.Kind, none.Value = actionrules.KindInside, expression
		all = append(all, actionrules.Not{Of: none})
	}
	if rest != "" && rest != ".*" && rest != ".*$" {
		if !whole {
			rest = "^" + rest
		}
		a.Value = withoutLookahead(rest, whole)
		all = append(all, a)
	}
	if len(all) == 1 {
		return all[0]
	}
	return actionrules.And{Of: all}
}

// absentFirst removes the leading (?!.*Y) of an expression, one or several; none if that would change the meaning.
func absentFirst(expression string, whole bool) (absent []string, rest string) {
	rest, anchored := strings.CutPrefix(expression, "^")
	if !anchored && !whole {
		return nil, ""
	}
	for {
		inside, found := strings.CutPrefix(rest, "(?!.*")
		if !found {
			break
		}
		end, bar := scanTo(inside)
		if end == len(inside) || bar {
			return nil, ""
		}
		y := strings.TrimPrefix(inside[:end], "?") // .*? covers the same
		if _, err := syntax.Parse(y, syntax.Perl); err != nil || y == "" {
			return nil, ""
		}
		absent, rest = append(absent, y), inside[end+1:]
	}
	if end, bar := scanTo(rest); bar || end < len(rest) || rest == "" && whole || strings.IndexAny(rest, "*+?{") == 0 {
		return nil, ""
	}
	return absent, rest
}

// scanTo returns the length up to the bracket that closes the group whose inside s is, or the whole length without such
// a bracket. It reports whether there is a | before it outside other brackets.
func scanTo(s string) (end int, bar bool) {
	depth, class := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class > 0:
			if c == ']' && i > class {
				class = 0
			}
		case c == '[':
			class = i + 1
			if strings.HasPrefix(s[class:], "^") {
				class++
			}
		case c == '(':
			depth++
		case c == ')' && depth == 0:
			return i, bar
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			bar = true
		}
	}
	return len(s), bar
}

// conditionElement returns the element of a condition.
func conditionElement(c actionrules.Condition) string {
	switch t := c.(type) {
	case actionrules.Atom:
		return atom(t)
	case actionrules.Not:
		return "<ar:Not>" + conditionElement(t.Of) + "</ar:Not>"
	case actionrules.And:
		return "<ar:And>" + strings.Join(conditionElements(t.Of), "") + "</ar:And>"
	case actionrules.Or:
		return anyOf(conditionElements(t.Of))
	}
	return ""
}

func conditionElements(all []actionrules.Condition) []string {
	elements := make([]string, len(all))
	for i, c := range all {
		elements[i] = conditionElement(c)
	}
	return elements
}
