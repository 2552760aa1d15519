package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// pagesWithCommands are README and manual, as paths from the repository's folder. The
// examples' pages have TestExampleCommands, docs/api.md is run by api.txtar.
func pagesWithCommands(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/moving/*.md", "docs/project/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if name := filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("..", "..")+string(filepath.Separator))); name != "CHANGELOG.md" {
				pages = append(pages, name)
			}
		}
	}
	if len(pages) < 40 {
		t.Fatalf("only %d pages are found", len(pages))
	}
	return pages
}

// runElsewhere returns the commands of pages that no case file runs: which, and what holds them
// to the truth, or why nothing can.
func runElsewhere() map[string]string {
	return map[string]string{
		`^sextant demo( --once)?$`:           "TestDemo and packaging's TestContainer run it",
		`^sextant (check|test) -c examples/`: "TestExampleCommands runs the same of the example's own page",
		`^(sx|curl) .*(/api/v1/|localhost|/mcp$)|^curl -s http://127\.0\.0\.1:7370/healthz$|^alias sx=`: "api.txtar runs each line of docs/api.md",
		`^curl http://127\.0\.0\.1:7370/readyz$`:                                                        "ready.txtar, at another port",
		`^curl .*(/papi/4/|/_bulk|/webhook/|count_synced|Idempotency-Key)|^SESSION=`:                    "TestPushCurl runs the blocks of docs/push.md",
		`^curl .*_search\?q=`:                  "needs an Elasticsearch",
		`^curl .*(solr|push-api)`:              "needs a Solr or a Funnelback; their tests hold the targets to these requests",
		`^go tool pprof|^curl .*/debug/pprof/`: "TestProfiles reads them; the tool is Go's",
		`^go (test|build) `:                    "Go's own; .ci/run tests and builds, figures take minutes and are run by hand",
		`^go get `:                             "fetches a published version; crawl's examples are what the page shows",
		`^SEXTANT_\w+=`:                        "figures, which take minutes; by hand",
		`^make `:                               ".ci/run and packaging's tests make what it makes",
		`^packaging/deb/build `:                "packaging's TestInstall installs what it builds",
		`^(apt|systemctl|journalctl|systemd-sysusers|install|chmod|chown|chgrp|mv|tar|gunzip|sha256sum)\b`: "changes a machine as root; packaging's TestInstall and the systemd tests do the same in folders of their own",
		`^(podman|docker) `:              "needs a container engine and a registry; packaging's TestContainer lays the image out and runs it",
		`^ssh `:                          "needs another machine",
		`^sextant (store|run --d)`:       "TestSeveral runs both",
		`^sextant fetch --render `:       "needs a browser; TestRenderingDocumentation crawls by the page's configuration",
		`^(export \w+=|cp |head |comm )`: "the shell's own; manual-first-crawl.txtar has those of that page",
	}
}

// program is what a line of code begins with if it is a command.
var program = regexp.MustCompile(`^(sextant |\./\S*sextant |go|make|packaging/\S+|sx|curl|alias|apt|systemctl|journalctl|systemd-sysusers|install|chmod|chown|chgrp|mv|cp|tar|gunzip|sha256sum|runuser|podman|docker|ssh|export|head|comm|SEXTANT_\w+=\S+|SESSION=)`)

// commandsOf returns the commands of a page: its lines of code that begin with a program.
func commandsOf(page string) []string {
	var commands []string
	fence := ""
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if mark, ok := strings.CutPrefix(line, "```"); ok {
			if fence == "" {
				fence = "```" + mark
			} else {
				fence = ""
			}
			continue
		}
		code, indented := strings.CutPrefix(line, "    ")
		if fence == "```sh" || fence == "```curl" {
			code, indented = line, true
		}
		if indented && (fence == "" || code == line) && program.MatchString(code) {
			command, _, _ := strings.Cut(code, "  #")
			commands = append(commands, strings.TrimSpace(strings.SplitN(command, " # ", 2)[0]))
		}
	}
	return commands
}

// asRun returns a command of a page in the form in which a case file has it: only what cannot be
// the same differs, such as the program's place, addresses, folders and numbers.
func asRun(command string) string {
	command = regexp.MustCompile(`^(runuser -u sextant -- |gunzip -c \S+ \| )`).ReplaceAllString(command, "")
	command = regexp.MustCompile(`^(\./\S*sextant|go run \./cmd/sextant) `).ReplaceAllString(command, "sextant ")
	command = regexp.MustCompile(` --listen \S+| --log-level \S+| &(\w+&)?$| \| .*$`).ReplaceAllString(command, "")
	command = strings.TrimSuffix(strings.TrimPrefix(command, "sh -c '"), "'")
	command = regexp.MustCompile(`\S+\.backup\b`).ReplaceAllString(command, "FILE.backup")
	command = regexp.MustCompile(` --data \S+`).ReplaceAllString(command, "")
	command = regexp.MustCompile(`(https?://[a-z.]+\.example\.com|\$SITE)(/\S*)?`).ReplaceAllString(command, "URL")
	command = regexp.MustCompile(`-c \S+`).ReplaceAllString(command, "-c FILE")
	return regexp.MustCompile(`--(max-pages|edit) \d+`).ReplaceAllString(command, "--$1 N")
}

