package manual

import (
	"bufio"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
)

// scripts are what makes a shell ask the program, by WriteOffers, what may stand at the cursor.
//
//go:embed completion
var scripts embed.FS

// WriteCompletion writes the completion script of a shell: bash, zsh or fish. ok is false for another.
func WriteCompletion(w io.Writer, shell string) (ok bool, err error) {
	script, err := scripts.ReadFile("completion/" + shell)
	if err != nil {
		return false, nil //nolint:nilerr // there is none for this shell
	}
	_, err = w.Write(script)
	return true, err
}

// Quoted returns a word for a shell script, with any content.
func Quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// offer is a possible word, and its description.
type offer struct{ word, does string }

// WriteOffers writes the completions of the last of words, the words after the program's name: a word a line, then a
// tab and its description. values returns those of a flag that depend on the crawl, such as those of --host. It writes
// nothing for any other value, or a file.
func WriteOffers(w io.Writer, commands []Command, words []string, values func(flag string) []string) error {
	b := bufio.NewWriter(w)
	before, last := words, ""
	if n := len(words) - 1; n >= 0 {
		before, last = words[:n], words[n]
	}
	for _, o := range offers(commands, before, last, values) {
		if strings.HasPrefix(o.word, last) {
			fmt.Fprintf(b, "%s\t%s\n", o.word, o.does)
		}
	}
	return b.Flush()
}

func offers(commands []Command, before []string, last string, values func(flag string) []string) []offer {
	var known []Flag // those of all commands, until the command is known
	for _, c := range commands {
		known = append(known, c.Flags...)
	}
	var command *Command
	var open *Flag // the flag whose value is next
	arguments := 0
	for _, word := range before {
		switch {
		case open != nil:
			open = nil
		case strings.HasPrefix(word, "-"):
			takes := func(f Flag) bool { return f.Placeholder != "" && slices.Contains(f.Names, word) }
			if i := slices.IndexFunc(known, takes); i >= 0 {
				open = &known[i]
			}
		case command != nil:
			arguments++
		default:
			i := slices.IndexFunc(commands, func(c Command) bool { return c.Name == word })
			if i < 0 {
				return nil
			}
			command, known = &commands[i], commands[i].Flags
		}
	}
	switch {
	case open != nil:
		return wordsOffered(append(choices(open.Placeholder), values(open.Names[0])...))
	case command == nil:
		return commandsOffered(commands)
	case strings.HasPrefix(last, "-"):
		return flagsOffered(command.Flags)
	case arguments == 0:
		return wordsOffered(command.Verbs)
	}
	return nil
}

func wordsOffered(words []string) (out []offer) {
	for _, w := range words {
		out = append(out, offer{word: w})
	}
	return out
}

func commandsOffered(commands []Command) (out []offer) {
	for _, c := range commands {
		out = append(out, offer{c.Name, c.Usage})
	}
	return append(out, offer{"--help", "show help"}, offer{"--version", "print the version"})
}

func flagsOffered(flags []Flag) (out []offer) {
	for _, f := range flags {
		for _, name := range f.Names {
			out = append(out, offer{name, f.Usage})
		}
	}
	return append(out, offer{"--help", "show help"})
}

// choices returns the words that a placeholder such as text|json offers; one in capitals stands for any value.
func choices(placeholder string) []string {
	if !strings.Contains(placeholder, "|") || placeholder != strings.ToLower(placeholder) {
		return nil
	}
	return strings.Split(placeholder, "|")
}
