package store

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/memkv"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// openInMemory opens stores on engines in memory as if they lay in directories.
func openInMemory() storetest.Opener {
	var dirs sync.Map // tests are parallel
	return func(t *testing.T, dir string) storetest.Store {
		engine, _ := dirs.LoadOrStore(dir, &memkv.Engine{})
		s, err := On(engine.(*memkv.Engine), dir, Options{Logger: discard(), saveAfter: 50, segmentBytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return verified{s, t}
	}
}

// tableless is an engine whose table is gone.
type tableless struct{ memkv.Engine }

func (e *tableless) View() kv.View { return noTable{e.Engine.View()} }

type noTable struct{ kv.View }

func (noTable) Get([]byte) ([]byte, error) { return nil, errors.New("relation kv does not exist") }

// TestDamageNamesItsPlace: advice for a store that lies in no directory does not name one.
func TestDamageNamesItsPlace(t *testing.T) {
	_, err := On(&tableless{}, "docs in the database", Options{})
	if words := fmt.Sprint(err); !errors.Is(err, scheduler.ErrDamaged) || strings.Contains(words, "directory") ||
		!strings.HasPrefix(words, "store docs in the database: ") || !strings.Contains(words, "relation kv does not exist") {
		t.Error(words)
	}
}

// TestVerifyBeforeFirstCommit: a store whose maker died before its first commit has no fault.
func TestVerifyBeforeFirstCommit(t *testing.T) {
	s, err := On(&memkv.Engine{}, "in memory", Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if faults := faultsOf(t, s); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestConformanceInMemory: the store needs no more of an engine than its contract.
func TestConformanceInMemory(t *testing.T) { storetest.Run(t, openInMemory()) }

func TestModelInMemory(t *testing.T) { storetest.Model(t, openInMemory()) }

// snapshots is an engine with small commits that notes how many commits begin while a snapshot is open, at most.
type snapshots struct {
	kv.Engine
	commits, most atomic.Int64
}

func (e *snapshots) Limits() kv.Limits {
	return kv.Limits{Bytes: 1 << 20, Keys: 60, Long: e.Engine.Limits().Long}
}

func (e *snapshots) View() kv.View { return snapshot{e.Engine.View(), e, e.commits.Load()} }

func (e *snapshots) Commit(changes iter.Seq2[[]byte, []byte]) error {
	e.commits.Add(1)
	return e.Engine.Commit(changes)
}

type snapshot struct {
	kv.View
	of     *snapshots
	opened int64 // commits before
}

func (v snapshot) Close() {
	v.of.most.Store(max(v.of.most.Load(), v.of.commits.Load()-v.opened))
	v.View.Close()
}

// TestPagesHoldNoSnapshot: a walk that commits reads all of its keys, and holds no snapshot for longer than one commit
// takes.
func TestPagesHoldNoSnapshot(t *testing.T) {
	const urls = 20 * firstPage
	o := Options{Durability: OS, MemtableBytes: MinMemtableBytes, MinFree: -1}
	e, err := badgerkv.Open(t.TempDir(), o.engine())
	if err != nil {
		t.Fatal(err)
	}
	counts := &snapshots{Engine: e}
	s, err := On(counts, "counted", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	if err := s.Outbox().Open(t.Context(), []string{"target"}); err != nil {
		t.Fatal(err)
	}
	timeAll(t, s, urls)
	for _, c := range []struct {
		name string
		do   func() error
		want scheduler.OutboxCounts
	}{
		{"bury", func() error { return buryAll(t, s) }, scheduler.OutboxCounts{Waiting: urls, Dead: urls}},
		{"safe", func() error { return s.Outbox().Safe(t.Context(), "target", urls) }, scheduler.OutboxCounts{Dead: urls}},
		{"drop dead", func() error {
			_, err := s.DropDead(t.Context(), push.Selection{Target: "target"})
			return err
		}, scheduler.OutboxCounts{}},
		{"due", func() error {
			places, _, err := s.Due(t.Context(), time.Unix(1e9, 0), scheduler.Index, 2*urls)
			if err == nil && len(places) != 1 {
				err = fmt.Errorf("%d places got work, want 1", len(places))
			}
			return err
		}, scheduler.OutboxCounts{}},
	} {
		counts.most.Store(0)
		before := counts.commits.Load()
		if err := c.do(); err != nil {
			t.Fatal(c.name, err)
		}
		if got := countsOf(t, s).Outbox; got != c.want {
			t.Errorf("%s: the outbox has %+v, want %+v", c.name, got, c.want)
		}
		if n, most := counts.commits.Load()-before, counts.most.Load(); n < 5 || most > 1 {
			t.Errorf("%s: %d commits, %d of them while one snapshot was open; want 5 or more, and 1 at most", c.name, n, most)
		}
	}
	if n := countsOf(t, s).Pending[scheduler.Index]; n != urls {
		t.Errorf("%d URLs wait, want %d", n, urls)
	}
	mustVerify(t, s)
}

// timeAll has so many URLs wait for a time, and orders deletions of them.
func timeAll(t *testing.T, s *Store, urls int) {
	t.Helper()
	links := make([]scheduler.Link, urls)
	for i := range links {
		links[i] = linkTo(t, fmt.Sprintf("http://a.test/%d", i))
	}
	addLinks(t, s, links...)
	var settled sync.WaitGroup
	for i, w := range waiting(t, s) {
		c := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Next: w.Record}
		c.Next.State, c.Next.NextAt = scheduler.Timed, time.Unix(int64(i), 0)
		c.Order = &scheduler.Order{Op: scheduler.OrderDelete, Body: []byte("{}")}
		settled.Add(1)
		if err := s.Complete(t.Context(), c, func(is scheduler.Completed) {
			if is.Err != nil {
				t.Error(is.Err)
			}
			settled.Done()
		}); err != nil {
			t.Fatal(err)
		}
	}
	settled.Wait()
}

// buryAll makes a dead letter of each order.
func buryAll(t *testing.T, s *Store) error {
	t.Helper()
	entries, err := s.Outbox().Entries(t.Context(), 0, math.MaxInt32, math.MaxInt32)
	if err != nil {
		return err
	}
	var buried sync.WaitGroup
	for _, e := range entries {
		buried.Go(func() {
			if err := s.Outbox().AddDead(t.Context(), "target", e, "refused", time.Unix(0, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	buried.Wait()
	return nil
}

func countsOf(t *testing.T, s *Store) scheduler.Counts {
	t.Helper()
	c, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}
