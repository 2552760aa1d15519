package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
)

// TestReplicaIsNotOpenedAlone: a change that is not in the log would be missing in the other copies.
func TestReplicaIsNotOpenedAlone(t *testing.T) {
	dir := t.TempDir()
	founded(t, clustertest.NewMemory(), dir, quick)
	if s, err := Open(dir, quick); !errors.Is(err, ErrReplica) {
		t.Errorf("Open gives %v, %v, want words on the cluster", s, err)
	}
	s := openStore(t, dir, Options{ReadOnly: true})
	mustVerify(t, s)
	closeStore(t, s)
	r, err := OpenReplica(dir, quick)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := OpenReplica(t.TempDir(), quick); err == nil || !strings.Contains(err.Error(), "cluster init") {
		t.Errorf("a folder without a store: error %v, want the way to make one", err)
	}
	alone := t.TempDir()
	closeStore(t, openStore(t, alone, quick))
	if _, err := OpenReplica(alone, quick); err == nil || !strings.Contains(err.Error(), "in no cluster") {
		t.Errorf("a store in no cluster: error %v, want one that says so", err)
	}
}

func TestMembershipDamaged(t *testing.T) {
	dir := t.TempDir()
	founded(t, clustertest.NewMemory(), dir, quick)
	name := filepath.Join(dir, replicaName)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{"", "{}", string(good[:len(good)-3]), strings.Replace(string(good), `"hash":"`, `"hash":"z`, 1), strings.Replace(string(good), `"seq":1`, `"seq":0`, 1)} {
		if err := os.WriteFile(name, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenReplica(dir, quick); !errors.Is(err, scheduler.ErrDamaged) {
			t.Errorf("%q: error %v, want ErrDamaged", b, err)
		}
	}
}

// TestApplyInParts: a step that is one transaction at its owner may be too big for one where memtables are smaller.
func TestApplyInParts(t *testing.T) {
	c := newCopies(t, rand.New(rand.NewPCG(1, 1)))
	step := record.BeginStep()
	for i := range 20_000 {
		step = record.AppendEdit(step, record.ValueKey(fmt.Sprint(i)), bytes.Repeat([]byte{1}, 20))
	}
	behind, err := leader{c.log, 1}.Append(t.Context(), step)
	c.must(err)
	for _, r := range c.all {
		c.log.feed(t, r, 1)
		if r.Applied() != behind {
			t.Errorf("a copy is at %d, want %d", r.Applied().Seq, behind.Seq)
		}
	}
	equalCopies(t, c.all[0], c.all[1])
	if all := contents(t, c.all[0].db); len(all) < 20_000 {
		t.Errorf("%d keys, want 20,000 and a few", len(all))
	}
}

// TestSnapshotIsNoBackup: what one copy sends has no bodies, so nobody may take it for a backup.
func TestSnapshotIsNoBackup(t *testing.T) {
	c := newCopies(t, rand.New(rand.NewPCG(1, 1)))
	var sent bytes.Buffer
	c.must(c.all[0].Snapshot(t.Context(), &sent))
	cut := bytes.Clone(sent.Bytes()[:sent.Len()-1])
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(t.Context(), dir, &sent, quick); !errors.Is(err, scheduler.ErrFormat) {
		t.Errorf("Restore gives %v, want ErrFormat", err)
	}
	if _, err := Rebuild(t.Context(), dir, bytes.NewReader(cut), c.all[0].Membership(), quick); !errors.Is(err, scheduler.ErrDamaged) {
		t.Errorf("Rebuild from what was cut short gives %v, want ErrDamaged", err)
	}
	if _, err := os.Lstat(dir + restoring); err == nil {
		t.Error("half a copy was left behind")
	}
}

// TestBodiesOfCopies: each copy has the bodies that it wrote, through every change of the leader, and
// those of the other are said to be lost.
func TestBodiesOfCopies(t *testing.T) {
	c := newCopies(t, rand.New(rand.NewPCG(1, 1)))
	there := func() (urls []string) {
		entries, err := c.s.Outbox().Entries(t.Context(), 0, 100, 1<<20)
		c.must(err)
		for _, e := range entries {
			if e.Damage == "" {
				urls = append(urls, e.URL)
			}
		}
		return urls
	}
	document := func(u string) {
		_, _, err := c.s.Add(t.Context(), []scheduler.Link{linkTo(t, u)}, true)
		c.must(err)
		rec, err := c.s.Lookup(t.Context(), parse(t, u).Key())
		c.must(err)
		next := scheduler.Completion{Key: parse(t, u).Key(), Taken: placeOf(&rec), Seq: rec.Seq, Next: rec, Order: &scheduler.Order{Source: "src", Body: bytes.Repeat([]byte(u), 100)}}
		next.Next.State, next.Next.Indexed = scheduler.AtRest, true
		_, err = scheduler.CompleteAndWait(t.Context(), c.s, next)
		c.must(err)
	}
	var wrote [2][]string
	for turn := range 6 {
		c.promote(turn % 2)
		for i := range 2 { // the second ends a segment
			u := fmt.Sprintf("http://h.test/%d-%d", turn, i)
			document(u)
			wrote[turn%2] = append(wrote[turn%2], u)
		}
		if diff := cmp.Diff(wrote[turn%2], there()); diff != "" {
			t.Errorf("turn %d: bodies that copy %d has (-want +got):\n%s", turn, turn%2, diff)
		}
		if turn == 3 {
			c.end(c.lead, copied(t, c.all[c.lead].dir))
		}
		c.follow()
	}
	for i, r := range c.all {
		files, err := filepath.Glob(filepath.Join(r.dir, "*"+segments.Ext))
		if err != nil || len(files) < 3 {
			t.Errorf("copy %d has segments %q, %v", i, files, err)
		}
	}
	// Nobody needs them any more: each copy removes its own.
	c.promote(0)
	c.must(c.s.Outbox().Safe(t.Context(), "target", 1<<62))
	c.follow()
	c.log.feed(t, c.all[1], 1<<30)
	if files, err := filepath.Glob(filepath.Join(c.all[1].dir, "*"+segments.Ext)); err != nil || len(files) > 1 {
		t.Errorf("the copy that follows keeps %q, %v", files, err)
	}
}
