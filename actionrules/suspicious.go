package actionrules

import (
	"fmt"
	"strings"
)

// Suspicious says what in a value with reversed escaping looks as if it had been
// written for ordinary escaping, as `\.gif` or `/a\?b` do; "" if nothing does.
// It is a guess, for a warning.
func Suspicious(value string) string {
	for i := 0; i+1 < len(value); i++ {
		if value[i] != '\\' {
			if s := unescapedOperator(value, i); s != "" {
				return fmt.Sprintf("%s stands for these characters themselves here; "+
					"a regular expression needs a backslash before each special character: %s", s, reverse(s))
			}
			continue
		}
		if c := value[i+1]; escapedLiteral(value, i) {
			return fmt.Sprintf(`\%c is an operator of regular expressions here, not the character; write %c for the character`, c, c)
		}
		i++
	}
	return ""
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

// unescapedOperator is what at i reads like a piece of an ordinary regular
// expression and hardly like one of a URL.
func unescapedOperator(value string, i int) string {
	if strings.IndexByte(".[(^", value[i]) < 0 {
		return ""
	}
	for _, s := range [...]string{".*", ".+", "[^", "[0-9", "[a-z", "[A-Z", "(?:", "(.", "^http"} {
		if strings.HasPrefix(value[i:], s) {
			return s
		}
	}
	return ""
}

// reverse puts a backslash before each special character.
func reverse(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(specials, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
