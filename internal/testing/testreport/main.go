// Command testreport reads the output of `go test -json` and prints it as `go test` does, after a list of the skipped
// tests. It fails for a skipped test that is not in the file of allowed ones, so that no test is turned off unnoticed.
// The exit code of `go test` reports failed tests.
//
//	go test -json ./... >events; go run ./internal/testing/testreport .ci/skips <events
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: testreport FILE <EVENTS")
		os.Exit(2)
	}
	allowed, err := readAllowed(os.Args[1])
	if err == nil {
		err = report(os.Stdin, os.Stdout, allowed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

// readAllowed reads the tests that may be skipped, one a line as "package test"; # begins a comment.
func readAllowed(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		switch fields := strings.Fields(line); len(fields) {
		case 0:
		case 2:
			allowed[fields[0]+" "+fields[1]] = true
		default:
			return nil, fmt.Errorf("%s: write a package and a test: %q", path, line)
		}
	}
	return allowed, nil
}

// event is a line of `go test -json`; `go doc test2json` describes it.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

// report prints skips and results. The error lists the skips that are not allowed.
func report(events io.Reader, out io.Writer, allowed map[string]bool) error {
	r := results{packages: map[string]*tested{}, builds: map[string]string{}}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			r.other += lines.Text() + "\n" // output of the go command itself
			continue
		}
		r.add(&e)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	unexpected := r.skips(out, allowed)
	r.print(out)
	if len(unexpected) > 0 {
		return fmt.Errorf("skipped, but not in the file of allowed skips: %s", strings.Join(unexpected, ", "))
	}
	return nil
}

// results holds the results of all packages.
type results struct {
	packages map[string]*tested
	order    []string          // packages in the order in which they ended
	builds   map[string]string // compiler output, by import path
	other    string
}

// tested holds the results of one package.
type tested struct {
	tests       map[string]*test
	order       []string
	output      string // output outside tests; the last line is the result
	failedBuild string
}

type test struct{ output, action string }

func (r *results) add(e *event) {
	if e.Action == "build-output" {
		r.builds[e.ImportPath] += e.Output
		return
	}
	if e.Package == "" {
		return
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &tested{tests: map[string]*test{}}
		r.packages[e.Package] = p
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output += e.Output
		case "pass", "fail", "skip":
			p.failedBuild = e.FailedBuild
			r.order = append(r.order, e.Package)
		}
		return
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &test{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		t.output += e.Output
	case "pass", "fail", "skip":
		t.action = e.Action
	}
}

// module is the prefix of package paths.
const module = "github.com/sextant-crawler/sextant/"

// skips prints the skipped tests with their reasons, and returns those that are not allowed.
func (r *results) skips(out io.Writer, allowed map[string]bool) (unexpected []string) {
	fmt.Fprintln(out, "skipped:")
	for _, path := range slices.Sorted(slices.Values(r.order)) {
		p, name := r.packages[path], strings.TrimPrefix(path, module)
		for _, test := range p.order {
			t := p.tests[test]
			if t.action != "skip" {
				continue
			}
			fmt.Fprintf(out, "  %s %s: %s\n", name, test, t.reason())
			top, _, _ := strings.Cut(test, "/")
			if !allowed[name+" "+test] && !allowed[name+" "+top] {
				unexpected = append(unexpected, name+" "+test)
			}
		}
	}
	return unexpected
}

// reason returns a skipped test's message.
func (t *test) reason() string {
	for line := range strings.Lines(t.output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return line
		}
	}
	return "no reason"
}

// print prints the output of `go test`: that of failed tests, and a line for each package.
func (r *results) print(out io.Writer) {
	fmt.Fprint(out, r.other)
	failed := false
	for _, path := range r.order {
		p := r.packages[path]
		if p.failedBuild != "" {
			fmt.Fprint(out, r.builds[p.failedBuild])
			delete(r.builds, p.failedBuild) // once, even if several packages need it
		}
		for _, name := range p.order {
			if t := p.tests[name]; t.action != "pass" && t.action != "skip" {
				fmt.Fprint(out, t.failure())
			}
		}
		whole := strings.SplitAfter(p.output, "\n")
		if result := p.result(whole); strings.HasPrefix(result, "FAIL") {
			failed = true
			fmt.Fprint(out, p.output)
		} else {
			fmt.Fprint(out, result)
		}
	}
	if failed {
		fmt.Fprintln(out, "FAIL")
	}
}

// result returns the line of a package.
func (p *tested) result(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "?") {
			return line
		}
	}
	return p.output
}

// failure returns the output of a failed test, its result first.
func (t *test) failure() string {
	var head, rest strings.Builder
	for line := range strings.Lines(t.output) {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "=== "):
		case strings.HasPrefix(trimmed, "--- "):
			head.WriteString(line)
		default:
			rest.WriteString(line)
		}
	}
	return head.String() + rest.String()
}
