package actionrules

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain returns the text that an expression without operators matches.
func plain(expr string) string {
	var b strings.Builder
	b.Grow(len(expr))
	scan(expr, func(t token) bool {
		b.WriteRune(t.char)
		return true
	})
	return b.String()
}

// foldExpression applies normalise to the literals of an expression, except for case, which the (?i) flag covers.
// Operators and ranges in brackets are unchanged.
func foldExpression(expr string) string {
	var out, run strings.Builder
	out.Grow(len(expr))
	scan(expr, func(t token) bool {
		if t.kind == tokenLiteral {
			run.WriteRune(t.char)
			return true
		}
		writeFolded(&out, run.String(), t.kind == tokenRepeat)
		run.Reset()
		if t.kind == tokenClass {
			foldClass(&out, t.text)
		} else {
			out.WriteString(t.text)
		}
		return true
	})
	writeFolded(&out, run.String(), false)
	return out.String()
}

// writeFolded writes a run of literals. If a repetition follows, the last character is grouped with its accents, even
// if it has become several or none.
func writeFolded(out *strings.Builder, run string, repeated bool) {
	if run == "" {
		return
	}
	run = decode(run)
	if !repeated {
		out.WriteString(regexp.QuoteMeta(stripMarks(run)))
		return
	}
	last := strings.LastIndexFunc(run, func(r rune) bool { return !unicode.IsMark(r) })
	last = max(last, 0)
	out.WriteString(regexp.QuoteMeta(stripMarks(run[:last])))
	unit := stripMarks(run[last:])
	if utf8.RuneCountInString(unit) == 1 {
		out.WriteString(regexp.QuoteMeta(unit))
		return
	}
	out.WriteString("(?:" + regexp.QuoteMeta(unit) + ")")
}

// foldClass writes a bracket expression, its single members without accents. A character that would become several is
// unchanged.
func foldClass(out *strings.Builder, class string) {
	if isASCII(class) {
		out.WriteString(class)
		return
	}
	members := func(s string) string {
		n := memberEnd(s)
		if strings.HasPrefix(s[n:], "-") && len(s) > n+2 { // a range, the closing bracket not its end
			return s[:n+1+memberEnd(s[n+1:])]
		}
		return s[:n]
	}
	rest := class[1:]
	out.WriteByte('[')
	if strings.HasPrefix(rest, "^") {
		out.WriteByte('^')
		rest = rest[1:]
	}
	for len(rest) > 1 {
		m := members(rest)
		rest = rest[len(m):]
		if f := stripMarks(m); utf8.RuneCountInString(m) == 1 && utf8.RuneCountInString(f) == 1 {
			m = regexp.QuoteMeta(f)
		}
		out.WriteString(m)
	}
	out.WriteByte(']')
}
