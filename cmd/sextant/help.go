package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// helpWidth is the most columns of a line of help.
const helpWidth = 100

// commandGroups are the commands in the order of the help, by what one wants.
func commandGroups() []struct {
	title    string
	commands []string
} {
	return []struct {
		title    string
		commands []string
	}{
		{"Crawl", []string{"demo", "run", "add", "refresh", "remove", "pause", "resume", "reload"}},
		{"Look", []string{"status", "console", "urls", "explain", "fetch", "report", "events"}},
		{"Decide", []string{"deletions", "outbox"}},
		{"Configure", []string{"check", "fmt", "test", "preview", "import", "schema"}},
		{"Maintain", []string{"backup", "restore", "verify", "push"}},
		{"Access and notices", []string{"token", "notify"}},
		{"Tools", []string{"indexer", "completion", "man", "version", "help"}},
	}
}

// helpCommand is there to be listed and completed: explained makes help of it.
func helpCommand() *cli.Command {
	return &cli.Command{Name: "help", Usage: "show what a command does, and its options", ArgsUsage: "[COMMAND]", Action: func(c *cli.Context) error {
		if name := c.Args().First(); name != "" && name != "help" {
			return wrongUse("there is no command %q%s", name, didYouMean(c.App, name))
		}
		return cli.ShowAppHelp(c)
	}}
}

// explained prepares the help that a command line asks for, and makes "help COMMAND" of it
// what the library knows. Args are as flagsFirst leaves them.
func explained(app *cli.App, args []string) []string {
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
	if args[1] == "help" {
		return []string{args[0], name, "--help"}
	}
	return args
}

// literally keeps the library's template from reading anything into a text.
func literally(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

// appHelp lists the commands by what they are for, and what they have in common.
func appHelp(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sextant: %s\n\nUsage: sextant COMMAND [OPTION]... [ARGUMENT]...\n", app.Usage)
	for _, group := range commandGroups() {
		fmt.Fprintf(&b, "\n%s\n", group.title)
		for _, name := range group.commands {
			if c := app.Command(name); c != nil && !c.Hidden {
				helpRow(&b, 13, c.Name, c.Usage)
			}
		}
	}
	b.WriteString("\nEnvironment\n")
	for _, v := range variables(app) {
		helpRow(&b, 30, v.name, v.sets)
	}
	helpRow(&b, 30, "NO_COLOR", "no colours, if it is set to anything")
	b.WriteString("\nOptions stand before or after the arguments, and count before the environment.\n" +
		"sextant help COMMAND shows the options of a command, sextant man the whole manual page.\n")
	return b.String()
}

// commandHelp tells of one command: its own options, then those that many have.
func commandHelp(app *cli.App, name string) string {
	var b strings.Builder
	for _, c := range reference(app) {
		if c.name != name {
			continue
		}
		b.WriteString(wrapped("sextant "+c.name+": "+c.usage, 0))
		fmt.Fprintf(&b, "\nUsage: %s\n", strings.TrimSpace("sextant "+c.name+" [OPTION]... "+c.arguments))
		if c.description != "" {
			b.WriteString("\n")
			for paragraph := range strings.SplitSeq(c.description, "\n") {
				b.WriteString(wrapped(paragraph, len(paragraph)-len(strings.TrimLeft(paragraph, " "))))
			}
		}
		own, common := c.flags, []flagReference(nil)
		if i := slices.IndexFunc(c.flags, isCommon); i >= 0 {
			own = nil
			for _, f := range c.flags {
				if isCommon(f) {
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

func writeOptions(b *strings.Builder, title string, flags []flagReference) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, f := range flags {
		words := f.usage
		if f.preset != "" && !strings.Contains(f.usage, "default") {
			words += " (default: " + f.preset + ")"
		}
		helpRow(b, 30, strings.TrimSpace(strings.Join(f.names, ", ")+" "+f.placeholder), words)
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
		case width+1+len([]rune(word)) > helpWidth:
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

// variable is one of the environment, and which options it sets.
type variable struct{ name, sets string }

// variables lists those that set options, each once.
func variables(app *cli.App) []variable {
	var out []variable
	for _, c := range reference(app) {
		for _, f := range c.flags {
			for _, name := range f.variables {
				if slices.ContainsFunc(out, func(v variable) bool { return v.name == name }) {
					continue
				}
				of := " of " + c.name
				if isCommon(f) {
					of = ""
				}
				out = append(out, variable{name, f.names[0] + of})
			}
		}
	}
	slices.SortFunc(out, func(a, b variable) int { return strings.Compare(a.name, b.name) })
	return out
}
