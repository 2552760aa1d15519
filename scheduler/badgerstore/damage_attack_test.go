package badgerstore

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/seeded"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// damagedEnv names the list of damaged stores to a child of TestDamagedFiles.
const damagedEnv = "SEXTANT_DAMAGED"

// damagedStore is a case of TestDamagedFiles.
type damagedStore struct {
	Dir      string
	Words    string // what was done to it
	ReadOnly bool
}

// verdict is what a child finds of a damaged store.
type verdict struct {
	Refused string // Open's error
	Advised bool   // it is ErrDamaged and says what to do
	Differs string // what is read and is not what was stored
	Errors  string // the first error of reading
	Faults  int    // that Verify tells
	Fault   string
}

// contentsOf reads all that a store holds, by name.
func contentsOf(t *testing.T, s *Store) (all map[string]string, err error) {
	t.Helper()
	ctx := t.Context()
	all = map[string]string{}
	put := func(v any, name ...any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprint(name...)] = string(b)
	}
	var errs []error
	errs = append(errs, s.Inspect(ctx, scheduler.Filter{}, func(k weburl.Key, r scheduler.Record) error { put(r, "record ", k); return nil }))
	errs = append(errs, eachDeletion(ctx, s, func(e push.Entry, d scheduler.StoredDeletion) error {
		put([]any{e, d}, "deletion ", e.Seq)
		return nil
	}))
	errs = append(errs, s.Dead(ctx, func(d push.Dead) error { put(d, "dead ", d.Target, d.URL); return nil }))
	for after := uint64(0); ; {
		entries, err := s.Outbox().Entries(ctx, after, 100, 1<<20)
		errs = append(errs, err)
		for _, e := range entries {
			put(e, "order ", e.Seq)
			after = e.Seq
		}
		if len(entries) == 0 || err != nil {
			break
		}
	}
	errs = append(errs, s.Places(ctx, func(p scheduler.Place, n uint64) error {
		urls, err := s.Queue(ctx, p, 0, 1<<20)
		for i := range urls {
			put(urls[i].Key, "queue ", p.Source, p.Host, urls[i].Seq)
		}
		put(n, "place ", p.Source, p.Host)
		return err
	}))
	for h := range webHosts {
		state, err := s.Host(ctx, webLink(h).URL.HostKey())
		errs = append(errs, err)
		put(state, "host ", h)
		documents, err := s.Documents(ctx, webLink(h).URL.HostKey())
		errs = append(errs, err)
		put(documents, "documents ", h)
	}
	for _, name := range []string{"part 0", "part 1", "part 2", "part 3", "long"} {
		v, err := s.Value(ctx, name)
		errs = append(errs, err)
		put(v, "value ", name)
	}
	cursor, err := s.Outbox().Cursor(ctx, "target")
	errs = append(errs, err)
	put(cursor, "cursor")
	counts, err := s.Counts(ctx)
	errs = append(errs, err)
	put(counts, "counts")
	return all, errors.Join(errs...)
}

// damagedFixture makes a closed store with several tables, some of them compacted,
// and a value log that is in use, and tells all that it holds.
func damagedFixture(t *testing.T) (dir string, all map[string]string) {
	t.Helper()
	a := attack{Dir: t.TempDir(), Seed: 1, Acts: 500, Durability: OS, MinFree: -1, Bodies: 1000}
	l := newLedger(a.Bodies)
	for range 4 {
		a.First = l.last
		if e := attacked(t, a, l, nil); e.exit != 0 || e.signal != 0 {
			t.Fatalf("exit %d, %v\n%s", e.exit, e.signal, e.stderr)
		}
	}
	s := openStore(t, a.Dir, attackOptions())
	if err := s.SetValue(t.Context(), "long", []byte(strings.Repeat("long ", 40_000))); err != nil {
		t.Fatal(err)
	}
	all, err := contentsOf(t, s)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	return a.Dir, all
}

// damages are the ways to damage a file.
func damages(r *rand.Rand) map[string]func(path string) error {
	change := func(fn func(b []byte) []byte) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, fn(b), 0o600)
		}
	}
	flip := change(func(b []byte) []byte {
		if len(b) > 0 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return b
	})
	garbage := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	return map[string]func(string) error{
		"a byte flipped":        flip,
		"another byte flipped":  flip,
		"a byte of the end":     change(func(b []byte) []byte { b[max(0, len(b)-1-r.IntN(60))] ^= 0x10; return b }),
		"a byte of the begin":   change(func(b []byte) []byte { b[min(len(b)-1, r.IntN(30))] ^= 0x04; return b }),
		"a page of zeros":       change(func(b []byte) []byte { at := r.IntN(len(b)); clear(b[at:min(len(b), at+4096)]); return b }),
		"cut off":               change(func(b []byte) []byte { return b[:r.IntN(len(b))] }),
		"one byte cut off":      change(func(b []byte) []byte { return b[:len(b)-1] }),
		"emptied":               change(func([]byte) []byte { return nil }),
		"garbage":               change(func(b []byte) []byte { return garbage(len(b)) }),
		"garbage at the end":    change(func(b []byte) []byte { return append(b, garbage(100)...) }),
		"removed":               os.Remove,
		"a folder in its place": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	}
}

