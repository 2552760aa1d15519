package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

// TestFailedCommit: if the database refuses a batch, its writes and those of the next batch fail, nothing is written
// any more, and nothing of them is there after opening the store again.
func TestFailedCommit(t *testing.T) {
	broken := errors.New("broken")
	for _, want := range []error{broken, scheduler.ErrFull} {
		dir := t.TempDir()
		s, gate := openGated(t, dir, quick)
		settled(t, s) // the set has what is added from now on
		before := crawled(t, s, 100, 10)
		var failing atomic.Bool
		begun, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		err := s.changeAlone(t.Context(), func(*group) error {
			gate.commit = func(next func() error) error {
				if failing.Load() {
					once.Do(func() { close(begun) })
					<-goOn
					return want
				}
				return next()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		failing.Store(true)
		add := func(i int) error {
			_, _, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, fmt.Sprintf("http://late.test/%d", i))}, false)
			return err
		}
		errs := make(chan error, 20)
		go func() { errs <- add(0) }()
		<-begun // the writer has the first one; the rest is made meanwhile
		for i := range 10 {
			go func() { errs <- add(i) }() // add(0) again: known ahead
		}
		for i := range 9 {
			go func() { errs <- s.Forget(t.Context(), before[20+i].URL.Key(), nil) }()
		}
		close(goOn)
		for range 20 {
			if err := <-errs; !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
		}
		failing.Store(false)
		if err := add(77); !errors.Is(err, want) {
			t.Errorf("a later write gives %v, want %v", err, want)
		}
		if n, err := s.Counts(t.Context()); err != nil || n.Known != 90 {
			t.Errorf("Counts: %+v, %v", n, err)
		}
		if got := s.known.set.Load().Len(); got != 90 {
			t.Errorf("%d URLs are in the set, want 90", got)
		}
		closeStore(t, s)
		s = settled(t, openStore(t, dir, quick))
		if s.ClosedCleanly() {
			t.Error("a store that failed counts as closed cleanly")
		}
		if r := mustVerify(t, s); r.URLs != 90 {
			t.Errorf("%+v", r)
		}
		findAll(t, s, before)
	}
}

// TestFullDiskBehindCommit: a batch without space fails alone; the one before it is stored, and so are later ones with
// space.
func TestFullDiskBehindCommit(t *testing.T) {
	s, gate := openGated(t, t.TempDir(), quick)
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	err := s.changeAlone(t.Context(), func(*group) error {
		gate.commit = func(next func() error) error {
			once.Do(func() { close(begun); <-goOn })
			return next()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 1)
	go func() {
		_, _, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://a.test/1")}, false)
		errs <- err
	}()
	<-begun
	room := func(err error) func(*group) error {
		return func(g *group) error {
			gate.room = err
			g.set(record.ValueKey(scheduler.CrawlValue("x")), []byte{1})
			return nil
		}
	}
	full := &write{ctx: t.Context(), done: make(chan error, 1), apply: room(scheduler.ErrFull)}
	s.writes <- full
	close(goOn)
	if err := <-errs; err != nil {
		t.Errorf("the batch before gives %v", err)
	}
	if err := <-full.done; !errors.Is(err, scheduler.ErrFull) {
		t.Errorf("the batch without room gives %v, want ErrFull", err)
	}
	if err := s.change(t.Context(), room(nil)); err != nil {
		t.Errorf("with room again: %v", err)
	}
	crawled(t, s, 20, 3)
	if r := mustVerify(t, s); r.URLs != 18 {
		t.Errorf("%+v", r)
	}
}

// TestLargeSteps: steps that do not fit into the rest of a batch move to the next one
// whole, while many write at once.
func TestLargeSteps(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, Options{Durability: OS, MemtableBytes: MinMemtableBytes})
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			page := linkTo(t, fmt.Sprintf("http://p%d.test/", i))
			if _, _, err := s.Add(t.Context(), []scheduler.Link{page}, false); err != nil {
				t.Error(err)
			}
			for j := range 6 {
				rec, err := s.Lookup(t.Context(), page.URL.Key())
				if err != nil {
					t.Error(err)
					return
				}
				c := scheduler.Completion{Key: page.URL.Key(), Taken: placeOf(&rec), Seq: rec.Seq, Next: rec, Levels: uint16(j % 2 * 9)}
				for n := range 350 { // a third of what fits
					c.Links = append(c.Links, linkTo(t, fmt.Sprintf("http://h%d.test/%d/%d", (j*300+n)%9, i/2, j*300+n)))
				}
				if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if r := mustVerify(t, s); r.URLs != 8+4*(5*300+350) {
		t.Errorf("%+v", r)
	}
	closeStore(t, s)
	mustVerify(t, openStore(t, dir, quick))
}
