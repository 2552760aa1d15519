package crawlspace

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxExpression is the longest expression, in bytes: its parser takes quadratic
// time for some, and a compiled one about a hundred times its length.
const maxExpression = 1 << 16

// compile compiles an expression in the syntax of Perl 5, as far as RE2 goes.
// What RE2 lacks is refused by name.
func compile(expr string) (*expression, error) {
	switch {
	case strings.TrimSpace(expr) == "":
		return nil, fmt.Errorf("nothing follows %s; write an expression, such as %s\\.pdf$", regexpMark, regexpMark)
	case len(expr) > maxExpression:
		return nil, fmt.Errorf("an expression has at most %d bytes; write several, or substrings", maxExpression)
	}
	re, err := regexp.Compile(expr)
	if err == nil {
		return newExpression(re), nil
	}
	if at, name := lacking(expr); name != "" {
		return nil, fmt.Errorf("character %d of the expression: %s; RE2 does not have it, so write the expression without (https://github.com/google/re2/wiki/Syntax)",
			utf8.RuneCountInString(expr[:at])+1, name)
	}
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("the expression is not valid: %s %s; write a special character with a backslash where it stands for itself", bad.Code, clip(bad.Expr))
	}
	return nil, fmt.Errorf("the expression is not valid: %w", err)
}

// lacking returns the length and name of the first construct of Perl 5 in an expression that RE2 lacks, or "". It is
// called for expressions that RE2 refuses, so it may be incomplete.
func lacking(expr string) (at int, name string) {
	class := false
	repeat := false // the last thing was a repetition, which a + makes possessive
	for i := 0; i < len(expr); {
		n := 1
		name = ""
		wasRepeat := repeat
		repeat = false
		switch c := expr[i]; {
		case strings.HasPrefix(expr[i:], `\Q`):
			if n = strings.Index(expr[i:], `\E`) + len(`\E`); n < len(`\Q`) {
				n = len(expr) - i
			}
		case c == '\\':
			n, name = lackingEscape(expr[i:], class)
		case class:
			class = c != ']'
		case c == '[':
			class = true
			n = classStart(expr[i:])
		case c == '(':
			name = lackingGroup(expr[i:])
		case c == '+' && wasRepeat:
			name = "a possessive quantifier (" + expr[i-1:i+1] + ")"
		case c == '*', c == '+', c == '?', c == '}':
			repeat = !wasRepeat
		}
		if name != "" {
			return i, name
		}
		i += n
	}
	return 0, ""
}

// classStart returns the length of the beginning of a class, including a literal bracket at its start.
func classStart(s string) int {
	n := 1
	if strings.HasPrefix(s[n:], "^") {
		n++
	}
	if strings.HasPrefix(s[n:], "]") {
		n++
	}
	return n
}

// lackingEscape returns the length of an escape, and its name if RE2 lacks it.
func lackingEscape(s string, class bool) (n int, name string) {
	if len(s) < 2 {
		return 1, ""
	}
	n = 2
	switch c := s[1]; {
	case '1' <= c && c <= '9' && !class:
		return n, "a back-reference (" + s[:2] + ")"
	case strings.IndexByte("gk", c) >= 0:
		return n, "a back-reference (" + s[:2] + ")"
	case strings.IndexByte("KhHRZXGNVecluLUoE", c) >= 0:
		return n, s[:2]
	}
	return n, ""
}

// lackingGroup examines an opening parenthesis.
func lackingGroup(s string) string {
	for _, g := range []struct{ start, name string }{
		{"(?=", "a look-ahead"}, {"(?!", "a negative look-ahead"},
		{"(?<=", "a look-behind"}, {"(?<!", "a negative look-behind"},
		{"(?>", "an atomic group"}, {"(?|", "a branch reset"}, {"(?#", "a comment"},
		{"(?(", "a condition"}, {"(?P=", "a back-reference"}, {"(?P>", "a recursion"}, {"(?R", "a recursion"}, {"(?&", "a recursion"},
		{"(?{", "embedded code"}, {"(??{", "embedded code"}, {"(*", "a verb"}, {"(?'", "a group named with quotes"}, {"(?^", "the flag reset"},
	} {
		if strings.HasPrefix(s, g.start) {
			return g.name + " (" + g.start + ")"
		}
	}
	if strings.HasPrefix(s, "(?") {
		flags := s[2 : len(s)-len(strings.TrimLeft(s[2:], "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
		if i := strings.IndexAny(flags, "xacdlnpu"); i >= 0 {
			return "the flag " + flags[i:i+1] + " ((?" + flags + ")"
		}
		if rest := s[2:]; rest != "" && (('0' <= rest[0] && rest[0] <= '9') || rest[0] == '+') {
			return "a recursion (" + s[:3] + ")"
		}
	}
	return ""
}
