package actionrules

import (
	"fmt"
	"regexp"
	"strings"
)

// Suspicious describes why a value with reversed escaping looks as if it had been written for ordinary escaping, such
// as `\.gif` or `/a\?b`, or for file names, such as `/docs/*`, and how to write it; otherwise it returns "". It is a
// guess, for a warning.
func Suspicious(value string) string {
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			switch s := unescapedOperator(value, i); {
			case s == "*" && !repeatable(value, i):
				return "* is literal here, not a wildcard; " + asExpression(withStars(value))
			case s == "*", s == "+":
				return s + " is literal here and does not repeat anything; " + asExpression(withStars(value))
			case s == `.\*`, s == `.\+`:
				return ". is literal here; for any characters " + asExpression(withStars(value))
			case s != "":
				return s + " is literal here; for a regular expression " + asExpression(withOperators(value))
			}
			continue
		}
		if i+1 < len(value) {
			c := value[i+1]
			if escapedLiteral(value, i) {
				return fmt.Sprintf(`\%c is an operator of regular expressions here, not the character; write %c for the character`, c, c)
			}
			if strings.HasPrefix(value[i:], `\[^`) {
				return `^ is literal between \[ and \]; write \[\^ for all characters except those that follow`
			}
		}
		i++
	}
	return ""
}

// starless returns the correction for a value with * only at its ends, where it was probably meant as a wildcard of
// file names; "" for any other value.
func starless(a Atom) string {
	text := strings.Trim(a.Value, "*")
	open, cut := strings.HasPrefix(a.Value, "*"), strings.HasSuffix(a.Value, "*")
	switch {
	case text == "", text == a.Value, strings.Contains(text, `\`), Suspicious(text) != "":
		return ""
	case cut && strings.IndexByte(".])", text[len(text)-1]) >= 0: // an ordinary expression
		return ""
	case a.Field == FieldQuery && !open: // a query may end in an asterisk
		return ""
	}
	write := quote(text)
	switch {
	case a.Kind == KindInside, a.Kind == KindPrefix && !open, a.Kind == KindSuffix && !cut:
	case a.Field == FieldHost && strings.HasPrefix(a.Value, "*.") && !cut:
		write = "<Domain val=" + quote(text[1:]) + "/>, which matches the host and its subdomains"
	case a.Field == FieldQuery:
		write = "<InQuery val=" + write + "/>"
	case (a.Field == FieldPath || a.Field == FieldURL) && text[0] == '.' && !cut:
		write = "<Ext val=" + write + "/>"
	default:
		kind := KindInside
		if a.Kind == KindExact && !open {
			kind = KindPrefix
		} else if a.Kind == KindExact && !cut {
			kind = KindSuffix
		}
		write = fmt.Sprintf("<Atom field=%q kind=%q value=%s/>", a.Field, kind, write)
	}
	return "* is literal here, not a wildcard; write " + write
}

// escapedLiteral reports whether the escape at i is more likely a character than an
// operator.
func escapedLiteral(value string, i int) bool {
	before, after := value[:i], value[i+2:]
	switch value[i+1] {
	case '.':
		// Any one character is rare; with a repetition or at the end of a group it is not.
		return after == "" || isAlphanumeric(after[0]) || strings.HasPrefix(after, `\.`)
	case '?':
		if strings.HasSuffix(before, "https") { // http or https
			return false
		}
		return before == "" || !endsInOperator(before)
	case '+', '*', '{', '}':
		return before == ""
	default:
		return false
	}
}

// endsInOperator reports whether s ends in an escape that a repetition may follow.
func endsInOperator(s string) bool {
	n := len(s)
	return n >= 2 && s[n-2] == '\\' && strings.IndexByte(`.)]}*+?dDwWsS`, s[n-1]) >= 0
}

// unescapedOperator returns the text at i that looks like an ordinary regular expression or a wildcard rather than part
// of a URL.
func unescapedOperator(value string, i int) string {
	rest := value[i:]
	switch value[i] {
	case '.', '[', '(':
		for _, s := range [...]string{".*", ".+", `.\*`, `.\+`, "[^", "[0-9", "[a-z", "[A-Z", "(?:", "(?i", "(."} {
			if strings.HasPrefix(rest, s) {
				return s
			}
		}
	case '^':
		if i == 0 && len(value) > 1 {
			return "^"
		}
	case '$':
		if i > 0 && i == len(value)-1 {
			return "$"
		}
	case '|':
		if i > 0 && i < len(value)-1 {
			return "|"
		}
	case '{':
		if i > 1 && value[i-2] == '\\' {
			return counted.FindString(rest)
		}
	case '*':
		return "*"
	case '+':
		if repeatable(value, i) {
			return "+"
		}
	}
	return ""
}

// repeatable reports whether the text before i is meant to be repeated: a class, any one character, or the end of a
// group or set. Escaping that, but not the repetition, is a common mistake.
func repeatable(value string, i int) bool {
	before := value[:i]
	if before == "" || strings.IndexByte(".)]dDwWsS", before[i-1]) < 0 {
		return false
	}
	rest := strings.TrimRight(before[:i-1], `\`)
	return (i-1-len(rest))%2 == 1
}

// counted is a repetition such as {4} or {2,}.
var counted = regexp.MustCompile(`^\{\d+(,\d*)?\}`)

// asExpression returns a value written as an ordinary expression.
func asExpression(expression string) string {
	return fmt.Sprintf(`write %s with litteral="false"`, quote(expression))
}

// withStars returns the expression of a value in which * is any run of characters, or repeats the element before it,
// and everything else is literal.
func withStars(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case (c == '*' || c == '+') && repeatable(value, i):
			b.WriteByte(c)
		case c == '*':
			b.WriteString(".*")
		case c == '.' && (strings.HasPrefix(value[i:], `.\*`) || strings.HasPrefix(value[i:], `.\+`)):
			b.WriteByte(c)
		case c == '\\' && i+1 < len(value): // means an operator already
			i++
			b.WriteString(ordinaryOf(value[i]))
		default:
			b.WriteString(quoteMeta(c))
		}
	}
	return b.String()
}

// withOperators treats the value as an ordinary expression, except for dots and question marks that are not clearly
// operators: people often write those literally.
func withOperators(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '\\' && i+1 < len(value) {
			if escapedLiteral(value, i) { // as in an ordinary expression, which the value looks like
				b.WriteString(value[i : i+2])
			} else {
				b.WriteString(ordinaryOf(value[i+1]))
			}
			i++
			continue
		}
		repeated := i+1 < len(value) && strings.IndexByte("*+?", value[i+1]) >= 0
		repeats := i > 0 && strings.IndexByte(")].*+", value[i-1]) >= 0
		if c == '.' && !repeated || c == '?' && !repeats {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// ordinaryOf returns an escape of reversed escaping in an ordinary expression.
func ordinaryOf(c byte) string {
	if strings.IndexByte(specials, c) >= 0 {
		return string([]byte{c})
	}
	return `\` + string([]byte{c})
}

func quoteMeta(c byte) string {
	if strings.IndexByte(specials, c) >= 0 || c == '\\' {
		return `\` + string([]byte{c})
	}
	return string([]byte{c})
}
