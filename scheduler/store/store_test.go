package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestMain(m *testing.M) {
	testdir.InMemory()
	// Badger leaves these two behind when it refuses to open a damaged store.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/dgraph-io/badger/v4.(*DB).monitorCache"),
		goleak.IgnoreTopFunction("github.com/dgraph-io/ristretto/v2/z.(*AllocatorPool).freeupAllocators"))
}

// quick is for stores that need not outlive a power failure.
var quick = Options{Durability: OS, MemtableBytes: MinMemtableBytes}

// badgerOf returns the database of a store.
func badgerOf(s *Store) *badger.DB { return s.kv.(*badgerkv.Engine).DB() }

// gate is an engine whose commits and room a test may decide.
type gate struct {
	kv.Engine
	commit func(next func() error) error // nil: next
	room   error
}

func (g *gate) Commit(changes iter.Seq2[[]byte, []byte]) error {
	next := func() error { return g.Engine.Commit(changes) }
	if g.commit == nil {
		return next()
	}
	return g.commit(next)
}

func (g *gate) Room() error { return cmp.Or(g.room, g.Engine.Room()) }

// openGated opens a store behind a gate, which the committer owns.
func openGated(t testing.TB, dir string, o Options) (*Store, *gate) {
	t.Helper()
	e, err := badgerkv.Open(dir, o.engine())
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Engine: e}
	s, err := On(g, dir, o)
	return closedAtEnd(t, s, err), g
}

func openStore(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	return closedAtEnd(t, s, err)
}

func closedAtEnd(t testing.TB, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, scheduler.ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func linkTo(t testing.TB, raw string) scheduler.Link {
	t.Helper()
	return scheduler.Link{URL: parse(t, raw), Fifo: scheduler.Index}
}

// mustVerify fails the test on each fault.
func mustVerify(t testing.TB, s *Store) Report {
	t.Helper()
	r, err := s.Verify(context.WithoutCancel(t.Context()), func(f Fault) { t.Errorf("fault: %s %s", f.URL, f.Words) })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verified is a Store that is verified when the suite closes it.
type verified struct {
	*Store
	t *testing.T
}

func (v verified) Close() error {
	if !v.closed {
		mustVerify(v.t, v.Store)
	}
	return v.Store.Close()
}

func openVerified(o Options) storetest.Opener {
	return func(t *testing.T, dir string) storetest.Store {
		s, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		return verified{s, t}
	}
}

// TestConformance has the smallest memtables: the tests with many URLs exceed one transaction of theirs.
func TestConformance(t *testing.T) {
	storetest.Run(t, openVerified(Options{MemtableBytes: MinMemtableBytes}))
}

func TestModel(t *testing.T) {
	storetest.Model(t, openVerified(Options{Durability: OS, MemtableBytes: MinMemtableBytes}))
}

func TestOpenLocked(t *testing.T) {
	dir := t.TempDir()
	openStore(t, dir, quick)
	for _, o := range []Options{quick, {ReadOnly: true}} {
		_, err := Open(dir, o)
		if !errors.Is(err, scheduler.ErrLocked) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "socket") {
			t.Errorf("Open of a locked store (read-only %v): %v", o.ReadOnly, err)
		}
	}
}

// set stores a key of a closed store.
func set(t *testing.T, dir string, key, value []byte) {
	t.Helper()
	e, err := badgerkv.Open(dir, quick.engine())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Commit(func(yield func(key, value []byte) bool) { yield(key, value) }), e.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenFormat(t *testing.T) {
	for _, other := range []byte{0, Format + 1, 5} {
		t.Run(fmt.Sprint("format ", other), func(t *testing.T) {
			dir := t.TempDir()
			closeStore(t, openStore(t, dir, quick))
			set(t, dir, record.FormatKey(), []byte{other})
			for _, o := range []Options{quick, {ReadOnly: true}} {
				_, err := Open(dir, o)
				if !errors.Is(err, scheduler.ErrFormat) || !strings.Contains(err.Error(), "start with an empty store, or continue to use the program that wrote it") {
					t.Errorf("read-only %v: %v", o.ReadOnly, err)
				}
			}
			set(t, dir, record.FormatKey(), []byte{Format}) // nothing else was changed
			mustVerify(t, openStore(t, dir, quick))
		})
	}
	t.Run("another program's", func(t *testing.T) {
		dir := t.TempDir()
		set(t, dir, []byte("hello"), []byte("world"))
		if _, err := Open(dir, quick); !errors.Is(err, scheduler.ErrFormat) {
			t.Errorf("Open of another program's database: %v", err)
		}
	})
}

func TestOpenDamaged(t *testing.T) {
	damage := map[string]func(t *testing.T, dir string){
		"manifest missing": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, badger.ManifestFilename)); err != nil {
				t.Fatal(err)
			}
		},
		"manifest overwritten": func(t *testing.T, dir string) {
			overwrite(t, filepath.Join(dir, badger.ManifestFilename), 0)
		},
		"table missing": func(t *testing.T, dir string) {
			for _, f := range tables(t, dir) {
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		},
		"counters overwritten": func(t *testing.T, dir string) {
			set(t, dir, record.CountersKey(), []byte{1, 7})
		},
	}
	for name, hurt := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir, quick)
			if _, _, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://a.test/")}, false); err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
			before := len(tables(t, dir))
			hurt(t, dir)
			_, err := Open(dir, quick)
			if !errors.Is(err, scheduler.ErrDamaged) || !strings.Contains(err.Error(), "backup") {
				t.Errorf("Open: %v", err)
			}
			if name == "manifest missing" && len(tables(t, dir)) != before {
				t.Error("tables were removed")
			}
		})
	}
}

