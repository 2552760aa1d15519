package actionrules

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// specials are the characters that are literal in a value, and are operators of regular expressions after a backslash
	// (CloudView manual, "Crawl Rules").
	specials = `^$.*+?[](){}|`
	// classes are the letters that may follow a backslash.
	classes = "dDwWsSbB"
	// maxExpression is the longest expression with operators, in bytes: the parser
	// takes quadratic time for some and a compiled one about a hundred times its
	// length. Literals have no limit.
	maxExpression = 1 << 16
)

// Translate converts a value with reversed escaping into the equivalent regular expression (RE2): `/a?\.\*` into
// `/a\?.*`. A special character is literal, and an operator after a backslash, also inside brackets. The result is not
// compiled. The error is a *PatternError.
func Translate(value string) (string, error) {
	re, _, err := translate(value, math.MaxInt)
	return re, err
}

// translate stops before its result would exceed limit bytes and returns the number of characters read.
func translate(value string, limit int) (re string, read int, err error) {
	if err := checkText(value); err != nil {
		return "", 0, err
	}
	var b strings.Builder
	b.Grow(len(value) + len(value)/8)
	escaped := false
	for _, r := range value {
		special := r < utf8.RuneSelf && strings.IndexByte(specials, byte(r)) >= 0
		switch {
		case !escaped && r == '\\':
			escaped = true
			read++
			continue
		case special == escaped: // both: an operator; neither: itself
			b.WriteRune(r)
		case special || r == '\\' || strings.ContainsRune(classes, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			return "", 0, &PatternError{value, read - 1, fmt.Sprintf(
				`\%c has no meaning; write %c for the character, \\ for a backslash`, r, r)}
		}
		if b.Len() > limit {
			if escaped {
				read--
			}
			return "", read, nil
		}
		escaped = false
		read++
	}
	if escaped {
		return "", 0, &PatternError{value, read - 1, `the pattern ends with a backslash; write \\ for a backslash`}
	}
	return b.String(), read, nil
}

// checkText refuses invalid patterns.
func checkText(value string) error {
	if value == "" {
		return &PatternError{value, 0, `the pattern is empty; to match anything, write \.\* for anything`}
	}
	if utf8.ValidString(value) {
		return nil
	}
	n := 0
	for i, r := range value {
		if _, size := utf8.DecodeRuneInString(value[i:]); r == utf8.RuneError && size == 1 {
			break
		}
		n++
	}
	return &PatternError{value, n, "not UTF-8"}
}

// expression returns the RE2 expression of an atom's value, checked for everything except its size. literal reports
// whether it contains no operator.
func expression(value string, re bool) (expr string, literal bool, err error) {
	if re {
		expr, err = value, checkText(value)
	} else {
		expr, err = Translate(value)
	}
	if err != nil {
		return "", false, err
	}
	literal = true
	scan(expr, func(t token) bool {
		literal = t.kind == tokenLiteral
		return literal
	})
	if literal {
		return expr, true, nil
	}
	if len(expr) > maxExpression {
		return "", false, &PatternError{value, 0, fmt.Sprintf(
			"a pattern with operators is limited to %d bytes; write an Or of several", maxExpression)}
	}
	// Parsed by itself, so that an anchoring group around it cannot complete it.
	if _, err := syntax.Parse(expr, syntax.Perl); err != nil {
		return "", false, syntaxError(value, expr, re, err)
	}
	return unquote(expr), false, nil
}

// unquote writes the characters of \Q...\E one by one, because text appended to an open \Q would belong to it.
func unquote(expr string) string {
	if !strings.Contains(expr, `\Q`) {
		return expr
	}
	var b strings.Builder
	scan(expr, func(t token) bool {
		if t.kind == tokenLiteral {
			t.text = regexp.QuoteMeta(string(t.char))
		}
		b.WriteString(t.text)
		return true
	})
	return b.String()
}

// syntaxError adds the place in the value to an error of the RE2 parser.
func syntaxError(value, expr string, re bool, err error) error {
	e, ok := err.(*syntax.Error) //nolint:errorlint // syntax.Parse wraps nothing
	if !ok {
		return &PatternError{value, 0, err.Error()}
	}
	at := locate(expr, e)
	text := string(e.Code)
	if len(e.Expr) <= 40 {
		text += " `" + e.Expr + "`"
	}
	if re {
		return &PatternError{value, utf8.RuneCountInString(expr[:at]), text}
	}
	_, offset, _ := translate(value, at)
	return &PatternError{value, offset, text + "; a special character without a backslash is literal"}
}

// locate finds the byte of expr that an error of the parser concerns; the error contains only the text.
func locate(expr string, e *syntax.Error) int {
	if e.Code == syntax.ErrMissingParen || e.Code == syntax.ErrUnexpectedParen {
		return unpaired(expr)
	}
	first := strings.Index(expr, e.Expr)
	if e.Expr == "" || first < 0 {
		return 0
	}
	const tries = 20 // then the first place has to do
	for at, n := first, 0; n < tries; n++ {
		var same *syntax.Error
		_, err := syntax.Parse(expr[:at+len(e.Expr)], syntax.Perl)
		if same, _ = err.(*syntax.Error); same != nil && *same == *e { //nolint:errorlint // as above
			return at
		}
		next := strings.Index(expr[at+1:], e.Expr)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return first
}

// unpaired returns the offset of the first parenthesis without a partner.
func unpaired(expr string) int {
	var open []int
	at := -1
	scan(expr, func(t token) bool {
		switch {
		case t.kind != tokenOperator:
		case t.text[0] == '(' && t.text[len(t.text)-1] != ')':
			open = append(open, t.at)
		case t.text == ")" && len(open) == 0:
			at = t.at
		case t.text == ")":
			open = open[:len(open)-1]
		}
		return at < 0
	})
	switch {
	case at >= 0:
		return at
	case len(open) > 0:
		return open[0]
	default:
		return 0
	}
}
