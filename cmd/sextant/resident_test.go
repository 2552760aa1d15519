package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// A resident runs the commands of one case file in one process, one after the other, since to start the program takes
// longer than most commands do. It ends with the case file. It runs main's run in the folder of the case file, and with
// the environment that the case file began with: what depends on a variable set later, on stdin or on signals starts
// the program by exec.
type resident struct {
	environment []string
	requests    *gob.Encoder // nil before the first command
	responses   *gob.Decoder
}

type residentRequest struct {
	Dir  string
	Args []string
}

type residentResponse struct {
	Code           int
	Stdout, Stderr string
}

// beResident is the value of beMain that makes the test binary a resident.
const beResident = "resident"

// serveCommands returns the resident's process. It ends with its requests.
func serveCommands(r io.Reader, w io.Writer) error {
	// The processes that commands start are the program itself.
	if err := os.Setenv(beMain, "1"); err != nil {
		return err
	}
	requests, responses := gob.NewDecoder(r), gob.NewEncoder(w)
	for {
		var request residentRequest
		if err := requests.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := os.Chdir(request.Dir); err != nil {
			return err
		}
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), append([]string{"sextant"}, request.Args...), strings.NewReader(""), &stdout, &stderr)
		if err := responses.Encode(residentResponse{code, stdout.String(), stderr.String()}); err != nil {
			return err
		}
	}
}

// run runs one command of the case file.
func (r *resident) run(ts *testscript.TestScript, args []string) residentResponse {
	if r.requests == nil {
		r.start(ts)
	}
	ts.Check(r.requests.Encode(residentRequest{ts.MkAbs("."), args}))
	var response residentResponse
	ts.Check(r.responses.Decode(&response))
	return response
}

func (r *resident) start(ts *testscript.TestScript) {
	command := exec.Command(os.Args[0]) //nolint:gosec,noctx // it ends with its stdin
	command.Env = append(r.environment, beMain+"="+beResident)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	ts.Check(err)
	stdout, err := command.StdoutPipe()
	ts.Check(err)
	ts.Check(command.Start())
	ts.Defer(func() {
		ts.Check(errors.Join(stdin.Close(), command.Wait()))
	})
	r.requests, r.responses = gob.NewEncoder(stdin), gob.NewDecoder(stdout)
}

// residentKey is that of a case file's *resident.
type residentKey struct{}

// runScript runs a command, and shows its output to the case file.
func runScript(ts *testscript.TestScript, args []string) (code int) {
	response := ts.Value(residentKey{}).(*resident).run(ts, args)
	_, err := io.WriteString(ts.Stdout(), response.Stdout)
	ts.Check(err)
	_, err = io.WriteString(ts.Stderr(), response.Stderr)
	ts.Check(err)
	return response.Code
}

func sextantScript(ts *testscript.TestScript, neg bool, args []string) {
	if code := runScript(ts, args); (code != exitOK) != neg {
		ts.Fatalf("exit %d", code)
	}
}

// exitsScript runs a command that ends with an exit code.
func exitsScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "sextant" {
		ts.Fatalf("usage: exits CODE sextant ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := runScript(ts, args[2:]); code != want {
		ts.Fatalf("exit %d, want %d", code, want)
	}
}

// untilScript runs a command until it succeeds and lines of its output match.
func untilScript(ts *testscript.TestScript, neg bool, args []string) {
	flags := flag.NewFlagSet("until", flag.ContinueOnError)
	count := flags.Int("count", -1, "how many lines match, in place of some")
	ts.Check(flags.Parse(args))
	if args = flags.Args(); neg || len(args) < 2 || args[1] != "sextant" {
		ts.Fatalf("usage: until [-count=N] REGEXP sextant ARG...")
	}
	lines, err := regexp.Compile("(?m)^.*(?:" + args[0] + ").*$")
	ts.Check(err)
	var response residentResponse
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		response = ts.Value(residentKey{}).(*resident).run(ts, args[2:])
		found := len(lines.FindAllString(response.Stdout, -1))
		if response.Code == exitOK && (found == *count || *count < 0 && found > 0) {
			return
		}
	}
	ts.Fatalf("exit %d\n%s%s", response.Code, response.Stdout, response.Stderr)
}