func tables(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("the store has no table")
	}
	return files
}

// overwrite turns the bits of 64 bytes of a file.
func overwrite(t *testing.T, file string, at int) {
	t.Helper()
	b := testdir.Read(t, file)
	for i := at; i < min(at+64, len(b)); i++ {
		b[i] ^= 0xff
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// decay changes a file as a failing disk does: with the same length and time of change.
func decay(t *testing.T, file string, change func()) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	change()
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyFindsBadBlock: Verify finds what Open does not check, because it seems unchanged.
func TestVerifyFindsBadBlock(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, quick)
	var links []scheduler.Link
	for i := range 1000 {
		links = append(links, linkTo(t, fmt.Sprintf("http://a.test/%d", i)))
	}
	if _, _, err := s.Add(t.Context(), links, false); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	for _, f := range tables(t, dir) {
		fi, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Size() > 60<<10 {
			decay(t, f, func() { overwrite(t, f, 40<<10) }) // not the first block, which holds the format
		}
	}
	s = openStore(t, dir, quick)
	var found []string
	if _, err := s.Verify(t.Context(), func(f Fault) { found = append(found, f.Words) }); err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 || !strings.Contains(found[0], "checksum") {
		t.Errorf("faults: %q", found)
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none"), Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of no store: %v", err)
	}
	s := openStore(t, dir, quick)
	if _, _, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://a.test/")}, false); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	r1, r2 := openStore(t, dir, Options{ReadOnly: true}), openStore(t, dir, Options{ReadOnly: true})
	for _, r := range []*Store{r1, r2} {
		if report := mustVerify(t, r); report.URLs != 1 {
			t.Errorf("report: %+v", report)
		}
		if err := r.SetValue(t.Context(), scheduler.CrawlValue("a"), nil); !errors.Is(err, errReadOnly) {
			t.Errorf("SetValue: %v", err)
		}
		if !r.ClosedCleanly() {
			t.Error("not closed cleanly")
		}
		closeStore(t, r)
	}
	if s := openStore(t, dir, quick); !s.ClosedCleanly() {
		t.Error("reading made it unclean")
	}
}

// A process that is killed while Badger makes or removes a log leaves an empty file.
func TestEmptyLogs(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		dir := t.TempDir()
		s := openStore(t, dir, quick)
		if _, _, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://a.test/")}, false); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		for _, name := range []string{"000099.vlog", "00099.mem"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s = openStore(t, dir, Options{Durability: OS, ReadOnly: readOnly})
		if r := mustVerify(t, s); r.URLs != 1 {
			t.Errorf("read-only %v: %+v", readOnly, r)
		}
		closeStore(t, s)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	s, g := openGated(t, dir, quick)
	g.room = fmt.Errorf("%w: free some space", scheduler.ErrFull)
	_, _, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://a.test/")}, false)
	if !errors.Is(err, scheduler.ErrFull) || !strings.Contains(err.Error(), "free some space") {
		t.Fatalf("Add: %v", err)
	}
	if c, err := s.Counts(t.Context()); err != nil || c.Known != 0 {
		t.Errorf("Counts: %+v, %v", c, err)
	}
	closeStore(t, s)
	s = openStore(t, dir, Options{Durability: OS, MinFree: -1})
	if _, n, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://a.test/")}, false); err != nil || n != 1 {
		t.Fatalf("Add with room: %d, %v", n, err)
	}
	mustVerify(t, s)
}

// A disk that fills up and is freed again needs no new start.
func TestFullDiskRecovers(t *testing.T) {
	s, g := openGated(t, t.TempDir(), quick)
	link := []scheduler.Link{linkTo(t, "http://a.test/")}
	err := s.changeAlone(t.Context(), func(*group) error { g.room = scheduler.ErrFull; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Add(t.Context(), link, false); !errors.Is(err, scheduler.ErrFull) {
		t.Fatalf("Add: %v", err)
	}
	if err := s.change(t.Context(), func(*group) error { g.room = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, n, err := s.Add(t.Context(), link, false); err != nil || n != 1 {
		t.Fatalf("Add with room: %d, %v", n, err)
	}
	if c, err := s.Counts(t.Context()); err != nil || c.Hosts != 1 {
		t.Errorf("Counts: %+v, %v", c, err)
	}
	mustVerify(t, s)
}

func TestCloseEndsWalk(t *testing.T) {
	s := openStore(t, t.TempDir(), quick)
	if _, _, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://a.test/"), linkTo(t, "http://b.test/")}, false); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	err := s.Inspect(t.Context(), scheduler.Filter{}, func(weburl.Key, scheduler.Record) error {
		if len(closed) == 0 {
			go func() { closed <- s.Close() }()
			<-s.quit
		}
		return nil
	})
	if !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("Inspect: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := s.Close(); !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
