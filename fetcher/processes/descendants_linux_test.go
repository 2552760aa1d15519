package processes

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDescendants: a child and what it started are found.
func TestDescendants(t *testing.T) {
	shell := exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 & echo $!; wait")
	out, err := shell.StdoutPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	found := Descendants(os.Getpid())
	if !slices.Contains(found, shell.Process.Pid) || slices.Index(found, grandchild) < slices.Index(found, shell.Process.Pid) {
		t.Errorf("%v, want %d and then %d", found, shell.Process.Pid, grandchild)
	}
	p, err := os.FindProcess(grandchild)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Error(err)
	}
	if err := shell.Wait(); err != nil && !strings.Contains(err.Error(), "exit status") {
		t.Error(err)
	}
}
