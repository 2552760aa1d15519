package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

// line is what a reader of the files sees; unknown fields are errors.
type line struct {
	Op       string         `json:"op"`
	Seq      uint64         `json:"seq"`
	Document *push.Document `json:"document"`
	Deletion *push.Deletion `json:"deletion"`
}

type fataler interface {
	Context() context.Context
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// read parses all lines in order, strictly.
func read(t fataler, dir string) []line {
	t.Helper()
	names, err := outputs(dir)
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 && b[len(b)-1] != '\n' {
			t.Fatalf("%s ends within a line", name)
		}
		for text := range bytes.Lines(b) {
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			var l line
			if err := d.Decode(&l); err != nil {
				t.Fatalf("%s: %v in %.100q", name, err, text)
			}
			if (l.Op == "add") != (l.Document != nil) || (l.Op == "delete") != (l.Deletion != nil) {
				t.Fatalf("%s: strange line %.100q", name, text)
			}
			lines = append(lines, l)
		}
	}
	return lines
}

func seqs(lines []line) []uint64 {
	var s []uint64
	for _, l := range lines {
		s = append(s, l.Seq)
	}
	return s
}

func index(lines []line) pushtest.Index {
	x := pushtest.Index{}
	for _, l := range lines {
		if l.Op == "add" {
			x[l.Document.URL] = l.Document.Text
		} else {
			delete(x, l.Deletion.URL)
		}
	}
	return x
}

func open(t fataler, s Settings) *Target {
	t.Helper()
	target, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func docs(first, n int) []push.Entry {
	var es []push.Entry
	for i := first; i < first+n; i++ {
		e := pushtest.Doc(fmt.Sprintf("http://h/%d", i), "text")
		e.Seq = uint64(i)
		es = append(es, e)
	}
	return es
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func pushAll(t fataler, target *Target, es []push.Entry) {
	t.Helper()
	refused, err := target.Push(t.Context(), es)
	if err != nil || len(refused) > 0 {
		t.Fatalf("Push: %v, refused %v", err, refused)
	}
}

func TestConformance(t *testing.T) {
	pushtest.TestTarget(t, func(t *testing.T) pushtest.OpenedTarget {
		s := Settings{Dir: t.TempDir(), RotateBytes: 1000}
		target := open(t, s)
		return pushtest.OpenedTarget{
			Target: target,
			Safe:   func() pushtest.Index { return index(read(t, s.Dir)) },
			Reopen: func() push.Target {
				must(t, target.Close())
				target = open(t, s)
				return target
			},
		}
	})
}

func TestLines(t *testing.T) {
	dir := t.TempDir()
	target := open(t, Settings{Dir: dir})
	indented := push.Entry{Seq: 9, Op: push.Delete, URL: "http://h/3", Body: []byte("{\n \"url\": \"http://h/3\",\r\n \"reason\": \"4 04\"\n}")}
	entries := []push.Entry{
		{Seq: 7, Op: push.Add, URL: "http://h/1", Body: []byte(`{"url":"http://h/1","text":"a\nb"}`)},
		{Seq: 8, Op: push.Add, URL: "http://h/2", Body: []byte("not\nJSON")},
		indented,
		{Seq: 10, Op: push.Add, URL: "http://h/4", Body: nil},
	}
	refused, err := target.Push(t.Context(), entries)
	must(t, err)
	if len(refused) != 2 || refused[0].Seq != 8 || refused[1].Seq != 10 {
		t.Errorf("refused %v, want 8 and 10", refused)
	}
	must(t, target.Close())
	got, err := os.ReadFile(filepath.Join(dir, "out-00000000000000000007.jsonl"))
	must(t, err)
	want := `{"op":"add","seq":7,"document":{"url":"http://h/1","text":"a\nb"}}
{"op":"delete","seq":9,"deletion":{"url":"http://h/3","reason":"4 04"}}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestRotate(t *testing.T) {
	dir := t.TempDir()
	one, err := appendLine(nil, docs(1, 1)[0])
	must(t, err)
	s := Settings{Dir: dir, RotateBytes: int64(3 * len(one))}
	target := open(t, s)
	pushAll(t, target, docs(1, 7))
	must(t, target.Checkpoint(t.Context(), 7))
	must(t, target.Close())
	target = open(t, s) // and after a crash that lost the cursor:
	pushAll(t, target, docs(1, 4))
	long := pushtest.Numbered(5, pushtest.Doc("http://h/long", strings.Repeat("x", 5*len(one))))
	pushAll(t, target, append(long, docs(6, 1)...))
	must(t, target.Close())

	names, err := outputs(dir)
	must(t, err)
	var counts []string
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		counts = append(counts, fmt.Sprintf("%d:%d", numberOf(name), bytes.Count(b, []byte("\n"))))
	}
	want := []string{"1:3", "4:3", "7:3", "8:2", "9:1", "10:1"}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("files and their lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6}, seqs(read(t, dir))); diff != "" {
		t.Errorf("order of lines (-want +got):\n%s", diff)
	}
}

func TestTornLine(t *testing.T) {
	tests := map[string]string{
		"whole":        "",
		"short":        `{"op":"ad`,
		"no line feed": `{"op":"delete","seq":3,"deletion":{}}`,
		"long":         `{"op":"` + strings.Repeat("x", 200_000),
		"zeros":        strings.Repeat("\x00", 65536),
	}
	for name, tail := range tests {
		for _, lines := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s after %d", name, lines), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, fileName(1))
				var b []byte
				for _, e := range docs(1, lines) {
					var err error
					b, err = appendLine(b, e)
					must(t, err)
				}
				must(t, os.WriteFile(path, append(b, tail...), 0o600))
				target := open(t, Settings{Dir: dir})
				if got := seqs(read(t, dir)); len(got) != lines {
					t.Errorf("lines %v, want %d", got, lines)
				}
				pushAll(t, target, docs(3, 1))
				must(t, target.Close())
				if got := seqs(read(t, dir)); len(got) != lines+1 || got[lines] != 3 {
					t.Errorf("lines %v", got)
				}
			})
		}
	}
}

