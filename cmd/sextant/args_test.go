package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlagsFirst(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"sextant", "sextant"},
		{"sextant --version", "sextant --version"},
		{"sextant explain URL --json", "sextant explain --json -- URL"},
		{"sextant explain --data d URL -c x", "sextant explain --data d -c x -- URL"},
		{"sextant --data d explain URL", "sextant explain --data d -- URL"},
		{"sextant explain --data=d URL", "sextant explain --data=d -- URL"},
		{"sextant explain -", "sextant explain -- -"},
		{"sextant explain -- --json", "sextant explain -- --json"},
		{"sextant explain A --json B --nope C", "sextant explain --json --nope -- A B C"},
		{"sextant nope --json", "sextant nope --json"},
		{"sextant run --once --data", "sextant run --once --data"},
	} {
		got := flagsFirst(newApp(nil, nil, nil), strings.Fields(tt.in))
		if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.in, diff)
		}
	}
}

// sextant runs the program in this process.
func sextant(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = run(context.Background(), append([]string{"sextant"}, args...), strings.NewReader(stdin), &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestWrongUseGoesToStderr(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // in stderr
	}{
		{"nope", `there is no command "nope"`},
		{"help nope", `there is no command "nope"`},
		{"explan http://a/", `did you mean "explain"?`},
		{"foo", `there is no command "foo" (sextant help`},
		{"run --nope", "there is no option --nope"},
		{"--nope", "there is no option --nope"},
		{"explain http://a/ --nope", "there is no option --nope"},
		{"run --max-pages x", `--max-pages cannot be "x"`},
		{"run surplus", "run takes no arguments"},
		{"explain", "name at least one URL"},
		{"add", "name at least one URL"},
		{"status --log-level loud", "--log-level"},
		{"run --listen nowhere", "write HOST:PORT"},
		{"run --listen 0.0.0.0:7370", "requires --tls-cert"},
		{"indexer --fail nonsense", "--fail"},
		{"urls --status many", "is not an HTTP code"},
	} {
		code, stdout, stderr := sextant(t, "", withData(t, tt.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want exit %d, nothing on stdout, stderr with %q",
				tt.args, code, stdout, stderr, exitUsage, tt.want)
		}
	}
}

// withData names a data directory of its own, to commands that have one.
func withData(t *testing.T, args string) []string {
	words := strings.Fields(args)
	if words[0] != "help" {
		words = append(words, "--data="+t.TempDir())
	}
	return words
}

func TestHelpGoesToStdout(t *testing.T) {
	for _, args := range []string{"--help", "run --help", "explain -h", ""} {
		code, stdout, stderr := sextant(t, "", strings.Fields(args)...)
		if code != exitOK || stderr != "" || !strings.Contains(stdout, "Usage: sextant") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
