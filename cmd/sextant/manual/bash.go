package manual

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteCompletion writes the script that completes these commands in a shell: bash, zsh or
// fish. Ok is false of another.
func WriteCompletion(w io.Writer, shell string, commands []Command) (ok bool, err error) {
	write, ok := map[string]func(*bufio.Writer, []Command){"bash": writeBash, "zsh": writeZsh, "fish": writeFish}[shell]
	if !ok {
		return false, nil
	}
	b := bufio.NewWriter(w)
	write(b, commands)
	return true, b.Flush()
}

// Quoted is a word of a shell script, whatever is in it.
func Quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// writeBash writes a function that finds the command among the words before the
// cursor. It needs no other functions than bash's own.
func writeBash(w *bufio.Writer, commands []Command) {
	var names, takeValue []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	fmt.Fprintln(w, "# bash completion for sextant, made by: sextant completion bash")
	fmt.Fprint(w, "_sextant() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= offered= i\n    COMPREPLY=()\n")
	for _, c := range commands {
		for _, f := range c.Flags {
			if f.Placeholder != "" {
				takeValue = append(takeValue, f.Names...)
			}
		}
	}
	fmt.Fprintf(w, "    for ((i = 1; i < COMP_CWORD; i++)); do\n        case ${COMP_WORDS[i]} in\n            %s) ((i++)) ;;\n", strings.Join(unique(takeValue), "|"))
	fmt.Fprint(w, "            -*) ;;\n            *) command=${COMP_WORDS[i]}; break ;;\n        esac\n    done\n")
	fmt.Fprintf(w, "    if [[ -z $command ]]; then\n        COMPREPLY=($(compgen -W %s -- \"$word\"))\n        return\n    fi\n",
		Quoted(strings.Join(append(names, "--help", "--version"), " ")))
	writeBashValues(w, commands)
	fmt.Fprint(w, "    case $command in\n")
	for _, c := range commands {
		var offered []string
		for _, f := range c.Flags {
			offered = append(offered, f.Names...)
		}
		fmt.Fprintf(w, "        %s) offered=%s ;;\n", c.Name, Quoted(strings.Join(append(offered, "--help"), " ")))
	}
	fmt.Fprint(w, "    esac\n    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W \"$offered\" -- \"$word\"))\n        return\n    fi\n")
	fmt.Fprint(w, "    case $command:$before in\n")
	for _, c := range commands {
		if len(c.Verbs) > 0 {
			fmt.Fprintf(w, "        %s:%s) COMPREPLY=($(compgen -W %s -- \"$word\")) ;;\n", c.Name, c.Name, Quoted(strings.Join(c.Verbs, " ")))
		}
	}
	fmt.Fprint(w, "    esac\n}\ncomplete -o bashdefault -o default -F _sextant sextant\n")
}

// writeBashValues completes the value of the flag before the cursor. Where nothing is
// offered, bash falls back to the names of files.
func writeBashValues(w *bufio.Writer, commands []Command) {
	fmt.Fprint(w, "    case $command:$before in\n")
	for _, c := range commands {
		for _, f := range c.Flags {
			if f.Placeholder == "" {
				continue
			}
			var patterns []string
			for _, name := range f.Names {
				patterns = append(patterns, c.Name+":"+name)
			}
			offer := "return"
			if words := choices(f.Placeholder); words != nil {
				offer = "COMPREPLY=($(compgen -W " + Quoted(strings.Join(words, " ")) + ` -- "$word")); return`
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