func TestRetention(t *testing.T) {
	dir := t.TempDir()
	target := open(t, Settings{Dir: dir, RotateBytes: 1})
	pushAll(t, target, docs(1, 4))
	must(t, target.Close())
	other := filepath.Join(dir, "notes.txt")
	must(t, os.WriteFile(other, nil, 0o600))
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{fileName(1), fileName(2), fileName(4), "notes.txt"} {
		must(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	target = open(t, Settings{Dir: dir, RotateBytes: 1})
	if got := seqs(read(t, dir)); len(got) != 4 {
		t.Errorf("without a retention %v are left", got)
	}
	must(t, target.Close())
	target = open(t, Settings{Dir: dir, RotateBytes: 1, Retention: time.Minute})
	defer target.Close()
	if diff := cmp.Diff([]uint64{3, 4}, seqs(read(t, dir))); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file of someone else: %v", err)
	}
	pushAll(t, target, docs(5, 1)) // rotates: now 4 is not the last any more
	if diff := cmp.Diff([]uint64{3, 5}, seqs(read(t, dir))); diff != "" {
		t.Errorf("left after rotating (-want +got):\n%s", diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "file")
	must(t, os.WriteFile(plain, nil, 0o600))
	for name, s := range map[string]Settings{
		"no directory":     {},
		"below a file":     {Dir: filepath.Join(plain, "out")},
		"negative size":    {Dir: dir, RotateBytes: -1},
		"negative seconds": {Dir: dir, Retention: -1},
	} {
		if _, err := Open(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// faults makes the calls of a file fail.
type faults struct {
	output
	room    *int64 // bytes that can still be written
	syncErr *error
}

func (f faults) WriteAt(b []byte, at int64) (int, error) {
	if int64(len(b)) <= *f.room {
		*f.room -= int64(len(b))
		return f.output.WriteAt(b, at)
	}
	n, err := f.output.WriteAt(b[:*f.room], at)
	*f.room = 0
	if err == nil {
		err = &os.PathError{Op: "write", Path: "out", Err: syscall.ENOSPC}
	}
	return n, err
}

func (f faults) Sync() error {
	if *f.syncErr != nil {
		return *f.syncErr
	}
	return f.output.Sync()
}

func faulty(t *Target, room *int64, syncErr *error) {
	t.create = func(path string) (output, error) {
		if *room == 0 {
			return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOSPC}
		}
		out, err := create(path)
		return faults{out, room, syncErr}, err
	}
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	target := open(t, Settings{Dir: dir})
	room, syncErr := int64(500), error(nil)
	faulty(target, &room, &syncErr)
	pushAll(t, target, docs(1, 2))
	for range 3 {
		_, err := target.Push(t.Context(), docs(3, 20))
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), fileName(1)) {
			t.Fatalf("error of a full disk: %v", err)
		}
		if diff := cmp.Diff([]uint64{1, 2}, seqs(read(t, dir))); diff != "" {
			t.Errorf("after a full disk (-want +got):\n%s", diff)
		}
	}
	room = 1 << 20
	pushAll(t, target, docs(3, 2))
	must(t, target.Close())
	if diff := cmp.Diff([]uint64{1, 2, 3, 4}, seqs(read(t, dir))); diff != "" {
		t.Errorf("after there is room (-want +got):\n%s", diff)
	}
}

// A large Push is written in pieces: those before one that fails stay, whole, and come again. The
// buffer does not grow with it.
func TestLargePushInPieces(t *testing.T) {
	dir := t.TempDir()
	target := open(t, Settings{Dir: dir})
	room, syncErr := int64(3*writeBytes+1000), error(nil)
	faulty(target, &room, &syncErr)
	entries := docs(1, 100)
	for i := range entries {
		entries[i].Body = pushtest.Doc(entries[i].URL, strings.Repeat("x", writeBytes/20)).Body
	}
	if _, err := target.Push(t.Context(), entries); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("error of a full disk: %v", err)
	}
	before := seqs(read(t, dir))
	if n := len(before); n < 30 || n >= 100 {
		t.Errorf("%d lines are there of 100, want about 60", n)
	}
	room = 10 * writeBytes
	pushAll(t, target, entries)
	if n := cap(target.buf); n > 2*writeBytes {
		t.Errorf("the buffer has %d bytes", n)
	}
	must(t, target.Close())
	all := seqs(read(t, dir))
	if diff := cmp.Diff(seqs(linesOf(entries)), all[len(before):]); diff != "" {
		t.Errorf("after there is room (-want +got):\n%s", diff)
	}
}

// linesOf are the lines of entries, with nothing but their numbers.
func linesOf(entries []push.Entry) (lines []line) {
	for _, e := range entries {
		lines = append(lines, line{Seq: e.Seq})
	}
	return lines
}

// A failed sync may have lost what was written: it is asked for again.
func TestSyncFails(t *testing.T) {
	dir := t.TempDir()
	target := open(t, Settings{Dir: dir})
	room, syncErr := int64(1<<20), error(nil)
	faulty(target, &room, &syncErr)
	pushAll(t, target, docs(1, 2))
	must(t, target.Checkpoint(t.Context(), 2))
	pushAll(t, target, docs(3, 2))
	syncErr = errors.New("input/output error")
	if err := target.Checkpoint(t.Context(), 4); !errors.Is(err, push.ErrRewind) || !strings.Contains(err.Error(), fileName(1)) {
		t.Errorf("Checkpoint after a failed sync: %v", err)
	}
	syncErr = nil
	pushAll(t, target, docs(3, 3))
	must(t, target.Close())
	if diff := cmp.Diff([]uint64{1, 2, 3, 4, 5}, seqs(read(t, dir))); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// Whatever fails, files hold whole lines only, and what a checkpoint made safe
// stays, in order, through faults, crashes and rotation.
func TestFaultsAndCrashes(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "file")
		must(t, err)
		defer func() { must(t, os.RemoveAll(dir)) }()
		s := Settings{Dir: dir, RotateBytes: rapid.Int64Range(1, 2000).Draw(t, "rotate")}
		room, syncErr := int64(1<<30), error(nil)
		target := open(t, s)
		faulty(target, &room, &syncErr)
		next, safe := 1, 0 // the relay's positions
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"push", "push", "checkpoint", "full", "free", "sync fails", "crash"}).Draw(t, "step") {
			case "push":
				n := rapid.IntRange(0, 10).Draw(t, "n")
				_, err := target.Push(t.Context(), docs(next, n))
				if err == nil {
					next += n
				} else if errors.Is(err, push.ErrRewind) {
					next = safe + 1
				}
			case "checkpoint":
				err := target.Checkpoint(t.Context(), uint64(next-1))
				if err == nil {
					safe = next - 1
				} else if errors.Is(err, push.ErrRewind) {
					next = safe + 1
				}
			case "full":
				room = rapid.Int64Range(0, 300).Draw(t, "room")
			case "free":
				room, syncErr = 1<<30, nil
			case "sync fails":
				syncErr = errors.New("input/output error")
			case "crash": // what is unsynced may be there in part
				tear(t, target)
				target = open(t, s)
				faulty(target, &room, &syncErr)
				next = safe + 1
			}
			checkSafe(t, dir, safe)
		}
		_ = target.Close()
	})
}

