package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish",
		ArgsUsage: "bash|zsh|fish",
		Description: "bash: source <(sextant completion bash)\n" +
			"zsh: sextant completion zsh > a file _sextant in a folder of $fpath\n" +
			"fish: sextant completion fish | source",
		Action: func(c *cli.Context) error {
			write, ok := map[string]func(*bufio.Writer, []commandReference){
				"bash": writeBash, "zsh": writeZsh, "fish": writeFish,
			}[c.Args().First()]
			if !ok || c.NArg() != 1 {
				return wrongUse("completion: write completion bash, zsh or fish")
			}
			return buffered(c.App.Writer, reference(c.App), write)
		},
	}
}

func buffered(w io.Writer, commands []commandReference, write func(*bufio.Writer, []commandReference)) error {
	b := bufio.NewWriter(w)
	write(b, commands)
	return b.Flush()
}

// quoted is a word of a shell script, whatever is in it.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// writeBash writes a function that finds the command among the words before the
// cursor. It needs no other functions than bash's own.
func writeBash(w *bufio.Writer, commands []commandReference) {
	var names, takeValue []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	fmt.Fprintln(w, "# bash completion for sextant, made by: sextant completion bash")
	fmt.Fprint(w, "_sextant() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= offered= i\n    COMPREPLY=()\n")
	for _, c := range commands {
		for _, f := range c.flags {
			if f.placeholder != "" {
				takeValue = append(takeValue, f.names...)
			}
		}
	}
	fmt.Fprintf(w, "    for ((i = 1; i < COMP_CWORD; i++)); do\n        case ${COMP_WORDS[i]} in\n            %s) ((i++)) ;;\n", strings.Join(unique(takeValue), "|"))
	fmt.Fprint(w, "            -*) ;;\n            *) command=${COMP_WORDS[i]}; break ;;\n        esac\n    done\n")
	fmt.Fprintf(w, "    if [[ -z $command ]]; then\n        COMPREPLY=($(compgen -W %s -- \"$word\"))\n        return\n    fi\n",
		quoted(strings.Join(append(names, "--help", "--version"), " ")))
	writeBashValues(w, commands)
	fmt.Fprint(w, "    case $command in\n")
	for _, c := range commands {
		var offered []string
		for _, f := range c.flags {
			offered = append(offered, f.names...)
		}
		fmt.Fprintf(w, "        %s) offered=%s ;;\n", c.name, quoted(strings.Join(append(offered, "--help"), " ")))
	}
	fmt.Fprint(w, "    esac\n    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W \"$offered\" -- \"$word\"))\n        return\n    fi\n")
	fmt.Fprint(w, "    case $command:$before in\n")
	for _, c := range commands {
		if len(c.verbs) > 0 {
			fmt.Fprintf(w, "        %s:%s) COMPREPLY=($(compgen -W %s -- \"$word\")) ;;\n", c.name, c.name, quoted(strings.Join(c.verbs, " ")))
		}
	}
	fmt.Fprint(w, "    esac\n}\ncomplete -o bashdefault -o default -F _sextant sextant\n")
}

// writeBashValues completes the value of the flag before the cursor. Where nothing is
// offered, bash falls back to the names of files.
func writeBashValues(w *bufio.Writer, commands []commandReference) {
	fmt.Fprint(w, "    case $command:$before in\n")
	for _, c := range commands {
		for _, f := range c.flags {
			if f.placeholder == "" {
				continue
			}
			var patterns []string
			for _, name := range f.names {
				patterns = append(patterns, c.name+":"+name)
			}
			offer := "return"
			if words := choices(f.placeholder); words != nil {
				offer = "COMPREPLY=($(compgen -W " + quoted(strings.Join(words, " ")) + ` -- "$word")); return`
			}
			fmt.Fprintf(w, "        %s) %s ;;\n", strings.Join(patterns, "|"), offer)
		}
	}
	fmt.Fprint(w, "    esac\n")
}

func unique(words []string) (out []string) {
	seen := map[string]bool{}
	for _, w := range words {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}
