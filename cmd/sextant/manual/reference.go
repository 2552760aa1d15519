// Package manual describes the commands by the definition that also parses the command line: as help in a terminal, as
// manual page, and as completion for shells.
//
// It has no goroutine and no lock.
package manual

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Command is a command as help, manual page and completion describe it.
type Command struct {
	Name, Usage, Description string
	Category                 string
	Arguments                string   // in the form of ArgsUsage
	Verbs                    []string // possible first arguments
	Flags                    []Flag
}

// Flag is one flag of a command.
type Flag struct {
	Names       []string // with dashes, the long one first
	Placeholder string   // empty for a flag without a value
	Usage       string
	Preset      string   // the default, unless usage has it
	Variables   []string // environment variables
}

// Reference lists all visible commands, in the order of their definition.
func Reference(app *cli.App) []Command {
	var out []Command
	for _, c := range app.Commands {
		if !c.Hidden {
			out = append(out, described(c))
		}
	}
	return out
}

func described(c *cli.Command) Command {
	w := Command{Name: c.Name, Usage: c.Usage, Description: c.Description, Category: c.Category, Arguments: c.ArgsUsage}
	w.Verbs = verbsIn(c.ArgsUsage)
	for _, f := range c.Flags {
		if shown, ok := f.(cli.VisibleFlag); ok && !shown.IsVisible() || slices.Contains(f.Names(), "help") {
			continue
		}
		if documented, ok := f.(cli.DocGenerationFlag); ok {
			w.Flags = append(w.Flags, flagOf(documented))
		}
	}
	return w
}

func flagOf(f cli.DocGenerationFlag) Flag {
	w := Flag{Usage: f.GetUsage(), Variables: f.GetEnvVars()}
	for _, name := range f.Names() {
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		w.Names = append(w.Names, dashes+name)
	}
	placeholder := "VALUE"
	if parts := strings.SplitN(w.Usage, "`", 3); len(parts) == 3 { // the word in back-quotes
		placeholder, w.Usage = parts[1], strings.Join(parts, "")
	}
	if f.TakesValue() {
		w.Placeholder, w.Preset = placeholder, presetOf(f, w.Usage)
	}
	return w
}

// presetOf returns the default of a flag, unless usage has it.
func presetOf(f cli.DocGenerationFlag, usage string) string {
	preset := f.GetDefaultText()
	if preset == "" {
		preset = f.GetValue()
	}
	preset = strings.Trim(preset, `"`)
	if slices.Contains([]string{"0", "0s", "[]", "-1"}, preset) || strings.Contains(usage, "default") {
		return ""
	}
	return preset
}

// Term returns the flag as typed, with all of its names.
func (f Flag) Term() string {
	return strings.TrimSpace(strings.Join(f.Names, ", ") + " " + f.Placeholder)
}

// IsCommon reports whether a flag is described once for all commands.
func IsCommon(f Flag) bool {
	common := []string{"--config", "--data", "--crawler", "--json", "--log-format", "--log-level"}
	return slices.Contains(common, f.Names[0])
}

func (c Command) own() []Flag { return slices.DeleteFunc(slices.Clone(c.Flags), IsCommon) }

func (c Command) common() []Flag {
	return slices.DeleteFunc(slices.Clone(c.Flags), func(f Flag) bool { return !IsCommon(f) })
}

// verbsIn returns the words that a command's first argument can be, as in "[release|drop URL...]".
func verbsIn(arguments string) []string {
	first, _, _ := strings.Cut(strings.TrimPrefix(arguments, "["), " ")
	if first == "" || first != strings.ToLower(first) || strings.ContainsAny(first, ".-(") {
		return nil
	}
	return strings.Split(strings.TrimSuffix(first, "]"), "|")
}
