package crawlspace

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/actionrules"
)

// word is a run of non-blank characters in a line. Its column counts characters from 1.
type word struct {
	text   string
	column int
}

// line is a line of a file of rules or entries, without its comment.
type line struct {
	number int
	words  []word
}

// text is the line with single blanks.
func (l line) text() string {
	var b strings.Builder
	for i, w := range l.words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// faults gathers the errors of one file or value, each an *actionrules.Error.
type faults struct {
	file string
	errs []error
}

func (f *faults) add(line, column int, format string, args ...any) {
	f.errs = append(f.errs, fault(actionrules.Position{File: f.file, Line: line, Column: column}, format, args...))
}

func fault(at actionrules.Position, format string, args ...any) error {
	return &actionrules.Error{At: at, Rule: -1, Err: fmt.Errorf(format, args...)}
}

// readLines splits a file into its lines and hands those that are not empty to
// yield. A comment begins with # at the start of a line or behind a blank. Lines
// that are not text become faults.
func (f *faults) readLines(content []byte, yield func(line)) {
	text := strings.TrimPrefix(string(content), "\ufeff")
	number := 0
	for raw := range strings.Lines(text) {
		number++
		raw = strings.TrimRight(raw, "\r\n")
		if column, what := notText(raw); column > 0 {
			f.add(number, column, "%s; write the file as UTF-8 text", what)
			continue
		}
		if l := (line{number, words(raw)}); len(l.words) > 0 {
			yield(l)
		}
	}
}

// notText returns the column of the first character that no rule can hold, or 0.
func notText(s string) (column int, what string) {
	column = 1
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			return column, fmt.Sprintf("the byte %#x is not UTF-8", s[i])
		}
		if r < ' ' && r != '\t' || r == 0x7f {
			return column, fmt.Sprintf("the control character %q", r)
		}
		column++
	}
	return 0, ""
}

// words splits a line at blanks, up to a comment.
func words(s string) []word {
	var all []word
	column, start, startColumn := 1, -1, 0
	for i, r := range s {
		blank := r == ' ' || r == '\t'
		switch {
		case blank && start >= 0:
			all = append(all, word{s[start:i], startColumn})
			start = -1
		case !blank && start < 0:
			if r == '#' {
				return all
			}
			start, startColumn = i, column
		}
		column++
	}
	if start >= 0 {
		all = append(all, word{s[start:], startColumn})
	}
	return all
}

// clip quotes a value in an error, cut to a length that a line can bear.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q...", s[:cut])
}

// printable reports whether s is of visible ASCII characters only.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
