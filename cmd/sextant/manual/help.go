package manual

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"
)

// HelpWidth is the most columns of a line of help.
const HelpWidth = 100

// helpTexts are the templates of Help.
//
//go:embed help.txt.tmpl
var helpTexts string

// Help returns the help of the command of this name, or of the program if name is empty; ok is
// false if there is no such command.
func Help(app *cli.App, name string) (text string, ok bool) {
	t := template.Must(template.New("help").Funcs(template.FuncMap{
		"own": Command.own, "common": Command.common, "row": helpRow, "wrap": wrappedLines,
		"option": func(f Flag) string {
			if f.Preset != "" {
				f.Usage += " (default: " + f.Preset + ")"
			}
			return helpRow(30, f.Term(), f.Usage)
		},
	}).Parse(helpTexts))
	var b strings.Builder
	c := app.Command(name)
	switch {
	case name == "" || name == "help":
		_ = t.ExecuteTemplate(&b, "program", map[string]any{"Usage": app.Usage, "Commands": Reference(app), "Variables": Variables(app)})
	case c != nil:
		_ = t.ExecuteTemplate(&b, "command", described(c)) // into memory
	}
	return b.String(), b.Len() > 0
}

// helpRow returns a term with its description beside it, or below if the term is long.
func helpRow(column int, term, words string) string {
	text := wrapped(words, column, HelpWidth)
	if len(term)+4 <= column {
		return fmt.Sprintf("  %-*s%s", column-2, term, strings.TrimLeft(text, " "))
	}
	return "  " + term + "\n" + text
}

// wrappedLines wraps each line of a text, and keeps its indent.
func wrappedLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(wrapped(line, len(line)-len(strings.TrimLeft(line, " ")), HelpWidth))
	}
	return b.String()
}

// wrapped breaks text into lines that are indented and at most wide columns long.
func wrapped(words string, indent, wide int) string {
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(words) {
		switch {
		case width == 0:
			b.WriteString(strings.Repeat(" ", indent))
			width = indent
		case width+1+len([]rune(word)) > wide:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			width = indent
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len([]rune(word))
	}
	return b.String() + "\n"
}

// Variable is an environment variable, and the options that it sets.
type Variable struct{ Name, Sets string }

// Variables lists the environment variables that set options, each once.
func Variables(app *cli.App) []Variable {
	var out []Variable
	for _, c := range Reference(app) {
		for _, f := range c.Flags {
			for _, name := range f.Variables {
				if slices.ContainsFunc(out, func(v Variable) bool { return v.Name == name }) {
					continue
				}
				of := " of " + c.Name
				if IsCommon(f) {
					of = ""
				}
				out = append(out, Variable{name, f.Names[0] + of})
			}
		}
	}
	slices.SortFunc(out, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return out
}
