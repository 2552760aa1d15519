package actionrules

import (
	"fmt"
	"regexp"
	"strings"
)

// Suspicious says what in a value with reversed escaping looks as if it had been
// written for ordinary escaping, as `\.gif` or `/a\?b` do, or for file names, as
// `/docs/*`, and how to write it; "" if nothing does. It is a guess, for a warning.
func Suspicious(value string) string {
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			switch s := unescapedOperator(value, i); {
			case s == "*" && !repeatable(value, i):
				return "* stands for itself here, it is no wildcard; " + bothSpellings(value, starParts)
			case s == "*", s == "+":
				return s + " stands for itself here, it repeats nothing; " + bothSpellings(value, starParts)
			case s == `.\*`, s == `.\+`:
				return ". stands for itself here; for any run of characters " + bothSpellings(value, starParts)
			case s != "":
				itself := "itself"
				if len(s) > 1 {
					itself = "these characters themselves"
				}
				return s + " stands for " + itself + " here; for a regular expression " + bothSpellings(value, operatorParts)
			}
			continue
		}
		if i+1 < len(value) {
			c := value[i+1]
			if escapedLiteral(value, i) {
				return fmt.Sprintf(`\%c is an operator of regular expressions here, not the character; write %c for the character`, c, c)
			}
			if strings.HasPrefix(value[i:], `\[^`) {
				return `^ stands for itself between \[ and \]; write \[\^ for all characters but those that follow`
			}
		}
		i++
	}
	return ""
}

// starless is what to write in place of a value with * at its ends alone, where it is a wildcard to whoever knows
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
		write = "<Domain val=" + quote(text[1:]) + "/>, which matches the host and all below it"
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
	return "* stands for itself here, it is no wildcard; write " + write
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
// expression, or a wildcard, and hardly like a piece of a URL.
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

// repeatable reports whether what stands before i is made to be repeated: a class, any one character, or
// the end of a group or set. Whoever escapes that, and not the repetition, has learned half of it.
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

// part is a piece of a value with both of its spellings.
type part struct{ reversed, ordinary string }

// bothSpellings says how to write a value, with reversed escaping and as an ordinary
// expression.
func bothSpellings(value string, parts func(string) []part) string {
	var reversed, ordinary strings.Builder
	for _, p := range parts(value) {
		reversed.WriteString(p.reversed)
		ordinary.WriteString(p.ordinary)
	}
	return fmt.Sprintf(`write %s, or %s with litteral="false"`, quote(reversed.String()), quote(ordinary.String()))
}

// starParts take * for any run of characters, or for the repetition of what is made for it, and all else as it is.
func starParts(value string) []part {
	var parts []part
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '*' && repeatable(value, i), c == '+' && repeatable(value, i):
			parts = append(parts, part{`\` + value[i:i+1], value[i : i+1]})
		case c == '*':
			parts = append(parts, part{`\.\*`, ".*"})
		case c == '.' && (strings.HasPrefix(value[i:], `.\*`) || strings.HasPrefix(value[i:], `.\+`)):
			parts = append(parts, part{`\.`, "."})
		case c == '\\' && i+1 < len(value): // means an operator already
			i++
			parts = append(parts, part{value[i-1 : i+1], ordinaryOf(value[i])})
		default:
			parts = append(parts, part{value[i : i+1], quoteMeta(c)})
		}
	}
	return parts
}

// operatorParts take the value for an ordinary expression, except for dots and question
// marks that nothing makes an operator: people write those as they are.
func operatorParts(value string) []part {
	var parts []part
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '\\' && i+1 < len(value) {
			if escapedLiteral(value, i) { // as in an ordinary expression, which the value looks like
				parts = append(parts, part{value[i+1 : i+2], value[i : i+2]})
			} else {
				parts = append(parts, part{value[i : i+2], ordinaryOf(value[i+1])})
			}
			i++
			continue
		}
		repeated := i+1 < len(value) && strings.IndexByte("*+?", value[i+1]) >= 0
		repeats := i > 0 && strings.IndexByte(")].*+", value[i-1]) >= 0
		switch {
		case c == '.' && !repeated, c == '?' && !repeats, strings.IndexByte(specials, c) < 0:
			parts = append(parts, part{value[i : i+1], quoteMeta(c)})
		default:
			parts = append(parts, part{`\` + value[i:i+1], value[i : i+1]})
		}
	}
	return parts
}

// ordinaryOf is an escape of reversed escaping in an ordinary expression.
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
