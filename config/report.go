package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
)

// maxProblems bounds a report, so that a hostile file cannot exhaust the memory.
const maxProblems = 10_000

// Problem is one message about a configuration. Line and Column of At count from 1, Column in characters; Line is 0 for
// the file as a whole, and Column for a whole line.
type Problem struct {
	At      actionrules.Position
	Message string
}

// String returns "file:line:column: message", without parts that are 0.
func (p Problem) String() string { return p.At.String() + ": " + p.Message }

// Report holds all messages about a configuration, each list sorted by position: the configuration file first, then the
// files that it names.
type Report struct {
	// Errors make the configuration unusable.
	Errors []Problem
	// Warnings are about probable mistakes.
	Warnings []Problem
	// Notes are about known settings without effect here, and advice.
	Notes []Problem
	// Silenced counts the warnings and notes that comments in the files silence.
	Silenced int

	mainFile string
	allowed  []*allowance
}

// AddWarnings adds problems found outside the files, except silenced ones.
func (r *Report) AddWarnings(problems []Problem) {
	for _, p := range problems {
		if r.silent(p) {
			r.Silenced++
		} else {
			r.Warnings = append(r.Warnings, p)
		}
	}
	if len(r.Warnings) > 0 {
		r.sort(r.mainFile)
	}
}

// Err returns nil if there are no errors, else an error with all of them, one a line.
func (r Report) Err() error {
	if len(r.Errors) == 0 {
		return nil
	}
	return reportError(r.Errors)
}

type reportError []Problem

func (e reportError) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sort sorts the lists, and removes duplicates that several Crawlers report about the same file.
func (r *Report) sort(mainFile string) {
	for _, list := range []*[]Problem{&r.Errors, &r.Warnings, &r.Notes} {
		slices.SortStableFunc(*list, func(a, b Problem) int {
			if a.At.File != b.At.File && (a.At.File == mainFile || b.At.File == mainFile) {
				if a.At.File == mainFile {
					return -1
				}
				return 1
			}
			return cmp.Or(strings.Compare(a.At.File, b.At.File),
				cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
		})
		*list = slices.Compact(*list)
	}
}

func (r *Report) errorf(at actionrules.Position, format string, args ...any) {
	appendProblem(&r.Errors, at, "errors", format, args)
}

func (r *Report) warnf(at actionrules.Position, format string, args ...any) {
	appendProblem(&r.Warnings, at, "warnings", format, args)
}

func (r *Report) notef(at actionrules.Position, format string, args ...any) {
	appendProblem(&r.Notes, at, "notes", format, args)
}

// full reports whether no further error is listed.
func (r *Report) full() bool { return len(r.Errors) >= maxProblems }

func appendProblem(list *[]Problem, at actionrules.Position, what, format string, args []any) {
	switch n := len(*list); {
	case n < maxProblems-1:
		*list = append(*list, Problem{at, fmt.Sprintf(format, args...)})
	case n == maxProblems-1:
		*list = append(*list, Problem{at, fmt.Sprintf("too many %s: the rest are not all listed", what)})
	}
}

// quote returns a piece of the file on one line, shortened. It keeps backslashes, which matter in patterns.
func quote(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, clip(s)) + `"`
}

func clip(s string) string {
	const most = 80
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "..."
		}
	}
	return s
}
