package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// HelpWidth is the most columns of a line of help.
const HelpWidth = 100

// Group is what commands have in common, for the help.
type Group struct {
	Title    string
	Commands []string
}

// Groups are the commands in the order of the help, by what one wants.
func Groups() []Group {
	return []Group{
		{"Crawl", []string{"demo", "run", "add", "refresh", "remove", "pause", "resume", "reload"}},
		{"Look", []string{"status", "console", "urls", "explain", "fetch", "report", "events"}},
		{"Decide", []string{"deletions", "outbox"}},
		{"Configure", []string{"check", "fmt", "test", "preview", "import", "schema"}},
		{"Maintain", []string{"backup", "restore", "verify", "push"}},
		{"Access and notices", []string{"token", "notify"}},
		{"Tools", []string{"indexer", "completion", "man", "version", "help"}},
	}
}

// Explained prepares the help that a command line asks for, and makes "help COMMAND" of it
// what the library knows. Args have the command first, then its flags.
func Explained(app *cli.App, args []string) []string {
	app.CustomAppHelpTemplate = literally(appHelp(app))
	if len(args) < 2 {
		return args
	}
	name := args[1]
	if name == "help" {
		for _, a := range args[2:] {
			if a != "--" {
				name = a
				break
			}
		}
	}
	command := app.Command(name)
	if command == nil || command.Name == "help" {
		return args
	}
	command.CustomHelpTemplate = literally(commandHelp(app, name))
	if args[1] == "help" || asksHelp(args[2:]) {
		return []string{args[0], name, "--help"} // alone: the library takes an argument beside it for a command
	}
	return args
}

// asksHelp: one of the options asks for help.
func asksHelp(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "--help" || a == "-help" })
}

// literally keeps the library's template from reading anything into a text.
func literally(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

// appHelp lists the commands by what they are for, and what they have in common.
func appHelp(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sextant: %s\n\nUsage: sextant COMMAND [OPTION]... [ARGUMENT]...\n", app.Usage)
	for _, group := range Groups() {
		fmt.Fprintf(&b, "\n%s\n", group.Title)
		for _, name := range group.Commands {
			if c := app.Command(name); c != nil && !c.Hidden {
				helpRow(&b, 13, c.Name, c.Usage)
			}
		}
	}
	b.WriteString("\nEnvironment\n")
	for _, v := range Variables(app) {
		helpRow(&b, 30, v.Name, v.Sets)
	}
	helpRow(&b, 30, "NO_COLOR", "no colours, if it is set")
	b.WriteString("\nOptions may stand before or after the arguments, and override the environment.\n" +
		"sextant help COMMAND shows the options of a command, sextant man the whole manual page.\n")
	return b.String()
}

// commandHelp tells of one command: its own options, then those that many have.
func commandHelp(app *cli.App, name string) string {
	var b strings.Builder
	for _, c := range Reference(app) {
		if c.Name != name {
			continue
		}
		b.WriteString(wrapped("sextant "+c.Name+": "+c.Usage, 0))
		fmt.Fprintf(&b, "\nUsage: %s\n", strings.TrimSpace("sextant "+c.Name+" [OPTION]... "+c.Arguments))
		if c.Description != "" {
			b.WriteString("\n")
			for paragraph := range strings.SplitSeq(c.Description, "\n") {
				b.WriteString(wrapped(paragraph, len(paragraph)-len(strings.TrimLeft(paragraph, " "))))
			}
		}
		own, common := c.Flags, []Flag(nil)
		if i := slices.IndexFunc(c.Flags, IsCommon); i >= 0 {
			own = nil
			for _, f := range c.Flags {
				if IsCommon(f) {
					common = append(common, f)
				} else {
					own = append(own, f)
				}
			}
		}
		writeOptions(&b, "Options", own)
		writeOptions(&b, "Common options", common)
	}
	return b.String()
}

func writeOptions(b *strings.Builder, title string, flags []Flag) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, f := range flags {
		words := f.Usage
		if f.Preset != "" && !strings.Contains(f.Usage, "default") {
			words += " (default: " + f.Preset + ")"
		}
		helpRow(b, 30, strings.TrimSpace(strings.Join(f.Names, ", ")+" "+f.Placeholder), words)
	}
}

// helpRow writes a term and what it means beside it, or below where the term is long.
func helpRow(b *strings.Builder, column int, term, words string) {
	text := wrapped(words, column)
	if len(term)+4 <= column {
		fmt.Fprintf(b, "  %-*s%s", column-2, term, strings.TrimLeft(text, " "))
		return
	}
	fmt.Fprintf(b, "  %s\n%s", term, text)
}

// wrapped breaks words into lines that are indented.
func wrapped(words string, indent int) string {
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(words) {
		switch {
		case width == 0:
			b.WriteString(strings.Repeat(" ", indent))
			width = indent
		case width+1+len([]rune(word)) > HelpWidth:
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

// Variable is one of the environment, and which options it sets.
type Variable struct{ Name, Sets string }

// Variables lists those that set options, each once.
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