// TestDamagedFiles damages each file of a closed store in each way. The store must
// be refused with what to do, or read right, or Verify must find what is wrong; and
// no process may die of it.
func TestDamagedFiles(t *testing.T) {
	if list := os.Getenv(damagedEnv); list != "" {
		judgeDamaged(t, list)
		return
	}
	r := seeded.Rand(t)
	dir, all := damagedFixture(t)
	want, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "want"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, dir)
	var cases []damagedStore
	some := 4
	if testing.Short() {
		some = 16
	}
	for round := range max(1, attackRounds(t, 1)/10) {
		for _, file := range files {
			for words, damage := range damages(r) {
				if attackRounds(t, 1) == 1 && r.IntN(some) > 0 {
					continue // some of them will do
				}
				c := damagedStore{Dir: filepath.Join(work, fmt.Sprint(len(cases))), Words: file + ": " + words, ReadOnly: r.IntN(3) == 0}
				copyTo(t, dir, c.Dir)
				if err := damage(filepath.Join(c.Dir, file)); err != nil {
					t.Fatal(c.Words, err)
				}
				cases = append(cases, c)
			}
		}
		if tables := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return filepath.Ext(f) != ".sst" }); len(tables) > 1 && round == 0 {
			c := damagedStore{Dir: filepath.Join(work, "swapped"), Words: tables[0] + " and " + tables[1] + " swapped"}
			copyTo(t, dir, c.Dir)
			path := func(name string) string { return filepath.Join(c.Dir, name) }
			if err := errors.Join(os.Rename(path(tables[0]), path("x")), os.Rename(path(tables[1]), path(tables[0])), os.Rename(path("x"), path(tables[1]))); err != nil {
				t.Fatal(err)
			}
			cases = append(cases, c)
		}
		judge(t, work, cases)
		cases = nil
	}
}

func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			files = append(files, e.Name())
		}
	}
	return files
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", "--sparse=always", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// judge has children open the damaged stores. A child that dies is one fault.
func judge(t *testing.T, work string, cases []damagedStore) {
	t.Helper()
	outcomes := map[string]int{}
	for len(cases) > 0 {
		list, err := json.Marshal(cases)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(work, "list")
		if err := os.WriteFile(name, list, 0o600); err != nil {
			t.Fatal(err)
		}
		n := judgeSome(t, name, cases, outcomes)
		cases = cases[n:]
	}
	t.Logf("outcomes: %v", outcomes)
}

// judgeSome runs one child and gives how many stores it has judged, one that killed
// it included.
func judgeSome(t *testing.T, list string, cases []damagedStore, outcomes map[string]int) int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDamagedFiles$", "-test.timeout=120s")
	child.Env = append(os.Environ(), damagedEnv+"="+list)
	var stderr strings.Builder
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	n, lines := 0, bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v verdict
		if json.Unmarshal(lines.Bytes(), &v) != nil {
			continue // the test's own last words
		}
		c := cases[n]
		n++
		outcome := "read right"
		switch {
		case v.Refused != "" && !v.Advised:
			outcome = "refused in the wrong words"
			t.Errorf("%s (read-only %v): refused with %s", c.Words, c.ReadOnly, v.Refused)
		case v.Refused != "":
			outcome = "refused"
		case v.Faults > 0:
			outcome = "found by Verify"
		case v.Errors != "":
			outcome = "reading fails"
		case v.Differs != "":
			outcome = "LOST"
			t.Errorf("%s (read-only %v): opens, Verify finds nothing, and it holds other data: %s", c.Words, c.ReadOnly, v.Differs)
		}
		outcomes[outcome]++
	}
	if err := child.Wait(); err != nil && n < len(cases) {
		end := fmt.Sprintf("%v\n%s", err, stderr.String())
		t.Errorf("%s (read-only %v): the process died: %s", cases[n].Words, cases[n].ReadOnly, end[:min(len(end), 1500)])
		outcomes["DIED"]++
		n++
	}
	return n
}

// judgeDamaged is the child: it says what it finds of each store.
func judgeDamaged(t *testing.T, list string) {
	var cases []damagedStore
	var want map[string]string
	for name, v := range map[string]any{list: &cases, filepath.Join(filepath.Dir(list), "want"): &want} {
		b, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(b, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range cases {
		late := time.AfterFunc(30*time.Second, func() {
			fmt.Fprintln(os.Stderr, "it hangs")
			os.Exit(5)
		})
		b, err := json.Marshal(judgeOne(t, c, want))
		if err != nil {
			t.Fatal(err)
		}
		late.Stop()
		fmt.Printf("%s\n", b)
	}
}

func judgeOne(t *testing.T, c damagedStore, want map[string]string) (v verdict) {
	o := attackOptions()
	o.ReadOnly = c.ReadOnly
	s, err := Open(c.Dir, o)
	if err != nil {
		return verdict{Refused: err.Error(), Advised: errors.Is(err, scheduler.ErrDamaged) && strings.Contains(err.Error(), adviceDamaged)}
	}
	got, err := contentsOf(t, s)
	if err != nil {
		v.Errors = err.Error()
	}
	for name, w := range want {
		if got[name] != w {
			v.Differs = fmt.Sprintf("%s: %.300s, was %.300s", name, got[name], w)
			break
		}
	}
	if len(got) > len(want) && v.Differs == "" {
		v.Differs = fmt.Sprintf("%d things, there were %d", len(got), len(want))
	}
	report, err := s.Verify(t.Context(), func(f Fault) { v.Fault = f.URL + " " + f.Words })
	v.Faults = int(report.Faults)
	if err != nil {
		v.Faults, v.Fault = v.Faults+1, err.Error()
	}
	if err := s.Close(); err != nil {
		v.Faults, v.Fault = v.Faults+1, err.Error()
	}
	return v
}
