package powercut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// childEnv names the mount to a process that a test started to use it.
const childEnv = "SEXTANT_POWERCUT_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := use(dir, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// use does something to a mounted disk.
func use(dir, what string) error {
	path := func(name string) string { return filepath.Join(dir, name) }
	switch what {
	case "synced write":
		return write(path("f"), "synced", true, os.O_CREATE|os.O_EXCL)
	case "synced file and folder":
		return errors.Join(write(path("f"), "synced", true, os.O_CREATE), syncFolder(dir))
	case "unsynced write":
		return write(path("f"), "unsynced", false, os.O_CREATE)
	case "synced overwrite":
		return write(path("f"), "SYNCED", true, 0)
	case "overwrite":
		return write(path("f"), "OVERWR", false, 0)
	case "map":
		return writeMapped(path("f"), false)
	case "synced map":
		return writeMapped(path("f"), true)
	case "rename":
		return errors.Join(write(path("g"), "new", true, os.O_CREATE), os.Rename(path("g"), path("f")))
	case "synced rename":
		return errors.Join(write(path("g"), "new", true, os.O_CREATE), os.Rename(path("g"), path("f")), syncFolder(dir))
	case "empty": // as Badger does before it removes a log
		return os.Truncate(path("f"), 0)
	case "remove":
		return os.Remove(path("f"))
	case "synced remove":
		return errors.Join(os.Remove(path("f")), syncFolder(dir))
	}
	return fmt.Errorf("%q is not known", what)
}

