package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// HelpWidth is the most columns of a line of help.
const HelpWidth = 100

// Help returns the help of the command of this name, or of the program if name is empty; ok is
// false if there is no such command.
func Help(app *cli.App, name string) (text string, ok bool) {
	if name == "" || name == "help" {
		return appHelp(app), true
	}
	c := app.Command(name)
	if c == nil {
		return "", false
	}
	return commandHelp(described(c)), true
}

// appHelp lists the commands by topic, and the common options.
func appHelp(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sextant: %s\n\nUsage: sextant COMMAND [OPTION]... [ARGUMENT]...\n", app.Usage)
	category := ""
	for _, c := range app.Commands {
		if c.Hidden {
			continue
		}
		if c.Category != category {
			category = c.Category
			fmt.Fprintf(&b, "\n%s\n", category)
		}
		helpRow(&b, 13, c.Name, c.Usage)
	}
	b.WriteString("\nEnvironment\n")
	for _, v := range Variables(app) {
		helpRow(&b, 30, v.Name, v.Sets)
	}
	helpRow(&b, 30, "NO_COLOR", "if set, output has no colours")
	b.WriteString("\nOptions may be before or after the arguments, and override the environment.\n" +
		"sextant help COMMAND shows the options of a command, sextant man the whole manual page.\n")
	return b.String()
}

// commandHelp describes one command: its own options, then those that many have.
func commandHelp(c Command) string {
	var b strings.Builder
	b.WriteString(wrapped("sextant "+c.Name+": "+c.Usage, 0, HelpWidth))
	fmt.Fprintf(&b, "\nUsage: %s\n", strings.TrimSpace("sextant "+c.Name+" [OPTION]... "+c.Arguments))
	if c.Description != "" {
		b.WriteString("\n")
		for paragraph := range strings.SplitSeq(c.Description, "\n") {
			b.WriteString(wrapped(paragraph, len(paragraph)-len(strings.TrimLeft(paragraph, " ")), HelpWidth))
		}
	}
	for _, part := range []struct {
		title string
		flags []Flag
	}{{"Options", c.own()}, {"Common options", c.common()}} {
		if len(part.flags) > 0 {
			fmt.Fprintf(&b, "\n%s\n", part.title)
		}
		for _, f := range part.flags {
			words := f.Usage
			if f.Preset != "" {
				words += " (default: " + f.Preset + ")"
			}
			helpRow(&b, 30, f.Term(), words)
		}
	}
	return b.String()
}

// helpRow writes a term and its description beside it, or below if the term is long.
func helpRow(b *strings.Builder, column int, term, words string) {
	text := wrapped(words, column, HelpWidth)
	if len(term)+4 <= column {
		fmt.Fprintf(b, "  %-*s%s", column-2, term, strings.TrimLeft(text, " "))
		return
	}
	fmt.Fprintf(b, "  %s\n%s", term, text)
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
