//go:build linux

package store

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/scheduler"
)

// namespaceEnv marks a test that was started again in a name space of its own.
const namespaceEnv = "SEXTANT_ATTACK_NAMESPACE"

// mountable runs the test again in a user name space of its own, if that is needed for mounting. It then returns false.
func mountable(t *testing.T) bool {
	t.Helper()
	if os.Getenv(namespaceEnv) != "" {
		return true
	}
	probe := t.TempDir()
	if err := unix.Mount("tmpfs", probe, "tmpfs", 0, "size=1m"); err == nil {
		if err := unix.Unmount(probe, 0); err != nil {
			t.Fatal(err)
		}
		return true
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), namespaceEnv+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := again.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || strings.Contains(string(out), "no tmpfs here") {
		testneed.Missing(t, "no tmpfs here: neither root nor user name spaces: %v", err)
	}
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
	return false
}

// smallDisk mounts a file system of so many MiB.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		testneed.Missing(t, "no tmpfs here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// ballast fills a disk with a file until left bytes of it are free.
func ballast(t *testing.T, disk, name string, left int64) (remove func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, name))
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 64<<10)
	for freeBytes(t, disk) > left && err == nil {
		_, err = f.Write(zeros)
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	_ = f.Close() // it may be short
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
}

func freeBytes(t *testing.T, dir string) int64 {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Bavail) * st.Bsize
}

// TestDiskFills fills a disk under an attack until less than MinFree is left: the child must report ErrFull, continue
// to read, and write again by itself once there is space.
func TestDiskFills(t *testing.T) {
	if !mountable(t) {
		return
	}
	r := seeded.Rand(t)
	const minFree = 32 << 20
	// What Badger had begun before the disk was full still finds room: 16 tables of a MiB. That it dies
	// where it finds none is the subject of TestDiskFillsSuddenly.
	const underWay = 16 << 20
	disk := smallDisk(t, "128m")
	l := newLedger(6000)
	a := attack{Dir: filepath.Join(disk, "store"), Durability: OS, MinFree: minFree, Bodies: l.bodies}
	for round := range attackRounds(t, 1) {
		a.Seed, a.First = r.Uint64(), l.last
		var remove func()
		removed := false
		begin, full, going := 200+r.IntN(600), l.full, l.going
		e := attacked(t, a, l, func(lines int) bool {
			switch {
			case lines >= begin && remove == nil:
				remove = ballast(t, disk, "ballast", underWay+int64(r.IntN(minFree-underWay)))
			case remove != nil && !removed && l.full-full > l.going-going: // it does not go on by itself
				remove()
				removed = true
			}
			return removed && l.going-going == l.full-full && lines > begin+1000
		})
		if e.wantKilled(t); l.full == full {
			t.Fatalf("round %d: a full disk was never told of", round)
		}
		l.checkKilled(t, a.Dir, e, round, false)
	}
}

// TestDiskFillsSuddenly fills a disk to the last byte at any moment, with stores that check the space before they write
// and with others. The child may die; with space again the store must be intact. Until then, the store must not report
// damage.
func TestDiskFillsSuddenly(t *testing.T) {
	if !mountable(t) {
		return
	}
	r := seeded.Rand(t)
	disk := smallDisk(t, "96m")
	l := newLedger(6000)
	a := attack{Dir: filepath.Join(disk, "store"), Durability: OS, Bodies: l.bodies}
	ends := map[string]int{}
	for round := range attackRounds(t, 4) {
		a.Seed, a.First, a.MinFree = r.Uint64(), l.last, -1
		if round%2 == 1 {
			a.MinFree = 8 << 20
		}
		var remove func()
		begin, full := r.IntN(800), l.full
		e := attacked(t, a, l, func(lines int) bool {
			if lines == begin {
				remove = ballast(t, disk, "ballast", 0)
			}
			return l.full > full
		})
		ends[e.String()]++
		if remove == nil {
			t.Fatalf("round %d: %v\n%s", round, e, e.stderr)
		}
		a.First = l.last
		again := attacked(t, a, l, func(lines int) bool { return lines > 0 })
		if strings.Contains(again.stderr, scheduler.ErrDamaged.Error()) {
			t.Errorf("round %d: a full disk counts as damage: %s", round, again.stderr)
		}
		if a.MinFree > 0 && !strings.Contains(again.stderr, scheduler.ErrFull.Error()) {
			t.Errorf("round %d: opened on a full disk, the store ends with %s", round, again)
		}
		remove()
		l.checkKilled(t, a.Dir, again, round, round%3 == 2)
		if free := freeBytes(t, disk); free < 56<<20 {
			l = newLedger(l.bodies)
			if err := os.RemoveAll(a.Dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("children ended: %v", ends)
}
