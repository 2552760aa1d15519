package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
)

// TestSaveWhileOpen writes files while the store is used, and checks what a process that dies at each point leaves.
func TestSaveWhileOpen(t *testing.T) {
	dir := t.TempDir()
	var words strings.Builder
	o := Options{MemtableBytes: MinMemtableBytes, saveAfter: 100, Logger: textLogger(&words)}
	points := map[string]int{}
	var copies []string
	written := make(chan struct{})
	o.at = func(point string) {
		if point == atSnapshotWritten || point == atSnapshotRenamed {
			if points[point]++; points[point] <= 3 {
				copies = append(copies, copyOf(t, dir))
			}
			if point == atSnapshotRenamed && points[point] == 1 {
				close(written)
			}
		}
	}
	s := settled(t, openStore(t, dir, o))
	var links []scheduler.Link
	for i := range 8 {
		part := make([]scheduler.Link, 0, 200)
		for j := range 200 {
			part = append(part, linkTo(t, fmt.Sprintf("http://h%d.test/%d/%d", j%5, i, j)))
		}
		if _, _, err := s.Add(t.Context(), part, false); err != nil {
			t.Fatal(err)
		}
		forgetAll(t, s, part[:50])
		links = append(links, part...)
		if i == 3 {
			<-written // so that another one is due later, at the latest when the store is closed
		}
	}
	closeStore(t, s)
	if points[atSnapshotWritten] < 2 || points[atSnapshotRenamed] < 2 {
		t.Fatalf("files were written %v times; the log says %s", points, words.String())
	}
	for i, killed := range append(copies, dir) {
		s := settled(t, openStore(t, killed, Options{}))
		set := s.known.set.Load()
		for _, l := range links {
			_, err := s.Lookup(t.Context(), l.URL.Key())
			if err != nil && set.Has(l.URL.Key()) {
				t.Errorf("copy %d: %s is in the set and not known", i, l.URL)
			}
		}
		mustVerify(t, s)
		findAll(t, s, links)
		closeStore(t, s)
	}
}

// TestSaveWhenClosed closes a store whose last changes are unsettled, and make a file due: only Close writes it.
func TestSaveWhenClosed(t *testing.T) {
	dir := t.TempDir()
	var files atomic.Int32
	s, gate := openGated(t, dir, Options{Durability: OS, saveAfter: 100, at: func(point string) {
		if point == atSnapshotWritten {
			files.Add(1)
		}
	}})
	settled(t, s)
	var links []scheduler.Link
	for i := range 200 {
		links = append(links, linkTo(t, fmt.Sprintf("http://h.test/%d", i)))
	}
	leaveToClose(t, s, gate, func(ctx context.Context) error {
		_, _, err := s.Add(ctx, links, false)
		return err
	})
	closeStore(t, s)
	s.background.Wait()
	if n := files.Load(); n != 1 {
		t.Errorf("%d files of fingerprints were written, want one", n)
	}
	var words strings.Builder
	s = settled(t, openStore(t, dir, Options{Logger: textLogger(&words)}))
	if n := has(s, links); n != len(links) || words.Len() > 0 {
		t.Errorf("the next process finds %d of %d in the file; the log says %s", n, len(links), words.String())
	}
	closeStore(t, s)
}

// leaveToClose makes a change that is not settled before Close begins: the writer holds it until then, without a
// waiting caller.
func leaveToClose(t *testing.T, s *Store, g *gate, change func(context.Context) error) {
	t.Helper()
	var once sync.Once
	begun := make(chan struct{})
	if err := s.changeAlone(t.Context(), func(*group) error {
		g.commit = func(next func() error) error {
			once.Do(func() {
				close(begun)
				<-s.stop
			})
			return next()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- change(ctx) }()
	<-begun
	giveUp()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("the change gives %v", err)
	}
}