func write(path, text string, synced bool, flags int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err == nil && synced {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writeMapped makes a file of two pages with a byte in each, as Badger does.
func writeMapped(path string, synced bool) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Truncate(2 * pageSize); err != nil {
		return err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 2*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	b[0], b[pageSize] = 'a', 'b'
	if synced {
		err = unix.Msync(b, unix.MS_SYNC)
	}
	return errors.Join(err, unix.Munmap(b), f.Close())
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// TestFates draws many images after each kind of use and wants exactly those that
// the order allows.
func TestFates(t *testing.T) {
	before := map[string]string{"f": "before"}
	pages := map[string]string{"f": strings.Repeat("a", pageSize) + strings.Repeat("b", pageSize)}
	both := func(want ...string) map[Order][]string { return map[Order][]string{Journal: want, Posix: want} }
	for _, c := range []struct {
		use   string
		first map[string]string
		want  map[Order][]string // files and their contents, mapped pages shortened
	}{
		{"synced write", nil, map[Order][]string{Journal: {"f=synced"}, Posix: {"", "f=synced"}}},
		{"synced file and folder", nil, both("f=synced")},
		{"unsynced write", nil, map[Order][]string{
			Journal: {"", "f=", "f=unsynced"},
			Posix:   {"", "f=", "f=\x00\x00\x00\x00\x00\x00\x00\x00", "f=unsynced"},
		}},
		{"synced overwrite", before, both("f=SYNCED")},
		{"overwrite", before, both("f=OVERWR", "f=before")},
		{"synced map", nil, map[Order][]string{Journal: {"f=a|b"}, Posix: {"", "f=a|b"}}},
		{"map", nil, both("", "f=", "f=a|b", "f=a|\x00", "f=\x00|b", "f=\x00|\x00")},
		{"rename", before, map[Order][]string{
			Journal: {"f=before g=new", "f=new"},
			Posix:   {"f=before", "f=before g=new", "f=new"},
		}},
		{"synced rename", before, both("f=new")},
		{"empty", pages, map[Order][]string{
			Journal: {"f=", "f=a|b"},
			Posix:   {"f=", "f=a|b", "f=a|\x00", "f=\x00|b", "f=\x00|\x00"},
		}},
		{"remove", before, both("", "f=before")},
		{"synced remove", before, both("")},
	} {
		for _, order := range []Order{Journal, Posix} {
			t.Run(fmt.Sprint(c.use, " ", order), func(t *testing.T) {
				d := used(t, order, c.first, c.use)
				seen := map[string]bool{}
				seeds := uint64(20)
				if len(c.want[order]) > 1 {
					seeds = 160
				}
				for seed := range seeds {
					dir := filepath.Join(t.TempDir(), "image")
					if err := d.Image(dir, seed); err != nil {
						t.Fatal(err)
					}
					seen[listing(t, dir)] = true
				}
				for _, w := range c.want[order] {
					if !seen[w] {
						t.Errorf("never drawn: %q", w)
					}
					delete(seen, w)
				}
				for s := range seen {
					t.Errorf("drawn: %q", s)
				}
			})
		}
	}
}

// used returns a disk that a process has used.
func used(t *testing.T, order Order, first map[string]string, use string) *Disk {
	t.Helper()
	source, mount := t.TempDir(), t.TempDir()
	for name, text := range first {
		testdir.Write(t, filepath.Join(source, name), text)
	}
	d, err := Load(source, order)
	if err != nil {
		t.Fatal(err)
	}
	unmount, err := d.Mount(mount)
	if errors.Is(err, ErrUnavailable) {
		testneed.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], use)
	child.Env = append(os.Environ(), childEnv+"="+mount)
	out, err := child.CombinedOutput()
	if err := errors.Join(err, unmount()); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return d
}

// listing tells the files of a folder in one line. A mapped file is told by the
// first byte of each page.
func listing(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		b := testdir.Read(t, filepath.Join(dir, f.Name()))
		if len(b) == 2*pageSize {
			b = []byte{b[0], '|', b[pageSize]}
		}
		all = append(all, f.Name()+"="+string(b))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestImageAgain wants the same image of the same seed, and a disk that is loaded
// from an image to give it back whole.
func TestImageAgain(t *testing.T) {
	d := New(Journal)
	c := newContent()
	d.bind(map[string]*content{"f": c})
	text := strings.Repeat("sectors of this text get torn ", 1000)
	c.write([]byte(text), 0)
	c.sync()
	d.syncFile(c)
	c.write([]byte(strings.ToUpper(text)), 0)
	images := map[string]bool{}
	for seed := range uint64(20) {
		var same [3]string
		dirs := [3]string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "c")}
		for i, dir := range dirs {
			from, of := d, seed
			if i == 2 {
				var err error
				if from, err = Load(dirs[0], Posix); err != nil {
					t.Fatal(err)
				}
				of = 77
			}
			if err := from.Image(dir, of); err != nil {
				t.Fatal(err)
			}
			same[i] = listing(t, dir)
		}
		if same[0] != same[1] || same[0] != same[2] {
			t.Fatalf("seed %d gives different images", seed)
		}
		images[same[0]] = true
	}
	if len(images) < 5 {
		t.Errorf("20 seeds gave only %d different images", len(images))
	}
}

// TestContent compares a content with a plain slice of bytes, written, cut and
// lengthened at all kinds of borders.
func TestContent(t *testing.T) {
	c, want := newContent(), []byte{}
	for i, at := range []int{0, 1, pageSize - 1, pageSize, pageSize + 1, 3*pageSize - 5, 2 * pageSize} {
		b := []byte(strings.Repeat(string(rune('a'+i)), pageSize+10*i))
		c.write(b, int64(at))
		want = append(want, make([]byte, max(0, at+len(b)-len(want)))...)
		copy(want[at:], b)
		for _, size := range []int{len(want) - 100, len(want) + 100} {
			if i%2 == 1 {
				c.sync()
			}
			c.resize(int64(size))
			if size < len(want) {
				want = want[:size:size]
			}
			want = append(want, make([]byte, max(0, size-len(want)))...)
			got := make([]byte, len(want)+10)
			if n := c.read(got, 0); n != len(want) || !slices.Equal(got[:n], want) {
				t.Fatalf("write %d, size %d: %d bytes read, or different ones", i, size, n)
			}
		}
	}
}
