package testport

import (
	"net"
	"os/exec"
	"testing"
	"time"
)

// Patience is the time that a process has to respond: far longer than on any machine.
const Patience = 2 * time.Minute

// Await starts a server, and waits until it listens at the address.
func Await(t testing.TB, name, address string, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("%s does not listen at %s: %v\n%v", name, address, err, cmd.Stderr)
		}
	}
}
