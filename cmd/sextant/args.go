package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves the flags of a command line between the command and its
// arguments, because the cli library stops reading flags at the first argument:
// "explain URL --json" and "--data d explain URL" both become "explain --data d
// --json -- URL". What follows "--" is arguments.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) == 0 {
		return args
	}
	// The command is unknown before the first argument is found, so the flags of all commands count until then.
	known := append([]cli.Flag(nil), app.Flags...)
	for _, command := range app.Commands {
		known = append(known, command.Flags...)
	}
	flags, rest := splitFlags(known, args[1:], true)
	out := append([]string{}, args[0])
	if len(rest) == 0 {
		return append(out, flags...)
	}
	command := app.Command(rest[0])
	if command == nil {
		return append(append(out, flags...), rest...)
	}
	more, arguments := splitFlags(command.Flags, rest[1:], false)
	out = append(append(append(out, rest[0]), flags...), more...)
	if len(arguments) > 0 {
		out = append(append(out, "--"), arguments...)
	}
	return out
}

// splitFlags separates flags with their values from arguments. With firstOnly it stops at the first argument and leaves
// the rest unchanged.
func splitFlags(known []cli.Flag, args []string, firstOnly bool) (flags, rest []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--" && !firstOnly:
			return flags, append(rest, args[i+1:]...)
		case len(a) < 2 || a[0] != '-' || a == "--":
			if firstOnly {
				return flags, append(rest, args[i:]...)
			}
			rest = append(rest, a)
		default:
			flags = append(flags, a)
			if !takesValue(known, a) {
				continue
			}
			if i++; i == len(args) { // its value is missing: nothing may replace it
				return flags, nil
			}
			flags = append(flags, args[i])
		}
	}
	return flags, rest
}

// takesValue reports whether the flag written as a is followed by its value.
func takesValue(known []cli.Flag, a string) bool {
	name := strings.TrimLeft(a, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range known {
		for _, n := range f.Names() {
			if n == name {
				_, isBool := f.(*cli.BoolFlag)
				return !isBool
			}
		}
	}
	return false
}
