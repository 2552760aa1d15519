package actionrules

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func itoa(n int) string             { return strconv.Itoa(n) }
func repeat(s string, n int) string { return strings.Repeat(s, n) }

func TestTranslate(t *testing.T) {
	for value, want := range map[string]string{
		`http://h/immobilier/\.\+/\[0-9\]\{7\}`: `http://h/immobilier/.+/[0-9]{7}`,
		`foo.com`:                               `foo\.com`,
		`.gif`:                                  `\.gif`,
		`q=foo`:                                 `q=foo`,
		`/a?b`:                                  `/a\?b`,
		`\.\*`:                                  `.*`,
		`^$.*+?[](){}|`:                         `\^\$\.\*\+\?\[\]\(\)\{\}\|`,
		`\^\$\.\*\+\?\[\]\(\)\{\}\|`:            `^$.*+?[](){}|`,
		`\d\w\s\b\D\W\S\B`:                      `\d\w\s\b\D\W\S\B`,
		`a\\b`:                                  `a\\b`,
		`\[.^-]\]`:                              `[\.\^-\]]`,
		`\[\^/\]\+`:                             `[^/]+`,
		`é`:                                     `é`,
	} {
		if got, err := Translate(value); got != want || err != nil {
			t.Errorf("%s: %s %v, want %s", value, got, err, want)
		}
	}
}

func TestPatternErrors(t *testing.T) {
	for _, c := range []struct {
		value  string
		re     bool
		offset int
		text   string
	}{
		{``, false, 0, "empty"},
		{``, true, 0, "empty"},
		{`ab\q`, false, 2, `\q has no meaning`},
		{`é\-`, false, 1, `\- has no meaning`},
		{`ab\`, false, 2, "ends with a backslash"},
		{"ab\xff", false, 2, "not UTF-8"},
		{`é\*\+x`, false, 1, "nested repetition"},
		{`?\?a\+\+`, false, 4, "nested repetition"},
		{`\*a`, false, 0, "missing argument"},
		{`a.\*\(b`, false, 4, "missing closing )"},
		{`a\)b`, false, 1, "unexpected )"},
		{`a\)\|\(b`, false, 1, "unexpected )"},
		{`x\[a`, false, 1, "missing closing ]"},
		{`x\[z-a\]`, false, 3, "invalid character class range"},
		{`xa\{2000\}`, false, 2, "repeat count"},
		{`a\.(`, true, 3, "missing closing )"},
		{`é+++`, true, 1, "nested repetition"},
		{`(?=a)`, true, 0, ""},
		{`a\8`, true, 1, "escape"},
		{"\u0301", false, 0, "accents"},
	} {
		_, err := compileAtom(Atom{Value: c.value, Regexp: c.re, Kind: KindInside})
		p, ok := errors.AsType[*PatternError](err)
		if !ok || p.Offset != c.offset || !strings.Contains(p.Text, c.text) {
			t.Errorf("%q: %#v, want %q at %d", c.value, err, c.text, c.offset)
		}
	}
}

func TestRangeErrors(t *testing.T) {
	for value, offset := range map[string]int{
		"": 0, "5": 0, "[5": 0, "[": 0, "[]": 1, "[:]": 1, "[a]": 1, "[1:b]": 3, "[:b]": 2, "[-1:]": 1, "[+1:]": 1, "[2:1]": 1,
		"[1:2:3]": 3, "[99999999999999999999]": 1, "[1: ]": 3,
	} {
		_, err := compileAtom(Atom{Kind: KindLength, Value: value})
		if p, ok := errors.AsType[*PatternError](err); !ok || p.Offset != offset || !strings.Contains(p.Text, "[:10]") {
			t.Errorf("%q: %#v, want an error at %d", value, err, offset)
		}
	}
}

func TestSuspicious(t *testing.T) {
	for value, want := range map[string]bool{
		`\.gif`: true, `\?`: true, `www\.foo\.com`: true, `/a\?b`: true, `/page\?id=`: true, `http://h/.*`: true, `/[0-9]`: true,
		`/a/.+`: true, `^http://h`: true, `\.`: true,
		`.gif`: false, `foo.com`: false, `/a?b`: false, `\.\*`: false, `/\.\+/x`: false, `/\d\+`: false, `https\?://h`: false,
		`http://h/immobilier/\.\+/\[0-9\]\{7\}`: false, `\(a\|b\)\?`: false, `q=c++`: false, `\\x`: false, `a`: false, ``: false,
		`/\.\{3\}`: false,
	} {
		if got := Suspicious(value); (got != "") != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	for _, s := range []string{`http://h/\.\+/\[0-9\]\{7\}`, `a\\b`, `^$.*+?[](){}|`, `\q`, `é\*\+x`, `\(\?i\)a`, "\xff", `%C3%A9\+`, `\[é-ü\]`, `\Q`} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, value string, re bool) {
		Suspicious(value)
		if escaped := reverseLiteral(value); utf8.ValidString(value) && value != "" {
			if expr, err := Translate(escaped); err != nil {
				t.Fatalf("%q: %v", escaped, err)
			} else if got := regexp.MustCompile(`(?s)\A(?:` + expr + `)\z`); !got.MatchString(value) || got.MatchString(value+"x") {
				t.Fatalf("%q became %q, which does not match it alone", escaped, expr)
			}
		}
		for n := range Norm(len(normNames)) {
			a := Atom{Kind: KindInside, Norm: n, Value: value, Regexp: re}
			_, err := compileAtom(a)
			if p, ok := errors.AsType[*PatternError](err); ok && (p.Offset < 0 || p.Offset > utf8.RuneCountInString(value)) {
				t.Fatalf("%q: offset %d", value, p.Offset)
			}
			if err != nil {
				continue
			}
			// What has no operator means the same as a literal and as an expression.
			expr, literal, _ := expression(value, re)
			if _, err := regexp.Compile(expr); err != nil && len(expr) < 1000 {
				t.Fatalf("%q accepted, but: %v", value, err)
			}
			if literal && !regexp.MustCompile(`\A(?:`+unquote(expr)+`)\z`).MatchString(plain(expr)) {
				t.Fatalf("%q does not match its own text %q", expr, plain(expr))
			}
		}
	})
}

// reverseLiteral writes a text so that it stands for itself.
func reverseLiteral(s string) string { return strings.ReplaceAll(s, `\`, `\\`) }
