package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// shared is a log without a cluster: what Append does is up to the test.
type shared struct {
	packer  *entry.Packer
	steps   [][]byte
	behind  []entry.Position
	genesis entry.Position
	epoch   uint64
	// fail, if not nil, says of the next append whether it is stored, and whether its answer arrives.
	fail func() (stored, answered bool)
}

// leader appends under one epoch.
type leader struct {
	log   *shared
	epoch uint64
}

func (l leader) Append(_ context.Context, step []byte) (entry.Position, error) {
	s := l.log
	if l.epoch != s.epoch {
		return entry.Position{}, cluster.ErrFenced
	}
	stored, answered := true, true
	if s.fail != nil {
		stored, answered = s.fail()
	}
	at := s.end()
	if stored {
		_, behind, err := s.packer.Cut(entry.Author{Epoch: l.epoch}, entry.Newest, at, step, 1<<20)
		if err != nil {
			return at, err
		}
		at = behind[len(behind)-1]
		s.steps, s.behind = append(s.steps, bytes.Clone(step)), append(s.behind, at)
	}
	if !stored || !answered {
		s.epoch++ // after an error nothing more is appended
		return entry.Position{}, cluster.ErrInDoubt
	}
	return at, nil
}

func (s *shared) end() entry.Position {
	if len(s.behind) == 0 {
		return s.genesis
	}
	return s.behind[len(s.behind)-1]
}

