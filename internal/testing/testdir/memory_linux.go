package testdir

import (
	"os"

	"golang.org/x/sys/unix"
)

// InMemory is for TestMain: it moves the temporary folders of the process, and of the processes that it starts, into
// memory, if a machine has some gigabytes free. The logs of a store are mapped files, and ext4 clears two megabytes
// when the first byte of one is written. TMPDIR overrides the place, the disk for example.
func InMemory() {
	const (
		memory = "/dev/shm"
		spare  = 4 << 30
	)
	var s unix.Statfs_t
	if os.Getenv("TMPDIR") != "" || unix.Statfs(memory, &s) != nil || s.Flags&unix.ST_NOEXEC != 0 || s.Bavail*uint64(s.Bsize) < spare {
		return
	}
	_ = os.Setenv("TMPDIR", memory)
}
