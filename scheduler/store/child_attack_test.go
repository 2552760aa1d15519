package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// attackRounds returns how many rounds a test runs: few, or what SEXTANT_CRASH_ROUNDS says.
func attackRounds(t *testing.T, few int) int {
	t.Helper()
	if s, ok := os.LookupEnv("SEXTANT_CRASH_ROUNDS"); ok {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("SEXTANT_CRASH_ROUNDS=%s: %v", s, err)
		}
		return n
	}
	if testing.Short() {
		return 1
	}
	return few
}

// ending is how a child ended.
type ending struct {
	signal syscall.Signal // 0: it was not killed
	exit   int
	stderr string
	lines  int
}

// attacked runs a child that carries out the attack, and passes its lines to the ledger. After each line, stop decides
// whether to kill the child; nil: never. Lines in the pipe at the end are exempt.
func attacked(t *testing.T, a attack, l *ledger, stop func(lines int) bool) ending {
	t.Helper()
	orders, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestWorkload$", "-test.timeout=30m")
	child.Env = append(os.Environ(), attackEnv+"="+string(orders))
	var stderr bytes.Buffer
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	e := ending{}
	r := bufio.NewReaderSize(out, 1<<16)
	for killed := false; ; e.lines++ {
		if !killed && stop != nil && stop(e.lines) {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed = true
		}
		b, err := r.ReadBytes('\n')
		if err == io.EOF { // half a line was never said
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var n line
		if err := json.Unmarshal(b, &n); err != nil {
			t.Fatalf("child said %q: %v\n%s", b, err, stderr.String())
		}
		l.take(t, n)
	}
	var exit *exec.ExitError
	if err := child.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	e.stderr = stderr.String()
	if status := child.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		e.signal = status.Signal()
	} else {
		e.exit = status.ExitStatus()
	}
	return e
}

// wantKilled fails unless the child died of SIGKILL.
func (e ending) wantKilled(t *testing.T) {
	t.Helper()
	if e.signal != syscall.SIGKILL {
		t.Fatalf("the child was not killed: %d, %v\n%s", e.exit, e.signal, e.stderr)
	}
}

// attackOptions returns those with which tests open an attacked store.
func attackOptions() Options {
	return Options{Durability: OS, MemtableBytes: MinMemtableBytes, MinFree: -1}
}

// TestWorkload runs an undisturbed attack to its end; all of it must be stored. In a child process it is the attack.
func TestWorkload(t *testing.T) {
	if beAttacker(t) {
		return
	}
	a := attack{Dir: t.TempDir(), Seed: seeded.Seed(t), Acts: 1200, Durability: OS, MinFree: -1, Bodies: 2000}
	l := newLedger(a.Bodies)
	for range 2 {
		a.First = l.last
		if e := attacked(t, a, l, nil); e.exit != 0 || e.signal != 0 {
			t.Fatalf("exit %d, %v\n%s", e.exit, e.signal, e.stderr)
		}
		if len(l.under) > 0 {
			t.Errorf("%d acts were not acknowledged", len(l.under))
		}
		s := openStore(t, a.Dir, attackOptions())
		if !s.ClosedCleanly() {
			t.Error("the store does not count as closed cleanly")
		}
		l.check(t, s)
		l.probe(t, s)
		closeStore(t, s)
	}
}

// copied returns a copy of a folder of files. In an open store, no table was added or removed during the copy: a
// process killed at that moment would leave this.
func copied(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	for {
		before := listed(t, dir)
		out, err := exec.Command("cp", "-a", "--sparse=always", dir, to).CombinedOutput()
		if listed(t, dir) == before {
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return to
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}

// listed tells the names of a folder's files and how long those are that only grow.
func listed(t testing.TB, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		fmt.Fprint(&all, f.Name(), " ")
		if info, err := f.Info(); err == nil && f.Name() == "MANIFEST" {
			fmt.Fprint(&all, info.Size(), " ")
		}
	}
	return all.String()
}

// String says in a few words how a child ended.
func (e ending) String() string {
	switch {
	case e.signal != 0:
		return e.signal.String()
	case strings.Contains(e.stderr, "fault address") || strings.Contains(e.stderr, "SIGBUS"):
		return "bus error"
	case e.exit == 0:
		return "done"
	}
	last := strings.Split(strings.TrimSpace(e.stderr), "\n")
	return "exit: " + last[len(last)-1]
}
