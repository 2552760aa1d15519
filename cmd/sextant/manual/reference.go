// Package manual tells of the commands from the definition that also parses the command
// line: as help in a terminal, as manual page, and as completion for shells.
//
// It has no goroutine and no lock.
package manual

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Command is a command as manual page and shell completion tell of it, read
// from the definition that also parses the command line.
type Command struct {
	Name, Usage, Description string
	Arguments                string   // as ArgsUsage has them
	Verbs                    []string // that the first argument can be
	Flags                    []Flag
}

// Flag is one flag of a command.
type Flag struct {
	Names       []string // with dashes, the long one first
	Placeholder string   // empty for a flag without value
	Usage       string
	Preset      string   // the default, if there is one to tell
	Variables   []string // of the environment
}

// Reference lists all commands that are not hidden, in the order of the help.
func Reference(app *cli.App) []Command {
	var out []Command
	for _, c := range app.Commands {
		if c.Hidden {
			continue
		}
		w := Command{Name: c.Name, Usage: c.Usage, Description: c.Description, Arguments: c.ArgsUsage, Verbs: verbsIn(c.ArgsUsage)}
		for _, f := range c.Flags {
			if shown, ok := f.(cli.VisibleFlag); ok && !shown.IsVisible() || slices.Contains(f.Names(), "help") {
				continue
			}
			if documented, ok := f.(cli.DocGenerationFlag); ok {
				w.Flags = append(w.Flags, wordsOf(documented))
			}
		}
		out = append(out, w)
	}
	return out
}

func wordsOf(f cli.DocGenerationFlag) Flag {
	var w Flag
	for _, name := range f.Names() {
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		w.Names = append(w.Names, dashes+name)
	}
	w.Placeholder, w.Usage = splitUsage(f.GetUsage())
	switch {
	case !f.TakesValue():
		w.Placeholder = ""
	case w.Placeholder == "":
		w.Placeholder = "VALUE"
	}
	if f.TakesValue() {
		w.Preset = presetOf(f)
	}
	w.Variables = f.GetEnvVars()
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
