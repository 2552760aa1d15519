package main

import (
	"slices"
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
	var command *cli.Command
	if len(rest) > 0 {
		command = app.Command(rest[0])
	}
	if command == nil {
		return slices.Concat(args[:1], flags, rest)
	}
	more, arguments := splitFlags(command.Flags, rest[1:], false)
	if len(arguments) > 0 {
		arguments = append([]string{"--"}, arguments...)
	}
	return slices.Concat(args[:1], rest[:1], flags, more, arguments)
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
	i := slices.IndexFunc(known, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return false // also with "=": its value is in it
	}
	_, isBool := known[i].(*cli.BoolFlag)
	return !isBool
}
