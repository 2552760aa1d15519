package actionrules

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenLiteral  tokenKind = iota // one character that stands for itself
	tokenRepeat                    // * + ? {n,m}, with the ? of a lazy one
	tokenClass                     // [...]
	tokenOperator                  // all else
)

// token is a piece of an RE2 expression.
type token struct {
	kind tokenKind
	at   int    // byte offset
	text string // as written
	char rune   // of a literal
}

// scan splits an RE2 expression (syntax of package regexp/syntax) and hands the tokens to yield until it returns false.
// It accepts every string; invalid parts are returned as operators, and the parser reports the error.
func scan(expr string, yield func(token) bool) {
	for i := 0; i < len(expr); {
		if strings.HasPrefix(expr[i:], `\Q`) {
			end := strings.Index(expr[i+2:], `\E`)
			quoted, next := expr[i+2:], len(expr)
			if end >= 0 {
				quoted, next = quoted[:end], i+2+end+2
			}
			for j, r := range quoted {
				if !yield(token{tokenLiteral, i + 2 + j, string(r), r}) {
					return
				}
			}
			i = next
			continue
		}
		kind, n, r := scanOne(expr[i:])
		if !yield(token{kind, i, expr[i : i+n], r}) {
			return
		}
		i += n
	}
}

// scanOne reads the token that s begins with.
func scanOne(s string) (kind tokenKind, n int, char rune) {
	switch s[0] {
	case '\\':
		return scanEscape(s)
	case '[':
		return tokenClass, classEnd(s), 0
	case '(':
		return tokenOperator, groupEnd(s), 0
	case '*', '+', '?':
		return tokenRepeat, lazy(s, 1), 0
	case '{':
		if end := repeatEnd(s); end > 0 {
			return tokenRepeat, lazy(s, end), 0
		}
	case ')', '|', '.', '^', '$':
		return tokenOperator, 1, 0
	}
	r, size := utf8.DecodeRuneInString(s)
	return tokenLiteral, size, r
}

// scanEscape reads a backslash and the rest of its escape.
func scanEscape(s string) (kind tokenKind, n int, char rune) {
	if len(s) < 2 {
		return tokenOperator, 1, 0
	}
	c := s[1]
	switch {
	case strings.IndexByte("afnrtv", c) >= 0:
		return tokenLiteral, 2, rune("\a\f\n\r\t\v"[strings.IndexByte("afnrtv", c)])
	case c == 'x':
		return scanHex(s)
	case c == 'p' || c == 'P':
		if strings.HasPrefix(s[2:], "{") {
			return tokenOperator, max(through(s, "}"), 2), 0
		}
		_, size := utf8.DecodeRuneInString(s[2:])
		return tokenOperator, 2 + size, 0
	case c == '0', '1' <= c && c <= '7' && len(s) > 2 && '0' <= s[2] && s[2] <= '7':
		for n = 1; n < 4 && n < len(s) && '0' <= s[n] && s[n] <= '7'; n++ {
			char = char<<3 | rune(s[n]-'0')
		}
		return tokenLiteral, n, char
	case c < utf8.RuneSelf && !isAlphanumeric(c):
		return tokenLiteral, 2, rune(c)
	default:
		_, size := utf8.DecodeRuneInString(s[1:])
		return tokenOperator, 1 + size, 0
	}
}

// scanHex reads \x41 or \x{41}.
func scanHex(s string) (kind tokenKind, n int, char rune) {
	digits, n := "", 4
	if strings.HasPrefix(s[2:], "{") {
		if end := through(s, "}"); end > 0 {
			digits, n = s[3:end-1], end
		}
	} else if len(s) >= 4 {
		digits = s[2:4]
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || v > utf8.MaxRune {
		return tokenOperator, 2, 0
	}
	return tokenLiteral, n, rune(v)
}

// classEnd returns the length of the bracket expression that s begins with.
func classEnd(s string) int {
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	for first := true; i < len(s) && (s[i] != ']' || first); first = false {
		i += memberEnd(s[i:])
	}
	return min(i+1, len(s))
}

// memberEnd returns the length of the member of a bracket expression that s begins with.
func memberEnd(s string) int {
	if strings.HasPrefix(s, "[:") {
		if end := through(s, "]"); end > 3 && s[end-2] == ':' {
			return end
		}
	}
	if s[0] == '\\' {
		_, n, _ := scanEscape(s)
		return n
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// groupEnd returns the length of an opening parenthesis with its flags or name.
func groupEnd(s string) int {
	switch {
	case strings.HasPrefix(s, "(?P<"), strings.HasPrefix(s, "(?<"):
		return max(through(s, ">"), 1)
	case strings.HasPrefix(s, "(?"):
		return max(through(s, ":)"), 1)
	default:
		return 1
	}
}

// repeatEnd returns the length of {n}, {n,} or {n,m}, or 0 if s does not begin with one: the brace is then literal.
func repeatEnd(s string) int {
	end := through(s, "}")
	if end == 0 {
		return 0
	}
	low, high, comma := strings.Cut(s[1:end-1], ",")
	if !isNumber(low) || comma && high != "" && !isNumber(high) {
		return 0
	}
	return end
}

// through returns the length of s up to and including the first of the characters, or 0 if it is not near. The limit
// keeps a hostile pattern from being searched again for each construct.
func through(s, chars string) int {
	const near = 200
	return strings.IndexAny(s[:min(len(s), near)], chars) + 1
}

// lazy adds the question mark of a non-greedy repetition.
func lazy(s string, n int) int {
	if strings.HasPrefix(s[n:], "?") {
		n++
	}
	return n
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
