package actionrules

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// String returns file:line:column, as far as known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	default:
		return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
	}
}

// Error is one fault of a rule set.
type Error struct {
	// At is the position of the fault. For a pattern it is a character in the value; Atom.At is the value's first
	// character.
	At Position
	// Rule is the index of the rule, -1 for a fault of a root or of a condition alone.
	Rule int
	// Err describes the fault and the correction; a *PatternError for a pattern.
	Err error
}

func (e *Error) Error() string {
	where := e.At.String()
	if where == "" && e.Rule >= 0 {
		where = "rule " + strconv.Itoa(e.Rule+1)
	}
	if where == "" {
		return e.Err.Error()
	}
	return where + ": " + e.Err.Error()
}

// Unwrap returns the fault itself.
func (e *Error) Unwrap() error { return e.Err }

// PatternError is a fault of a pattern or a length range.
type PatternError struct {
	Value  string // the whole value
	Offset int    // where in the value, in characters from 0
	Text   string // the fault, and the correction
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("pattern %s, character %d: %s", quote(e.Value), e.Offset+1, e.Text)
}

// quote shows a value, cut to a length that a line can bear.
func quote(s string) string {
	const most = 120
	if len(s) <= most {
		return `"` + s + `"`
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return `"` + s[:cut] + `..."`
}
