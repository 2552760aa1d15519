package admin

import (
	"os/exec"
	"syscall"
	"testing"
)

// TestIsStopped tells a process that is stopped from one that is at work.
func TestIsStopped(t *testing.T) {
	c := exec.Command("cat") // which waits for its input
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _, _ = in.Close(), c.Process.Kill(), c.Wait() }()
	if isStopped(c.Process.Pid) {
		t.Error("a process at work is said to be stopped")
	}
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it does not stop: %v, %v", status, err)
	}
	if !isStopped(c.Process.Pid) {
		t.Error("a stopped process is said to be at work")
	}
	if isStopped(0) {
		t.Error("no process is said to be stopped")
	}
}
