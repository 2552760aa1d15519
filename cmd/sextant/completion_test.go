package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// completed asks a shell what it offers for a command line whose last word is being
// written.
func completed(t *testing.T, shell, script string, words ...string) []string {
	t.Helper()
	testneed.Program(t, shell, shell)
	dir := t.TempDir()
	file := filepath.Join(dir, "completion")
	if err := os.WriteFile(file, []byte(printed(t, "completion", shell)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), shell, append([]string{"-c", script, shell, file}, words...)...)
	if shell == "fish" { // it has no $0
		cmd = exec.CommandContext(t.Context(), shell, "--no-config", "-c", script, file, strings.Join(words, " "))
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	var offered []string
	for line := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		offered = append(offered, word)
	}
	return offered
}

// bashScript calls what "complete" has registered, as bash itself does.
const bashScript = `source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
registered=($(complete -p sextant)); for ((i = 0; i < ${#registered[@]}; i++)); do [[ ${registered[i]} == -F ]] && f=${registered[i+1]}; done
$f sextant "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"`

const fishScript = `source $argv[1]; complete -C $argv[2]`

// completionCases are what the shells have in common: words, and what is offered for the
// last of them. "only" means nothing else.
func completionCases() map[string]struct {
	words, want []string
	only        bool
} {
	return map[string]struct {
		words, want []string
		only        bool
	}{
		"commands":           {words: []string{"sextant", "re"}, want: []string{"refresh", "remove", "resume", "reload", "restore"}},
		"a flag":             {words: []string{"sextant", "run", "--memory"}, want: []string{"--memory-limit"}, only: true},
		"choices":            {words: []string{"sextant", "status", "--log-level", ""}, want: []string{"debug", "info", "warn", "error"}, only: true},
		"a verb":             {words: []string{"sextant", "deletions", "r"}, want: []string{"release"}},
		"flags after values": {words: []string{"sextant", "explain", "--data", "d", "--crawl"}, want: []string{"--crawler"}, only: true},
	}
}

func TestCompletion(t *testing.T) {
	for shell, script := range map[string]string{"bash": bashScript, "fish": fishScript} {
		for name, c := range completionCases() {
			t.Run(shell+"/"+name, func(t *testing.T) {
				checkOffered(t, completed(t, shell, script, c.words...), c.want, c.only)
			})
		}
	}
}

func checkOffered(t *testing.T, got, want []string, only bool) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%q is not offered, but %q", w, got)
		}
	}
	if only && len(got) != len(want) {
		t.Errorf("offered %q, want %q only", got, want)
	}
}

// TestCompletionOffersAll wants every command, and every flag of each, in bash and fish.
func TestCompletionOffersAll(t *testing.T) {
	commands := manual.Reference(newApp(nil, nil, nil))
	t.Run("commands", func(t *testing.T) {
		var names []string
		for _, c := range commands {
			names = append(names, c.Name)
		}
		checkOffered(t, completed(t, "bash", bashScript, "sextant", ""), names, false)
	})
	for _, c := range commands {
		t.Run(c.Name, func(t *testing.T) {
			var names []string
			for _, f := range c.Flags {
				names = append(names, f.Names...)
			}
			checkOffered(t, completed(t, "bash", bashScript, "sextant", c.Name, "-"), append(names, "--help"), true)
		})
	}
}

// zshScript lets _arguments and _describe tell what they were given: what they make of
// it needs a terminal.
const zshScript = `setopt extendedglob; compdef() { }
source "$1"; shift
_arguments() { if [[ $1 == -C ]]; then line=("${(@)words[2,-1]}"); state=$([[ $CURRENT == 2 ]] && echo command || echo rest); else print -l -- "$@"; fi }
_describe() { print -l -- "${(@P)2}"; }
words=("$@"); CURRENT=$#words
_sextant`

func TestCompletionZsh(t *testing.T) {
	commands := completed(t, "zsh", zshScript, "sextant", "")
	for _, c := range manual.Reference(newApp(nil, nil, nil)) {
		if !slices.ContainsFunc(commands, func(s string) bool { return strings.HasPrefix(s, c.Name+":") }) {
			t.Errorf("%s is not offered, but %q", c.Name, commands)
		}
	}
	flags := completed(t, "zsh", zshScript, "sextant", "status", "")
	want := "--log-level[debug|info|warn|error]: :(debug info warn error)"
	if !slices.Contains(flags, want) {
		t.Errorf("%q is not among %q", want, flags)
	}
}