// feed applies up to most steps of the log to a copy.
func (s *shared) feed(t *testing.T, r *Replica, most int) {
	t.Helper()
	for i, behind := range s.behind {
		if behind.Seq <= r.Applied().Seq {
			continue
		}
		if most--; most < 0 {
			return
		}
		if err := r.Apply(t.Context(), s.steps[i], behind); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are all keys of a copy that every copy has, but those that go by themselves.
func contents(t *testing.T, db *badger.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.DefaultIteratorOptions)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			key := it.Item().KeyCopy(nil)
			if record.IsLocal(key) || key[0] == record.KindGone {
				continue
			}
			v, err := copyValue(it.Item())
			if err != nil {
				return err
			}
			all[string(key)] = string(v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func equalCopies(t *testing.T, a, b *Replica) {
	t.Helper()
	if a.Applied() != b.Applied() {
		t.Fatalf("copies are at %d and %d of the log", a.Applied().Seq, b.Applied().Seq)
	}
	x, y := contents(t, a.db), contents(t, b.db)
	for k, v := range x {
		if w, ok := y[k]; !ok || w != v {
			t.Errorf("key %x: %x, and %x (%t) in the other", k, v, w, ok)
		}
	}
	for k := range y {
		if _, ok := x[k]; !ok {
			t.Errorf("key %x is in one copy alone", k)
		}
	}
}

// copies is a store in two copies, of which one may lead.
type copies struct {
	t     *testing.T
	r     *rand.Rand
	o     Options
	log   *shared
	all   [2]*Replica
	lead  int // of all; -1: none
	s     *Store
	acked map[string]bool // URLs whose storing was acknowledged
	id    int
	// images are what lies safe on the disks: the directories at the last sync.
	images [2]string
	stats  *copyStats
}

// copyStats count what has happened.
type copyStats struct{ acked, kills, cuts, doubts, handed, lost, rebuilt int }

// TestCopies lets one copy lead and another follow, through kills, appends whose answer is lost, and
// changes of the leader, and compares the two key by key.
func TestCopies(t *testing.T) {
	seed := seeded.Seed(t)
	stats := &copyStats{}
	for run := range max(3, attackRounds(t, 3)/4) {
		t.Run(fmt.Sprint("run ", run), func(t *testing.T) {
			c := newCopies(t, rand.New(rand.NewPCG(seed, uint64(run))))
			c.stats = stats
			for range 120 {
				c.step()
			}
			c.settle()
		})
	}
	t.Logf("%+v", *stats)
	if s := *stats; !seeded.Long() && (s.kills == 0 || s.cuts == 0 || s.doubts == 0 || s.handed == 0 || s.lost == 0 || s.rebuilt == 0 || s.acked < 100) {
		t.Error("too little has happened")
	}
}

func newCopies(t *testing.T, r *rand.Rand) *copies {
	t.Helper()
	packer, err := entry.NewPacker()
	if err != nil {
		t.Fatal(err)
	}
	c := &copies{
		t: t, r: r, stats: &copyStats{}, o: Options{MemtableBytes: MinMemtableBytes, MinFree: -1, NoCompaction: true, segmentBytes: 2000}, lead: -1,
		log:   &shared{packer: packer, genesis: entry.Genesis(entry.ID{1}, 0, 1), epoch: 1},
		acked: map[string]bool{},
	}
	dir := t.TempDir()
	m := Membership{Cluster: "c", Incarnation: "i", Partitions: 1, Store: "s0"}
	if err := Enlist(dir, m, c.log.genesis, c.o); err != nil {
		t.Fatal(err)
	}
	other := copied(t, dir)
	m.Store = "s1"
	if err := writeMembership(other, m, c.log.genesis); err != nil {
		t.Fatal(err)
	}
	c.all = [2]*Replica{c.open(dir), c.open(other)}
	t.Cleanup(func() {
		c.follow()
		for _, r := range c.all {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

func (c *copies) open(dir string) *Replica {
	c.t.Helper()
	r, err := OpenReplica(dir, c.o)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *copies) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *copies) step() {
	c.t.Helper()
	switch n := c.r.IntN(100); {
	case c.lead < 0:
		c.promote(c.r.IntN(2))
	case n < 70:
		c.pages()
	case n < 80:
		c.log.feed(c.t, c.all[1-c.lead], c.r.IntN(6))
	case n < 88:
		which := c.r.IntN(2)
		_, err := c.all[which].Sync(c.t.Context())
		c.must(err)
		c.images[which] = copied(c.t, c.all[which].dir)
	case n < 91:
		c.stats.kills++
		which := c.r.IntN(2)
		c.end(which, copied(c.t, c.all[which].dir))
	case n < 93:
		if which := c.r.IntN(2); c.images[which] != "" {
			c.stats.cuts++
			c.end(which, copied(c.t, c.images[which]))
		}
	case n < 94:
		c.rebuild()
	case n < 96:
		c.inDoubt()
	default:
		c.stats.handed++
		c.follow()
		c.promote(c.r.IntN(2))
	}
}

// promote lets a copy lead that has applied all of the log.
func (c *copies) promote(which int) {
	c.t.Helper()
	c.log.feed(c.t, c.all[which], 1<<30)
	s, err := c.all[which].Promote(c.t.Context(), leader{c.log, c.log.epoch}, func(error) {})
	c.must(err)
	c.lead, c.s = which, s
	c.must(s.Outbox().Open(c.t.Context(), []string{"target"}))
}

// follow ends the leading of whoever leads.
func (c *copies) follow() {
	if c.lead < 0 {
		return
	}
	if err := c.s.Close(); err != nil && !errors.Is(err, cluster.ErrInDoubt) && !errors.Is(err, cluster.ErrFenced) {
		c.t.Error(err)
	}
	c.lead, c.log.epoch = -1, c.log.epoch+1
}

// end is the end of a process whose last words are not heard, by kill -9 or a power cut: its copy goes on
// from what is left on the disk.
func (c *copies) end(which int, left string) {
	c.t.Helper()
	old := c.all[which]
	if c.lead == which {
		c.log.epoch++
		c.follow()
	}
	c.must(old.Close())
	c.all[which] = c.open(left)
}

// rebuild makes the copy that follows again from the one that leads.
func (c *copies) rebuild() {
	c.t.Helper()
	c.stats.rebuilt++
	var sent bytes.Buffer
	c.must(c.all[c.lead].Snapshot(c.t.Context(), &sent))
	dir := filepath.Join(c.t.TempDir(), "rebuilt")
	c.id++
	at, err := Rebuild(c.t.Context(), dir, &sent, Membership{Cluster: "c", Incarnation: "i", Partitions: 1, Store: fmt.Sprint("r", c.id)}, c.o)
	c.must(err)
	if at != c.log.end() {
		c.t.Errorf("the copy that was made is at %d, its source at %d", at.Seq, c.log.end().Seq)
	}
	c.must(c.all[1-c.lead].Close())
	c.all[1-c.lead], c.images[1-c.lead] = c.open(dir), ""
}

// pages completes a few pages, and acknowledges what waits in the outbox now and then.
func (c *copies) pages() {
	c.t.Helper()
	for range 1 + c.r.IntN(6) {
		c.page()
	}
	out := c.s.Outbox()
	switch at, err := out.Cursor(c.t.Context(), "target"); {
	case err != nil:
		c.t.Fatal(err)
	case c.r.IntN(3) == 0:
		c.must(out.Safe(c.t.Context(), "target", at+uint64(c.r.IntN(8))))
	case c.r.IntN(3) == 0:
		entries, err := out.Entries(c.t.Context(), at, 5, 1<<20)
		c.must(err)
		for _, e := range entries {
			if e.Damage != "" {
				c.stats.lost++
				c.must(out.Bury(c.t.Context(), "target", e, "lost", time.Unix(1, 0)))
			}
		}
	}
}

// page stores a URL and completes it: a document or a deletion, with links, or forgotten.
func (c *copies) page() {
	c.t.Helper()
	c.id++
	u := fmt.Sprintf("http://h%d.test/%d", c.r.IntN(4), c.r.IntN(60))
	c.must(c.complete(u))
	c.stats.acked++
	c.acked[u] = true
}

func (c *copies) complete(u string) error {
	ctx := c.t.Context()
	if _, _, err := c.s.Add(ctx, []scheduler.Link{linkTo(c.t, u)}, true); err != nil {
		return err
	}
	k := parse(c.t, u).Key()
	rec, err := c.s.Lookup(ctx, k)
	if err != nil {
		return err
	}
	next := scheduler.Completion{Key: k, Taken: placeOf(&rec), Seq: rec.Seq, Next: rec}
	next.Next.State, next.Next.Indexed = scheduler.AtRest, true
	next.Order = &scheduler.Order{Source: "src", Body: bytes.Repeat([]byte{byte(c.id)}, 1+c.r.IntN(400))}
	switch c.r.IntN(5) {
	case 0:
		next.Order, next.Next.Indexed = &scheduler.Order{Op: scheduler.OrderDelete, Source: "src"}, false
	case 1:
		next.Next.State, next.Next.Source, next.Next.NextAt = scheduler.Timed, scheduler.Refresh, time.Unix(int64(c.id), 0)
	}
	for i := range c.r.IntN(8) {
		next.Links = append(next.Links, linkTo(c.t, fmt.Sprintf("http://h%d.test/%d", i%4, c.r.IntN(60))))
	}
	next.Notes = []scheduler.Note{{Name: "last", Value: fmt.Append(nil, c.id)}}
	_, err = scheduler.CompleteAndWait(ctx, c.s, next)
	return err
}

// inDoubt is an append whose answer does not come: the claim is over then.
func (c *copies) inDoubt() {
	c.t.Helper()
	c.stats.doubts++
	stored := c.r.IntN(2) == 0
	c.log.fail = func() (bool, bool) { return stored, false }
	if err := c.complete(fmt.Sprintf("http://doubt.test/%d", c.id)); !errors.Is(err, cluster.ErrInDoubt) {
		c.t.Fatalf("error %v, want %v", err, cluster.ErrInDoubt)
	}
	c.log.fail = nil
	if err := c.complete("http://late.test/"); !errors.Is(err, cluster.ErrInDoubt) {
		c.t.Fatalf("error %v, want that of the append before", err)
	}
	c.follow()
}

// settle lets both copies follow to the end, and compares them with each other and with what was acknowledged.
func (c *copies) settle() {
	c.t.Helper()
	c.follow()
	for _, r := range c.all {
		c.log.feed(c.t, r, 1<<30)
	}
	equalCopies(c.t, c.all[0], c.all[1])
	for i := range c.all {
		c.promote(i)
		_, err := c.s.Verify(c.t.Context(), func(f Fault) {
			if !strings.Contains(f.Words, "fetches the URL again") { // bodies are not in the log
				c.t.Errorf("copy %d: %s %s", i, f.URL, f.Words)
			}
		})
		c.must(err)
		for u := range c.acked {
			if _, err := c.s.Lookup(c.t.Context(), parse(c.t, u).Key()); err != nil {
				c.t.Errorf("copy %d: %s was acknowledged: %v", i, u, err)
			}
		}
		c.follow()
	}
}
