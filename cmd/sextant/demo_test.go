package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestDemoOnce: the demo crawls all sites at once, and its own comparison of index and
// store agrees.
func TestDemoOnce(t *testing.T) {
	t.Parallel()
	out, err := process(t, "demo", "--once", "--port", "0").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := regexp.MustCompile(`\n\d+ pages crawled, 96 documents indexed, 12 excluded or failed`); !want.Match(out) {
		t.Errorf("the demo says %s", out)
	}
	if strings.Contains(string(out), "ticket") {
		t.Errorf("a link that leads nowhere when the demo has ended:\n%s", out)
	}
}

// TestDemo: the link that the demo prints signs in once, and each command that it names
// does what is said of it, as it is typed.
func TestDemo(t *testing.T) {
	t.Parallel()
	demo := process(t, "demo", "--port", "0", "--pace", "5ms")
	demo.Stderr = os.Stderr
	out, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := demo.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		rest, _ := io.ReadAll(out)
		if err := demo.Wait(); err != nil {
			t.Errorf("stopped by a signal: %v\n%s", err, rest)
		}
	}()
	var said strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Serving until") {
		said.WriteString(lines.Text() + "\n")
	}
	checkLink(t, regexp.MustCompile(`http://\S+/signin\?ticket=\S+`).FindString(said.String()))
	checkCommands(t, said.String())
}

// checkLink signs in by a link, which works for one browser only.
func checkLink(t *testing.T, link string) {
	t.Helper()
	open := func() (path, body string) {
		jar, _ := cookiejar.New(nil)
		answer, err := (&http.Client{Jar: jar}).Get(link)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Request.URL.Path, string(b)
	}
	if path, body := open(); path != "/" || !strings.Contains(body, "Sign out") {
		t.Errorf("the link leads to %s:\n%.500s", path, body)
	}
	if path, body := open(); path != "/signin" || !strings.Contains(body, "This link was already used") {
		t.Errorf("the second time the link leads to %s:\n%.500s", path, body)
	}
}

// checkCommands runs the commands that the demo names, in their order.
func checkCommands(t *testing.T, said string) {
	t.Helper()
	want := map[string]string{ // what a command prints
		"status": "4 deletions pending", "deletions": "/manuals/curlew", "deletions release": "4 ", "outbox": "/minutes-2025-05", "report broken": "/photographs",
		"report changes": "/notices", "urls": "/members", "explain": "/news/2024/storm-edda", "fetch": "Heron 50 manual",
	}
	for _, m := range regexp.MustCompile(`(?m)^    `+regexp.QuoteMeta(commandOf(os.Args[0], os.Args[0]))+` (\w+( broken| changes| release)?)(.*)$`).FindAllStringSubmatch(said, -1) {
		command := exec.CommandContext(t.Context(), "sh", "-c", shellWord(os.Args[0])+" "+m[1]+m[3])
		command.Env = append(os.Environ(), beMain+"=1")
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want[m[1]]) || want[m[1]] == "" {
			t.Errorf("%s: %v, want %q in\n%s", m[0], err, want[m[1]], out)
		}
		delete(want, m[1])
	}
	if len(want) > 0 {
		t.Errorf("not named: %v, in\n%s", want, said)
	}
}

func TestOwnCommand(t *testing.T) {
	for _, tt := range []struct{ program, name, want string }{
		{"/tmp/go-build3421/b001/exe/sextant", "/tmp/go-build3421/b001/exe/sextant", "go run ./cmd/sextant"},
		{"/home/ann/.cache/go-build/ab/cd-d/sextant", "/home/ann/.cache/go-build/ab/cd-d/sextant", "go run ./cmd/sextant"},
		{"/usr/bin/sextant", "sextant", "sextant"},
		{"/home/ann/my tools/sextant", "./my tools/sextant", `'./my tools/sextant'`},
	} {
		if got := commandOf(tt.program, tt.name); got != tt.want {
			t.Errorf("%s started as %s: %s, want %s", tt.program, tt.name, got, tt.want)
		}
	}
}

// TestDemoWrongUse: what makes no sense is refused before anything starts.
func TestDemoWrongUse(t *testing.T) {
	for _, args := range [][]string{{"here"}, {"--pace", "5us"}, {"--pace", "-1s"}, {"--port", "70000"}, {"--port", "-1"}} {
		var stderr strings.Builder
		if code := run(t.Context(), append([]string{"sextant", "demo"}, args...), strings.NewReader(""), io.Discard, &stderr); code != exitUsage {
			t.Errorf("%s: exit %d, %s", args, code, stderr.String())
		}
	}
}
