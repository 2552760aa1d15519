package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
)

// damagedFixture makes a store by a number of fixed acts, in four sessions: with several tables, the first of them
// merged, and a used value log. It returns the store after the last session, and a copy from during that session, which
// is what a killed process leaves.
func damagedFixture(t *testing.T, acts uint64) (closed, killed string) {
	t.Helper()
	w := &attacker{out: io.Discard, attack: attack{Dir: filepath.Join(t.TempDir(), "closed"), Seed: 1, Acts: acts / 4, Durability: OS, MinFree: -1, Bodies: 1000}}
	p := &worker{attacker: w, ctx: t.Context(), r: rand.New(rand.NewPCG(w.Seed, 0))}
	for session := range 4 {
		w.s = openStore(t, w.Dir, attackOptions())
		outbox := w.s.Outbox()
		if err := outbox.Open(p.ctx, []string{"target"}); err != nil {
			t.Fatal(err)
		}
		var err error
		for w.First = w.next.Load(); err == nil; p.part = (p.part + 1) % parts {
			err = p.step()
		}
		if !errors.Is(err, errEnd) {
			t.Fatal(err)
		}
		if err := w.s.SetValue(p.ctx, scheduler.CrawlValue(fmt.Sprint("long ", session)), []byte(strings.Repeat("long ", 40_000))); err != nil {
			t.Fatal(err)
		}
		entries, err := outbox.Entries(p.ctx, 0, 20, 1<<20)
		if err != nil || len(entries) < 4 {
			t.Fatal(len(entries), err)
		}
		if err := errors.Join(outbox.Safe(p.ctx, "target", entries[1].Seq), outbox.AddDead(p.ctx, "target", entries[3], "refused", time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
		switch session {
		case 2:
			if err := badgerOf(w.s).Flatten(1); err != nil {
				t.Fatal(err)
			}
		case 3:
			killed = copied(t, w.Dir)
			noted(t, w.s, killed)
			noted(t, w.s, w.Dir)
		}
		closeStore(t, w.s)
	}
	return w.Dir, killed
}

// noted writes down what a store holds, for who judges copies of a fixture.
func noted(t *testing.T, s *Store, fixture string) {
	t.Helper()
	all, err := contentsOf(t, s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fixture+".want", b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedFiles damages each file of a closed store in each way. The store must be refused with advice, or be read
// correctly, or Verify must find the fault; and no process may die.
func TestDamagedFiles(t *testing.T) {
	r := seeded.Rand(t)
	dir, _ := damagedFixture(t, 2000)
	files := filesOf(t, dir)
	var cases []damagedStore
	rounds := attackRounds(t, 1)
	for range max(1, rounds/10) {
		for _, file := range files {
			for _, h := range harms(r, file.name, file.size) {
				if rounds == 1 && r.IntN(16) > 0 {
					continue // some of them will do
				}
				cases = append(cases, damagedStore{From: dir, Harms: []harm{h}, ReadOnly: r.IntN(3) == 0})
			}
		}
	}
	judge(t, cases)
}

// TestSwappedTables gives two tables each other's names.
func TestSwappedTables(t *testing.T) {
	dir, _ := damagedFixture(t, 2000)
	files := slices.DeleteFunc(filesOf(t, dir), func(f storeFile) bool { return filepath.Ext(f.name) != ".sst" })
	if len(files) < 2 {
		t.Fatalf("%v are too few tables", files)
	}
	path := func(i int) string { return filepath.Join(dir, files[i].name) }
	if err := errors.Join(os.Rename(path(0), dir+".x"), os.Rename(path(1), path(0)), os.Rename(dir+".x", path(1))); err != nil {
		t.Fatal(err)
	}
	judge(t, []damagedStore{{From: dir}, {From: dir, ReadOnly: true}})
}

// storeFile is a file of a store.
type storeFile struct {
	name string
	size int64
}

// filesOf returns the files of a store that are not empty, by name.
func filesOf(t *testing.T, dir string) []storeFile {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []storeFile
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			files = append(files, storeFile{e.Name(), info.Size()})
		}
	}
	return files
}

// copyTo copies a store, without the holes of its files: an open value log is one of many MiB.
func copyTo(t testing.TB, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", "--sparse=always", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
