package store

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/weburl"
)

// damagedEnv names the list of damaged stores to a child that judges them.
const damagedEnv = "SEXTANT_DAMAGED"

// damagedStore is a copy of a fixture that something was done to.
type damagedStore struct {
	From     string // the fixture; what it holds stands in From + ".want"
	Harms    []harm
	ReadOnly bool
	// Decayed says that the files keep their times of change, as on a disk that fails.
	// Then Badger may meet the damage while it merges tables, which is not judged.
	Decayed bool
	// Torn says that a process that was killed may have left the file so: then the store
	// may hold what it held at an earlier time.
	Torn bool
}

func (c damagedStore) String() string {
	return fmt.Sprintf("%v, read-only %v, decayed %v", c.Harms, c.ReadOnly, c.Decayed)
}

// verdict is what a child finds of a damaged store.
type verdict struct {
	Refused string // Open's error
	Advised bool   // it is ErrDamaged and says what to do
	Differs string // what is read and is not what was stored
	Errors  string // the first error of reading
	Faults  int    // that Verify tells
	Fault   string
	Took    uint64 // bytes that were allocated meanwhile
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
	for _, name := range []string{"part 0", "part 1", "part 2", "part 3", "long 0", "long 1", "long 2", "long 3"} {
		v, err := s.Value(ctx, scheduler.CrawlValue(name))
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

// judge has children open the damaged stores. A child that dies is one fault.
func judge(t *testing.T, cases []damagedStore) {
	t.Helper()
	work, all := t.TempDir(), len(cases)
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
		cases = cases[judgeSome(t, name, cases, outcomes):]
	}
	t.Logf("%d stores: %v", all, outcomes)
}

// judgeSome runs one child and returns how many stores it has judged, including one that killed it.
func judgeSome(t *testing.T, list string, cases []damagedStore, outcomes map[string]int) int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestJudgeDamaged$", "-test.timeout=0")
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
		outcome, fault := v.outcome(cases[n])
		if fault != "" {
			t.Errorf("%v: %s", cases[n], fault)
		}
		outcomes[outcome]++
		n++
	}
	if err := child.Wait(); err != nil && n < len(cases) {
		end := fmt.Sprintf("%v\n%s", err, stderr.String())
		t.Errorf("%v: the process died: %s", cases[n], end[:min(len(end), 1500)])
		outcomes["DIED"]++
		n++
	}
	return n
}

// outcome says in a word what became of a store, and what is wrong with that.
func (v verdict) outcome(c damagedStore) (word, fault string) {
	const much = 512 << 20
	switch {
	case v.Took > much:
		return "TOO MUCH MEMORY", fmt.Sprintf("%d MiB are allocated", v.Took>>20)
	case v.Refused != "" && !v.Advised:
		return "refused in the wrong words", "refused with " + v.Refused
	case v.Refused != "":
		return "refused", ""
	case v.Faults > 0:
		return "found by Verify", ""
	case v.Errors != "":
		return "reading fails", ""
	case v.Differs != "" && c.Torn:
		return "earlier", ""
	case v.Differs != "":
		return "LOST", "opens, Verify finds nothing, and it holds other data: " + v.Differs
	}
	return "read right", ""
}

// TestJudgeDamaged is the child: it says what it finds of each store.
func TestJudgeDamaged(t *testing.T) {
	list := os.Getenv(damagedEnv)
	if list == "" {
		t.Skip("started by the tests of damage only")
	}
	var cases []damagedStore
	readJSON(t, list, &cases)
	want := map[string]map[string]string{}
	dir := filepath.Join(t.TempDir(), "store")
	for _, c := range cases {
		if want[c.From] == nil {
			var w map[string]string
			readJSON(t, c.From+".want", &w)
			want[c.From] = w
		}
		copyTo(t, c.From, dir)
		for _, h := range c.Harms {
			change := func() error { return h.apply(dir) }
			if c.Decayed {
				change = func() (err error) {
					decay(t, filepath.Join(dir, h.File), func() { err = h.apply(dir) })
					return err
				}
			}
			if err := change(); err != nil {
				t.Fatal(h, err)
			}
		}
		late := time.AfterFunc(5*time.Minute, func() {
			fmt.Fprintln(os.Stderr, "it hangs")
			os.Exit(5)
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v := judgeOne(t, dir, c, want[c.From])
		runtime.ReadMemStats(&after)
		v.Took = after.TotalAlloc - before.TotalAlloc
		late.Stop()
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s\n", b)
	}
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// judgeOne reads a store, whose value log is collected when it is opened, before and after all its tables were merged,
// as happens at any time in a longer process.
func judgeOne(t *testing.T, dir string, c damagedStore, want map[string]string) (v verdict) {
	o := attackOptions()
	o.ReadOnly = c.ReadOnly
	s, err := Open(dir, o)
	if err != nil {
		return verdict{Refused: err.Error(), Advised: errors.Is(err, scheduler.ErrDamaged) && strings.Contains(err.Error(), kv.AdviceDamaged)}
	}
	v.compare(t, s, want)
	if !c.ReadOnly {
		if !c.Decayed {
			v.fault(badgerOf(s).Flatten(1))
		}
		v.compare(t, s, want)
	}
	report, err := s.Verify(t.Context(), func(f Fault) { v.Fault = f.URL + " " + f.Words })
	v.Faults += int(report.Faults)
	v.fault(err)
	v.fault(s.Close())
	return v
}

func (v *verdict) fault(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		v.Faults, v.Fault = v.Faults+1, err.Error()
	}
}

func (v *verdict) compare(t *testing.T, s *Store, want map[string]string) {
	got, err := contentsOf(t, s)
	if err != nil {
		v.Errors = err.Error()
	}
	for name, w := range want {
		if got[name] != w {
			v.Differs = fmt.Sprintf("%s: %.300s, was %.300s", name, got[name], w)
			return
		}
	}
	if len(got) > len(want) {
		v.Differs = fmt.Sprintf("%d things, there were %d", len(got), len(want))
	}
}