// scriptCommand is a line of a case file that runs a command.
var scriptCommand = regexp.MustCompile(`(?m)^(?:! )?(?:exec (.*)|(?:until .*' |exits \d )?(sextant .*))$`)

// runByCases returns the commands that case files run.
func runByCases(t *testing.T) map[string]bool {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join("..", "..", "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]bool{}
	for _, name := range scripts {
		text := testdir.Read(t, name)
		script, _, _ := strings.Cut(string(text), "\n-- ") // files follow
		for _, m := range scriptCommand.FindAllStringSubmatch(script, -1) {
			run[asRun(m[1]+m[2])] = true
		}
	}
	return run
}

// TestPageCommands: each command of README and manual is run by a case file, or stands with
// a reason in runElsewhere.
func TestPageCommands(t *testing.T) {
	run, elsewhere, needed := runByCases(t), runElsewhere(), map[string]bool{}
	commands := 0
	for _, name := range pagesWithCommands(t) {
		text := testdir.Read(t, filepath.Join("..", "..", filepath.FromSlash(name)))
	next:
		for _, command := range commandsOf(string(text)) {
			commands++
			if run[asRun(command)] {
				continue
			}
			for pattern := range elsewhere {
				if regexp.MustCompile(pattern).MatchString(command) || regexp.MustCompile(pattern).MatchString(asRun(command)) {
					needed[pattern] = true
					continue next
				}
			}
			t.Errorf("%s: no case file runs %s", name, command)
		}
	}
	if commands < 200 {
		t.Errorf("only %d commands are found", commands)
	}
	for pattern, reason := range elsewhere {
		if !needed[pattern] {
			t.Errorf("no command is like %s (%s): take it out", pattern, reason)
		}
	}
}

// TestNamedCommands: wherever a page writes a command of ours, also inside of a sentence, there
// is such a command with these options and verbs.
func TestNamedCommands(t *testing.T) {
	app, known := newApp(nil, nil, nil), map[string]manual.Command{}
	for _, c := range app.Commands {
		c.Hidden = false // the page on documents names one that is
	}
	for _, c := range manual.Reference(app) {
		known[c.Name] = c
	}
	written := regexp.MustCompile("(?m)(?:^    |`|^)(?:\\./|go run \\./cmd/)?sextant ([a-z-]+)((?: [^`\n#|>)]+)?)")
	found := 0
	for _, name := range pagesWithCommands(t) {
		text := testdir.Read(t, filepath.Join("..", "..", filepath.FromSlash(name)))
		for _, m := range written.FindAllStringSubmatch(string(text), -1) {
			found++
			c, ok := known[m[1]]
			if !ok {
				t.Errorf("%s: %s: there is no such command", name, m[0])
				continue
			}
			for _, option := range regexp.MustCompile(`(?:^| )(--?[a-z][a-z-]*)`).FindAllStringSubmatch(m[2], -1) {
				if !slices.ContainsFunc(c.Flags, func(f manual.Flag) bool { return slices.Contains(f.Names, option[1]) }) {
					t.Errorf("%s: %s: %s has no option %s", name, m[0], c.Name, option[1])
				}
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d commands are found", found)
	}
}

// TestExampleCommands runs the commands of the examples' pages as they stand there, in the
// repository's folder.
func TestExampleCommands(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(examplesFolder(), "*", "README.md"))
	if err != nil || len(pages) < 7 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	bin := t.TempDir()
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(bin, "sextant")); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text := testdir.Read(t, page)
		var lines []string
		for line := range strings.Lines(string(text)) {
			command, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
			switch {
			case !ok || strings.HasPrefix(command, "sextant push verify "): // which asks an indexer
			case strings.HasPrefix(command, "cd "):
				lines = append(lines, "( "+command+" )")
			case strings.HasPrefix(command, "sextant "), strings.HasPrefix(command, "export "):
				lines = append(lines, command)
			default: // what would change the machine
				t.Errorf("%s: %s: only sextant, cd and export are run", page, command)
			}
		}
		if len(lines) < 2 {
			t.Errorf("%s: only %d commands are found", page, len(lines))
		}
		shell := exec.CommandContext(t.Context(), "sh", "-ex")
		shell.Dir, shell.Stdin = filepath.Join("..", ".."), strings.NewReader(strings.Join(lines, "\n"))
		shell.Env = append(os.Environ(), beMain+"=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, err := shell.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", page, err, out)
		}
	}
}
