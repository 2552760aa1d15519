package store

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

const restartChildEnv = "SEXTANT_RESTART_CHILD"

// TestRestart measures from opening a store to the first URL that a frontier gives: after
// a clean close, and after a process that was adding URLs was killed. To measure, with
// a tenth of the URLs waiting on a hundredth as many hosts:
//
//	SEXTANT_RESTART=10000000 go test -run 'TestRestart$' -timeout 60m -v ./scheduler/store
//
// The files are in the page cache.
func TestRestart(t *testing.T) {
	known := measured(t, "SEXTANT_RESTART", 5000)
	st := stock{known: known, waiting: known / 10, hosts: known / 100}
	dir := t.TempDir()
	s := st.make(t, dir, Options{})
	begin := time.Now()
	closeStore(t, s)
	t.Logf("close: %v, with the fingerprints written", time.Since(begin).Round(time.Millisecond))
	firstPick(t, dir, true)
	for range 2 {
		killWhileWriting(t, dir, known)
		firstPick(t, dir, false)
	}
}

// firstPick opens the store and takes the first URL.
func firstPick(t *testing.T, dir string, clean bool) {
	t.Helper()
	begin := time.Now()
	s := openStore(t, dir, Options{})
	opened := time.Since(begin)
	if s.ClosedCleanly() != clean {
		t.Errorf("closed cleanly is %v, want %v", s.ClosedCleanly(), clean)
	}
	set := scheduler.Settings{Aggressive: true, MaxConnectionsPerHost: 6}
	set.Weights[scheduler.Index] = 1
	f := scheduler.New(s, set, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- f.Run(ctx) }()
	l, err := f.Next(ctx)
	picked := time.Since(begin)
	if err != nil {
		t.Fatal(err)
	}
	f.GiveBack(l, false, time.Time{})
	f.Stop()
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	loadAll(t, s)
	t.Logf("after a clean close: %v: open %v, first URL after %v, all fingerprints after %v or less", clean,
		opened.Round(time.Millisecond), picked.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	closeStore(t, s)
}

// killWhileWriting lets another process add URLs and kills it.
func killWhileWriting(t *testing.T, dir string, known int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRestartChild$")
	cmd.Env = append(os.Environ(), restartChildEnv+"="+dir)
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err := errors.Join(err, cmd.Process.Kill()); err != nil || line != "ready\n" {
		t.Fatalf("child with %d URLs says %q: %v %s", known, line, err, words.String())
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // it was killed
}

// TestRestartChild is the process that is killed.
func TestRestartChild(t *testing.T) {
	dir := os.Getenv(restartChildEnv)
	if dir == "" {
		t.Skip("started by TestRestart only")
	}
	s := openStore(t, dir, Options{})
	loadAll(t, s)
	for i := 0; ; i++ {
		addLinks(t, s, linkTo(t, "http://host1.example/killed/"+time.Now().Format(time.RFC3339Nano)))
		if i == 100 {
			if _, err := os.Stdout.WriteString("ready\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
