package admin

import (
	"os"
	"syscall"
	"testing"
)

// TestTokenOwner: a token that root makes belongs to the service, whose data it lies in.
func TestTokenOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	const owner, group = 65532, 65533
	data := t.TempDir()
	if err := os.Chown(data, owner, group); err != nil {
		t.Fatal(err)
	}
	for _, role := range []Role{Operator, Reader} {
		path, made, err := EnsureToken(data, role)
		if err != nil || !made {
			t.Fatalf("%s: %v, %v", role, made, err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || stat.Uid != owner || stat.Gid != group || info.Mode().Perm() != 0o600 {
			t.Errorf("%s belongs to %+v, mode %v", path, info.Sys(), info.Mode())
		}
	}
}
