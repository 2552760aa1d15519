package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

// TestScript runs the case files of testdata/script: the program as its user
// starts it. Each file is a shell of its own with an empty folder.
//
//	sextant ARG...   runs the command in the case file's resident, see there
//	exits CODE sextant ARG...
//	                 runs the command, which must end with the exit code
//	until REGEXP sextant ARG...
//	                 runs the command until lines of its output match
//	serve DIR        serves DIR of the case file on loopback; $SITE is its origin,
//	                 $LOCALSITE the same by the name localhost, which is another host
//	protect KIND     serves pages to who is let in, see protectedScript
//	hours NAME       sets $NAME to an hour of the day that is some hours away
//	port NAME        sets $NAME to a free loopback address
//	fill FILE...     replaces $SITE and other variables in FILE
//	await FILE TEXT  waits until FILE contains TEXT
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("..", "..", "testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv(beMain, "1")
			bin := filepath.Join(e.WorkDir, ".bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				return err
			}
			program, err := filepath.Abs(os.Args[0])
			if err != nil {
				return err
			}
			docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
			if err != nil {
				return err
			}
			e.Setenv("DOCS", docs)
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Values[residentKey{}] = &resident{environment: slices.Clone(e.Vars)}
			return os.Symlink(program, filepath.Join(bin, "sextant"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"sextant": sextantScript, "exits": exitsScript, "until": untilScript, "serve": serveScript, "protect": protectedScript, "hours": hoursScript, "port": portScript, "fill": fillScript, "await": awaitScript,
		},
	})
}

func serveScript(ts *testscript.TestScript, _ bool, args []string) {
	server := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	ts.Defer(server.Close)
	ts.Setenv("SITE", server.URL)
	ts.Setenv("LOCALSITE", strings.Replace(server.URL, "127.0.0.1", "localhost", 1))
}

func hoursScript(ts *testscript.TestScript, _ bool, args []string) {
	const away = 6 * time.Hour
	at := time.Now().Add(away)
	ts.Setenv(args[0], at.Format("15:04-")+at.Add(time.Hour).Format("15:04"))
}

func portScript(ts *testscript.TestScript, _ bool, args []string) {
	address, release, err := testport.New()
	ts.Check(err)
	ts.Defer(func() { ts.Check(release()) })
	ts.Setenv(args[0], address)
}

func fillScript(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

func awaitScript(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			ts.Check(err)
		}
		if strings.Contains(string(b), args[1]) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s does not contain %q", args[0], args[1])
}
