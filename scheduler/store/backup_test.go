package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/backupfile"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// everything reads what a store holds, as its users see it.
func everything(t testing.TB, s *Store) map[string]any {
	t.Helper()
	all := map[string]any{}
	err := s.Inspect(t.Context(), scheduler.Filter{}, func(k weburl.Key, rec scheduler.Record) error {
		all["url "+k.String()] = rec
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if all["counts"], err = s.Counts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all["value"], err = s.Value(t.Context(), scheduler.CrawlValue("name")); err != nil {
		t.Fatal(err)
	}
	entries, err := s.Outbox().Entries(t.Context(), 0, 1000, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		sum := sha256.Sum256(entries[i].Body) // quicker to compare
		entries[i].Body = sum[:]
	}
	all["outbox"] = entries
	if err := eachDeletion(t.Context(), s, func(e push.Entry, d scheduler.StoredDeletion) error {
		sum := sha256.Sum256(e.Body)
		e.Body = sum[:]
		all["loss of "+e.URL] = []any{e, d}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// stocked makes a store with waiting, timed and removed URLs, waiting and pending orders, some with long bodies, a host
// state and a value.
func stocked(t testing.TB, dir string) *Store {
	t.Helper()
	s := openStore(t, dir, quick)
	if err := s.Outbox().Open(t.Context(), []string{"target"}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetValue(t.Context(), scheduler.CrawlValue("name"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		addLinks(t, s, linkTo(t, fmt.Sprintf("http://host%d.test/page/%d", i%3, i)))
	}
	for i, w := range waiting(t, s) {
		c := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Next: w.Record, Forget: i%7 == 3}
		c.Next.State, c.Next.Class, c.Next.NextAt = scheduler.Timed, scheduler.OK, time.Unix(1e9+int64(i), 0).UTC()
		if i%2 == 0 {
			c.Order = &scheduler.Order{Body: bytes.Repeat([]byte{byte(i)}, 1+i*50_000)}
			c.Host = &scheduler.HostState{Origin: w.Record.Origin, NextAt: time.Unix(1e9, 0).UTC()}
		} else if !c.Forget {
			c.Order, c.Next.Indexed = pendingText(strings.Repeat("text", 1+i*10_000)), true
			if i%4 == 1 {
				c.Order = pendingDeletion(uint64(i % 3))
			}
		}
		c.Links = []scheduler.Link{linkTo(t, fmt.Sprintf("http://host%d.test/found/%d", i%3, i))}
		if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func addLinks(t testing.TB, s *Store, links ...scheduler.Link) {
	t.Helper()
	if _, _, err := s.Add(t.Context(), links, false); err != nil {
		t.Fatal(err)
	}
}

// waiting returns all URLs that wait.
func waiting(t testing.TB, s *Store) []scheduler.WaitingURL {
	t.Helper()
	var all []scheduler.WaitingURL
	err := s.Places(t.Context(), func(p scheduler.Place, n uint64) error {
		urls, err := s.Queue(t.Context(), p, 0, int(n))
		all = append(all, urls...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func backedUp(t testing.TB, s *Store) []byte {
	t.Helper()
	var b bytes.Buffer
	report, err := s.Backup(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	if report.Bytes != int64(b.Len()) {
		t.Errorf("the report tells of %d bytes, want %d", report.Bytes, b.Len())
	}
	return b.Bytes()
}

func TestBackupAndRestore(t *testing.T) {
	s := stocked(t, t.TempDir())
	want := everything(t, s)
	backup := backedUp(t, s)
	closeStore(t, s)
	for _, name := range []string{"missing", "empty", "deep/below"} {
		dir := filepath.Join(t.TempDir(), name)
		if name == "empty" {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		report, err := Restore(t.Context(), dir, iotest.HalfReader(bytes.NewReader(backup)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if report.URLs == 0 || report.Orders == 0 || report.Faults != 0 || report.Bytes != int64(len(backup)) {
			t.Errorf("report of the restore: %+v", report)
		}
		var words strings.Builder
		r := settled(t, openStore(t, dir, Options{Logger: textLogger(&words)}))
		if said := words.String(); strings.Contains(said, "killed") || !strings.Contains(said, "was restored") {
			t.Errorf("a restored store says %s", said)
		}
		if diff := cmp.Diff(want, everything(t, r)); diff != "" {
			t.Errorf("restored store (-want +got):\n%s", diff)
		}
		if r.ClosedCleanly() {
			t.Error("the restored store counts as closed cleanly: hosts would be visited too early")
		}
		mustVerify(t, r)
		addLinks(t, r, linkTo(t, "http://host1.test/after/restore"))
		mustVerify(t, r)
		if again := backedUp(t, r); len(again) <= len(backup)-100 {
			t.Errorf("a backup of the restored store has %d bytes, that of the first %d", len(again), len(backup))
		}
		closeStore(t, r)
		if _, err := os.Stat(dir + ".restoring"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the half store is left: %v", err)
		}
	}
}

// TestBackupOfReader backs up a store that is open for reading only, and was closed.
func TestBackupOfReader(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, stocked(t, dir))
	backup := backedUp(t, openStore(t, dir, Options{ReadOnly: true}))
	to := filepath.Join(t.TempDir(), "store")
	if _, err := Restore(t.Context(), to, bytes.NewReader(backup), Options{}); err != nil {
		t.Fatal(err)
	}
	if openStore(t, to, Options{}).ClosedCleanly() {
		t.Error("the restored store counts as closed cleanly")
	}
}

// TestBackupWhileWriting backs up during a crawl of chains of pages, each linked by the one before. The restored store
// must be consistent, and contain a beginning of each chain, in which all pages except the last are complete.
func TestBackupWhileWriting(t *testing.T) {
	const chains = 8
	s := openStore(t, t.TempDir(), quick)
	link := func(chain, i int) scheduler.Link {
		return linkTo(t, fmt.Sprintf("http://chain%d.test/%d", chain, i))
	}
	for c := range chains {
		addLinks(t, s, link(c, 0))
	}
	before, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var crawl sync.WaitGroup
	for chain := range chains {
		crawl.Go(func() {
			for i := 1; ctx.Err() == nil; i++ {
				l := link(chain, i-1)
				urls, err := s.Queue(t.Context(), scheduler.Place{Source: l.Fifo, Host: l.URL.HostKey()}, 0, 1)
				if err != nil || len(urls) != 1 {
					t.Errorf("chain %d: %d URLs wait: %v", chain, len(urls), err)
					return
				}
				w := urls[0]
				done := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Next: w.Record, Links: []scheduler.Link{link(chain, i)}}
				done.Next.State, done.Next.Class = scheduler.AtRest, scheduler.OK
				if _, err := scheduler.CompleteAndWait(t.Context(), s, done); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	// Each backup is begun when more is known than the one before has in it, which may be
	// more than was known when that one was asked for.
	var backups [][]byte
	for at := before.Known; len(backups) < 5 && !t.Failed(); runtime.Gosched() {
		n, err := s.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Known <= at+chains {
			continue
		}
		var b bytes.Buffer
		report, err := s.Backup(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		backups, at = append(backups, b.Bytes()), report.URLs
	}
	stop()
	crawl.Wait()
	known := before.Known
	for _, b := range backups {
		dir := filepath.Join(t.TempDir(), "store")
		if _, err := Restore(t.Context(), dir, bytes.NewReader(b), quick); err != nil {
			t.Fatal(err)
		}
		r := openStore(t, dir, quick)
		mustVerify(t, r)
		n, err := r.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Known <= known || n.ByClass[scheduler.Pending] != chains {
			t.Errorf("%d URLs are known, of which %d were never fetched; want more than %d and %d", n.Known, n.ByClass[scheduler.Pending], known, chains)
		}
		known = n.Known
		for chain := range chains {
			for i := 0; ; i++ {
				rec, err := r.Lookup(t.Context(), link(chain, i).URL.Key())
				if err != nil {
					t.Fatalf("chain %d, page %d: %v", chain, i, err)
				}
				if rec.Class == scheduler.Pending {
					break
				}
			}
		}
		closeStore(t, r)
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := stocked(t, t.TempDir())
	backup := backedUp(t, s)
	closeStore(t, s)
	changed := func(at int) []byte {
		b := bytes.Clone(backup)
		b[at] ^= 4
		return b
	}
	small := func(add ...string) []byte {
		var b bytes.Buffer
		w := backupfile.NewWriter(&b)
		for i := 0; i < len(add); i += 2 {
			if err := w.Add([]byte(add[i]), []byte(add[i+1])); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.End(uint64(len(add) / 2)); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	counted := string((&record.Counters{}).Encode())
	for name, c := range map[string]struct {
		backup []byte
		want   error
	}{
		"empty":            {nil, scheduler.ErrDamaged},
		"other file":       {[]byte(strings.Repeat("GIF89a", 1000)), scheduler.ErrDamaged},
		"another version":  {changed(len(backupfile.Magic) - 1), scheduler.ErrFormat},
		"cut":              {backup[:len(backup)/2], scheduler.ErrDamaged},
		"end cut off":      {backup[:len(backup)-16], scheduler.ErrDamaged},
		"last byte":        {backup[:len(backup)-1], scheduler.ErrDamaged},
		"more":             {append(bytes.Clone(backup), 0), scheduler.ErrDamaged},
		"twice":            {append(bytes.Clone(backup), backup...), scheduler.ErrDamaged},
		"length":           {changed(len(backupfile.Magic)), scheduler.ErrDamaged},
		"a bit":            {changed(len(backup) / 3), scheduler.ErrDamaged},
		"its end":          {changed(len(backup) - 1), scheduler.ErrDamaged},
		"nothing in it":    {small(), scheduler.ErrDamaged},
		"no counters":      {small("f", string([]byte{Format})), scheduler.ErrDamaged},
		"bad counters":     {small("f", string([]byte{Format}), "m", "x"), scheduler.ErrDamaged},
		"another format":   {small("f", string([]byte{Format + 1}), "m", counted), scheduler.ErrFormat},
		"order":            {small("m", counted, "f", string([]byte{Format})), scheduler.ErrDamaged},
		"the same key":     {small("f", string([]byte{Format}), "m", counted, "m", counted), scheduler.ErrDamaged},
		"key of no length": {small("", "", "f", string([]byte{Format}), "m", counted), scheduler.ErrDamaged},
		"key too long":     {small("f", string([]byte{Format}), "m", counted, strings.Repeat("u", backupfile.MaxKey+1), ""), scheduler.ErrDamaged},
	} {
		above := t.TempDir()
		if _, err := Restore(t.Context(), filepath.Join(above, "new", "data", "store"), bytes.NewReader(c.backup), quick); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if left, err := os.ReadDir(above); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
}

func TestRestoreLeavesDirectoriesAlone(t *testing.T) {
	s := stocked(t, t.TempDir())
	backup := backedUp(t, s)
	if _, err := Restore(t.Context(), s.dir, bytes.NewReader(backup), quick); err == nil || !strings.Contains(err.Error(), "restored to a new or empty directory") {
		t.Errorf("restore over a store: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir+".restoring", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), dir, bytes.NewReader(backup), quick); err == nil || !strings.Contains(err.Error(), "remove that directory") {
		t.Errorf("restore beside another one: %v", err)
	}
	if _, err := os.Stat(dir + ".restoring"); err != nil {
		t.Errorf("the other restore's directory is gone: %v", err)
	}
}

func TestBackupEndsEarly(t *testing.T) {
	s := stocked(t, t.TempDir())
	broken := errors.New("no disk")
	if _, err := s.Backup(t.Context(), failing{broken}); !errors.Is(err, broken) {
		t.Errorf("backup to a full disk: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Backup(ended, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("backup that was given up: %v", err)
	}
	backup := backedUp(t, s)
	dir := filepath.Join(t.TempDir(), "store")
	if _, err := Restore(ended, dir, bytes.NewReader(backup), quick); !errors.Is(err, context.Canceled) {
		t.Errorf("restore that was given up: %v", err)
	}
	r := io.MultiReader(bytes.NewReader(backup[:len(backup)/2]), iotest.ErrReader(broken))
	if _, err := Restore(t.Context(), dir, r, quick); !errors.Is(err, broken) || errors.Is(err, scheduler.ErrDamaged) {
		t.Errorf("restore from a broken disk: %v", err)
	}
	closeStore(t, s)
	if _, err := s.Backup(t.Context(), io.Discard); !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("backup of a closed store: %v", err)
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

// TestBackupOfDamage damages each block in turn: the backup is then correct, or an error. Badger itself silently ends
// its walks at such a block.
func TestBackupOfDamage(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, quick)
	const urls = 3000
	var links []scheduler.Link
	for i := range urls {
		links = append(links, linkTo(t, fmt.Sprintf("http://h.test/%d", i)))
	}
	addLinks(t, s, links...)
	closeStore(t, s)
	refused := 0
	for _, table := range tables(t, dir) {
		whole, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for at := 2000; at < len(whole); at += max(4<<10, len(whole)/20) {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1
			decay(t, table, func() { err = os.WriteFile(table, damaged, 0o600) })
			if err != nil {
				t.Fatal(err)
			}
			o := quick
			o.ReadOnly = true
			s, err := Open(dir, o)
			if err != nil {
				refused++ // the index, or what is read first
				continue
			}
			report, err := s.Backup(t.Context(), io.Discard)
			if err != nil {
				refused++
			} else if report.URLs != urls {
				t.Errorf("byte %d of %s damaged: %d of %d URLs are backed up, and no word", at, filepath.Base(table), report.URLs, urls)
			}
			closeStore(t, s)
		}
		decay(t, table, func() { err = os.WriteFile(table, whole, 0o600) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}