// tear leaves of the last file what was synced and some of what was not.
func tear(t *rapid.T, target *Target) {
	if target.out == nil {
		return
	}
	info, err := os.Stat(target.path)
	must(t, err)
	must(t, os.Truncate(target.path, rapid.Int64Range(target.synced, max(info.Size(), target.synced)).Draw(t, "left")))
	must(t, target.out.Close())
}

func checkSafe(t *rapid.T, dir string, safe int) {
	got := seqs(read(t, dir))
	want := uint64(1)
	for _, s := range got {
		if s == want {
			want++
		} else if s > want {
			t.Fatalf("line %d before line %d: %v", s, want, got)
		}
	}
	if int(want-1) < safe {
		t.Fatalf("%d was safe, and the files end at %d", safe, want-1)
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"url":"http://h/"}`), true)
	f.Add([]byte("{\n}"), false)
	f.Add([]byte("\n"), false)
	f.Add([]byte(""), true)
	f.Fuzz(func(t *testing.T, body []byte, add bool) {
		e := push.Entry{Seq: 1, Op: push.Delete, Body: body}
		if add {
			e.Op = push.Add
		}
		b, err := appendLine(nil, e)
		if err != nil {
			if json.Valid(body) {
				t.Fatalf("%q is refused: %v", body, err)
			}
			return
		}
		if n := bytes.Count(b, []byte("\n")); n != 1 || b[len(b)-1] != '\n' {
			t.Fatalf("%q is not one line", b)
		}
		if json.Valid(body) != json.Valid(b) {
			t.Fatalf("%q became %q", body, b)
		}
	})
}

func FuzzNumberOf(f *testing.F) {
	f.Add("out-00000000000000000001.jsonl")
	f.Add("out-18446744073709551615.jsonl")
	f.Add("out-+0000000000000000001.jsonl")
	f.Fuzz(func(t *testing.T, name string) {
		if n := numberOf(name); n > 0 && fileName(n) != name {
			t.Errorf("%q has number %d of %q", name, n, fileName(n))
		}
	})
}

func TestOutputsSortByNumber(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []uint64{1 << 63, 9, 10, 1, 99999} {
		must(t, os.WriteFile(filepath.Join(dir, fileName(n)), nil, 0o600))
	}
	for _, other := range []string{"out-1.jsonl", "out-00000000000000000003.jsonl.gz", "out-99999999999999999999.jsonl"} {
		must(t, os.WriteFile(filepath.Join(dir, other), nil, 0o600))
	}
	names, err := outputs(dir)
	must(t, err)
	var got []uint64
	for _, name := range names {
		got = append(got, numberOf(name))
	}
	if !slices.Equal(got, []uint64{1, 9, 10, 99999, 1 << 63}) {
		t.Errorf("order %v", got)
	}
}
