package manual

import (
	"bufio"
	"fmt"
	"strings"
)

// writeZsh writes a function for zsh's _arguments.
func writeZsh(w *bufio.Writer, commands []Command) {
	fmt.Fprint(w, "#compdef sextant\n# zsh completion for sextant, made by: sextant completion zsh\n_sextant() {\n    local line state\n    local -a commands\n    commands=(\n")
	for _, c := range commands {
		fmt.Fprintf(w, "        %s\n", Quoted(c.Name+":"+strings.ReplaceAll(c.Usage, ":", `\:`)))
	}
	fmt.Fprint(w, "    )\n    _arguments -C '--help[show help]' '--version[print the version]' '1: :->command' '*:: :->rest'\n")
	fmt.Fprint(w, "    case $state in\n        command) _describe command commands; return ;;\n    esac\n    case $line[1] in\n")
	for _, c := range commands {
		fmt.Fprintf(w, "        %s) _arguments -S", c.Name)
		for _, f := range c.Flags {
			for _, spec := range zshFlag(f) {
				fmt.Fprint(w, " \\\n            "+Quoted(spec))
			}
		}
		rest := ""
		switch {
		case len(c.Verbs) > 0:
			fmt.Fprint(w, " \\\n            "+Quoted("1: :("+strings.Join(c.Verbs, " ")+")"))
			rest = "*: : "
		case wantsFile(c.Arguments):
			rest = "*:file:_files"
		case c.Arguments != "":
			rest = "*:URL:_urls"
		}
		if rest != "" {
			fmt.Fprint(w, " \\\n            "+Quoted(rest))
		}
		fmt.Fprint(w, " ;;\n")
	}
	fmt.Fprint(w, "    esac\n}\nif [ \"$funcstack[1]\" = _sextant ]; then\n    _sextant \"$@\"\nelse\n    compdef _sextant sextant\nfi\n")
}

// zshFlag is a flag as _arguments wants it.
func zshFlag(f Flag) (specs []string) {
	usage := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(f.Usage)
	for _, name := range f.Names {
		spec := name + "[" + usage + "]"
		words := choices(f.Placeholder)
		switch {
		case f.Placeholder == "":
		case words != nil:
			spec += ": :(" + strings.Join(words, " ") + ")"
		case wantsFile(f.Placeholder):
			spec += ":" + f.Placeholder + ":_files"
		default:
			spec += ":" + f.Placeholder + ": "
		}
		specs = append(specs, spec)
	}
	return specs
}

// writeFish writes one line for each command, verb and flag.
func writeFish(w *bufio.Writer, commands []Command) {
	fmt.Fprint(w, "# fish completion for sextant, made by: sextant completion fish\n")
	fmt.Fprint(w, "complete -c sextant -n __fish_use_subcommand -f\ncomplete -c sextant -n __fish_use_subcommand -l help -d 'show help'\ncomplete -c sextant -n __fish_use_subcommand -l version -d 'print the version'\n")
	for _, c := range commands {
		fmt.Fprintf(w, "complete -c sextant -n __fish_use_subcommand -a %s -d %s\n", c.Name, quotedFish(c.Usage))
		within := "complete -c sextant -n '__fish_seen_subcommand_from " + c.Name + "'"
		if len(c.Verbs) > 0 {
			fmt.Fprintf(w, "%s -f -a %s\n", within, quotedFish(strings.Join(c.Verbs, " ")))
		}
		for _, f := range c.Flags {
			fmt.Fprint(w, within)
			for _, name := range f.Names {
				if long, ok := strings.CutPrefix(name, "--"); ok {
					fmt.Fprint(w, " -l "+long)
				} else {
					fmt.Fprint(w, " -s "+name[1:])
				}
			}
			words := choices(f.Placeholder)
			switch {
			case f.Placeholder == "":
			case words != nil:
				fmt.Fprint(w, " -x -a "+quotedFish(strings.Join(words, " ")))
			case wantsFile(f.Placeholder):
				fmt.Fprint(w, " -r")
			default:
				fmt.Fprint(w, " -x")
			}
			fmt.Fprint(w, " -d "+quotedFish(f.Usage)+"\n")
		}
	}
}

// quotedFish is a word of a fish script: fish knows no '\”.
func quotedFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
