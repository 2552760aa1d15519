package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// commandReference is a command as manual page and shell completion tell of it, read
// from the definition that also parses the command line.
type commandReference struct {
	name, usage, description string
	arguments                string // as ArgsUsage has them
	verbs                    []string
	flags                    []flagReference
}

// flagReference is one flag of a command.
type flagReference struct {
	names       []string // with dashes, the long one first
	placeholder string   // empty for a flag without value
	usage       string
	preset      string // the default, if there is one to tell
	variables   []string
}

// reference lists all commands that are not hidden, in the order of the help.
func reference(app *cli.App) []commandReference {
	var out []commandReference
	for _, c := range app.Commands {
		if c.Hidden {
			continue
		}
		w := commandReference{name: c.Name, usage: c.Usage, description: c.Description, arguments: c.ArgsUsage, verbs: verbsIn(c.ArgsUsage)}
		for _, f := range c.Flags {
			if shown, ok := f.(cli.VisibleFlag); ok && !shown.IsVisible() || slices.Contains(f.Names(), "help") {
				continue
			}
			if documented, ok := f.(cli.DocGenerationFlag); ok {
				w.flags = append(w.flags, wordsOf(documented))
			}
		}
		out = append(out, w)
	}
	return out
}

func wordsOf(f cli.DocGenerationFlag) flagReference {
	var w flagReference
	for _, name := range f.Names() {
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		w.names = append(w.names, dashes+name)
	}
	w.placeholder, w.usage = splitUsage(f.GetUsage())
	switch {
	case !f.TakesValue():
		w.placeholder = ""
	case w.placeholder == "":
		w.placeholder = "VALUE"
	}
	if f.TakesValue() {
		w.preset = presetOf(f)
	}
	w.variables = f.GetEnvVars()
	return w
}

// presetOf is the default of a flag, where it says something.
func presetOf(f cli.DocGenerationFlag) string {
	preset := f.GetDefaultText()
	if preset == "" {
		preset = f.GetValue()
	}
	preset = strings.Trim(preset, `"`)
	if preset == "0" || preset == "0s" || preset == "[]" || preset == "-1" {
		return ""
	}
	return preset
}

// splitUsage takes the word in back-quotes out of a flag's usage as its placeholder.
func splitUsage(usage string) (placeholder, words string) {
	before, rest, found := strings.Cut(usage, "`")
	quoted, after, closed := strings.Cut(rest, "`")
	if !found || !closed {
		return "", usage
	}
	return quoted, before + quoted + after
}

// choices are the words that a placeholder such as text|json offers; one in capitals
// stands for anything.
func choices(placeholder string) []string {
	if !strings.Contains(placeholder, "|") || placeholder != strings.ToLower(placeholder) {
		return nil
	}
	return strings.Split(placeholder, "|")
}

// verbsIn are the words that a command's first argument can be, as in
// "[release|drop URL...]".
func verbsIn(arguments string) []string {
	first, _, _ := strings.Cut(strings.TrimPrefix(arguments, "["), " ")
	if first == "" || first != strings.ToLower(first) || strings.ContainsAny(first, ".-(") {
		return nil
	}
	return strings.Split(strings.TrimSuffix(first, "]"), "|")
}

// wantsFile reports whether a placeholder or an argument is the name of a file.
func wantsFile(placeholder string) bool {
	return strings.Contains(placeholder, "FILE") || strings.Contains(placeholder, "DIR") ||
		strings.Contains(placeholder, "CONFIG") || placeholder == "SCRIPT"
}
