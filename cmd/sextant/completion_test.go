package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// completed asks a shell what it offers for a command line whose last word is being
// written.
func completed(t *testing.T, shell, script string, words ...string) []string {
	t.Helper()
	testneed.Program(t, shell, shell)
	dir := t.TempDir()
	file := filepath.Join(dir, "completion")
	testdir.Write(t, file, printed(t, "completion", shell))
	cmd := exec.CommandContext(t.Context(), shell, append([]string{"-c", script, shell, file}, words...)...)
	if shell == "fish" { // it has no $0
		cmd = exec.CommandContext(t.Context(), shell, "--no-config", "-c", script, file, strings.Join(words, " "))
	}
	cmd.Dir = dir
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "sextant")); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "HOME="+dir, beMain+"=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	offered := beforeTabs(string(out))
	for i, word := range offered {
		if shell == "zsh" {
			offered[i], _, _ = strings.Cut(word, ":")
		}
	}
	return offered
}

// beforeTabs returns what stands before a tab in each line.
func beforeTabs(lines string) (all []string) {
	for line := range strings.Lines(lines) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all = append(all, word)
	}
	return all
}

// bashScript calls what "complete" has registered, as bash itself does.
const bashScript = `source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
registered=($(complete -p sextant)); for ((i = 0; i < ${#registered[@]}; i++)); do [[ ${registered[i]} == -F ]] && f=${registered[i+1]}; done
$f sextant "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}" || compgen -f -- "${COMP_WORDS[COMP_CWORD]}"`

const fishScript = `source $argv[1]; complete -C $argv[2]`

// completionCases returns what the shells have in common: words, and what is offered for the
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
		"a verb":             {words: []string{"sextant", "deletions", "r"}, want: []string{"release"}, only: true},
		"a file":             {words: []string{"sextant", "restore", "compl"}, want: []string{"completion"}, only: true},
		"a flag's file":      {words: []string{"sextant", "check", "-c", "compl"}, want: []string{"completion"}, only: true},
		"no such command":    {words: []string{"sextant", "statsu", "compl"}, want: []string{"completion"}, only: true},
		"flags after values": {words: []string{"sextant", "explain", "--data", "d", "--crawl"}, want: []string{"--crawler"}, only: true},
	}
}

func TestCompletion(t *testing.T) {
	for shell, script := range map[string]string{"bash": bashScript, "fish": fishScript, "zsh": zshScript} {
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

// TestCompletionOffersAll wants every command, and every flag of each. What the shells make of it is TestCompletion's.
func TestCompletionOffersAll(t *testing.T) {
	commands := manual.Reference(newApp(nil, nil, nil))
	t.Run("commands", func(t *testing.T) {
		var names []string
		for _, c := range commands {
			names = append(names, c.Name)
		}
		checkOffered(t, beforeTabs(printed(t, "__complete", "--", "")), names, false)
	})
	for _, c := range commands {
		t.Run(c.Name, func(t *testing.T) {
			var names []string
			for _, f := range c.Flags {
				names = append(names, f.Names...)
			}
			checkOffered(t, beforeTabs(printed(t, "__complete", "--", c.Name, "-")), append(names, "--help"), true)
		})
	}
}

// zshScript lets _describe and _files print what they were given: what they make of it needs a
// terminal.
const zshScript = `compdef() { }
source "$1"; shift
_describe() { print -l -- "${(@P)2}"; }
_files() { print -l -- ${words[CURRENT]}*(N) }
words=("$@"); CURRENT=$#words
_sextant`

// TestCompletionDescribes: a word comes with what it does, in the form that zsh's _describe takes.
func TestCompletionDescribes(t *testing.T) {
	for want, words := range map[string][]string{
		"status\tshow the state of the crawl, with or without a running service\n": {"stat"},
		"--log-level\tdebug|info|warn|error\n":                                     {"status", "--log-l"},
		"--help\tshow help\n":                                                      {"--h"},
		"release\t\n":                                                              {"--data", "d", "deletions", "rel"},
		"":                                                                         {"status", "--data", ""},
	} {
		if got := printed(t, append([]string{"__complete", "--"}, words...)...); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
