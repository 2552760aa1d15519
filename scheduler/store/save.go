package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/sextant-crawler/sextant/scheduler/store/fingerprints"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

// A goroutine of Store.background writes the file, one at a time; the engine keeps it. Form: a random number (8 bytes),
// then the output of fingerprints.Set.Save.

// The file is written while the store is open after saveAfter changes, once an eighth of the set has changed.
const saveAfter = 100_000

// savedFile returns which file belongs to a snapshot; zero if none was written.
func (s *Store) savedFile(view kv.View) (record.Saved, error) {
	v, err := view.Get(record.SavedKey())
	if err != nil || v == nil {
		return record.Saved{}, err
	}
	return record.DecodeSaved(v)
}

// readKnown reads the file of fingerprints.
func (s *Store) readKnown() (loaded, error) {
	view := s.kv.View()
	defer view.Close()
	saved, err := s.savedFile(view)
	if err != nil {
		return loaded{}, err
	}
	if saved == (record.Saved{}) {
		return loaded{}, errors.New("their file does not exist yet: the store is new, or was restored")
	}
	if !s.clean && !saved.Synced {
		return loaded{}, errors.New("the last process was killed before it synced its writes")
	}
	l, number, err := s.loadFile(saved)
	if err != nil {
		return loaded{}, err
	}
	s.fileNumber = number
	return l, s.applyRemovals(view, &l)
}

// loadFile reads the file if it belongs to the store's state.
func (s *Store) loadFile(saved record.Saved) (loaded, uint64, error) {
	f, err := s.kv.Load()
	if err != nil {
		return loaded{}, 0, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	r := bufio.NewReaderSize(untilClosed{s, f}, 1<<20)
	var number uint64
	if err := binary.Read(r, binary.BigEndian, &number); err != nil {
		return loaded{}, 0, fmt.Errorf("file of fingerprints: %w", err)
	}
	if number == 0 || number != saved.Number && number != saved.Before {
		return loaded{}, 0, errors.New("the file of fingerprints belongs to another state of the store")
	}
	set, mark, err := fingerprints.Load(r)
	if err != nil {
		return loaded{}, 0, fmt.Errorf("file of fingerprints: %w", err)
	}
	return loaded{set: set, mark: mark}, number, nil
}

// untilClosed is a reader that ends when the store is closed.
type untilClosed struct {
	s *Store
	r io.Reader
}

func (u untilClosed) Read(b []byte) (int, error) {
	if err := u.s.ended(context.Background()); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// saveWhenDue starts writing the file in the background if enough has changed.
func (s *Store) saveWhenDue() {
	n := &s.known
	set := n.set.Load()
	if set == nil || n.saving || n.changes < max(s.saveAfter, set.Len()/8) {
		return
	}
	mark, changes := n.mark, n.changes
	n.saving, n.changes = true, 0
	s.background.Go(func() {
		err := s.saveKnown(set, mark, s.submit)
		if err != nil && s.ended(context.Background()) == nil {
			s.log.Warn("cannot save the fingerprints of known URLs; retrying later", "error", err)
		}
		// If the store is closed in the meantime, saveLast finds it unfinished.
		_ = s.submit(&write{apply: func(*group) error {
			n.saving = false
			if err != nil {
				n.changes += changes
			}
			return nil
		}})
	})
}

// saveLast commits the remaining writes when the store is closed, and writes the file if anything has changed. No
// goroutine of Store.background is running afterwards.
func (g *group) saveLast() {
	err := g.barrier()    // may start one that removes files of segments
	g.s.background.Wait() // one may be writing the same file
	n := &g.s.known
	set := n.set.Load()
	if err != nil || set == nil || n.changes == 0 && !n.saving && (g.s.fileNumber != 0 || set.Len() == 0) {
		return
	}
	err = g.s.saveKnown(set, n.mark, func(w *write) error {
		w.ctx, w.done = context.Background(), make(chan error, 1)
		g.take(w)
		_ = g.barrier() // w gets the error
		return <-w.done
	})
	if err != nil {
		g.s.log.Warn("cannot save the fingerprints of known URLs; changed ones must be read again after the next start", "error", err)
	}
}

// submit is do for the store's own goroutines.
func (s *Store) submit(w *write) error {
	w.ctx, w.done = context.Background(), make(chan error, 1)
	select {
	case s.writes <- w:
	case <-s.quit:
		return s.ended(w.ctx)
	}
	select {
	case err := <-w.done:
		return err
	case <-s.quit:
		return s.ended(w.ctx)
	}
}

// saveKnown writes the set, which lacks the removals up to mark, to its file and then drops the notes up to there. If
// the process dies in between, the file is at least as current as before. commit stores a change; it must be durable
// when it returns.
func (s *Store) saveKnown(set *fingerprints.Set, mark uint64, commit func(*write) error) error {
	saved := record.Saved{Number: rand.Uint64() | 1, Before: s.fileNumber, Synced: s.sync}
	publish, err := s.kv.Save(func(w io.Writer) error { return writeKnown(w, set, mark, saved.Number) })
	if err != nil {
		return err
	}
	s.reach(atSnapshotWritten)
	if err := commit(&write{apply: func(g *group) error { g.set(record.SavedKey(), saved.Encode()); return nil }}); err != nil {
		return err
	}
	if err := publish(); err != nil {
		return err
	}
	s.fileNumber = saved.Number
	s.reach(atSnapshotRenamed)
	return commit(&write{alone: true, apply: func(g *group) error { return g.dropRemovals(mark) }})
}

func writeKnown(to io.Writer, set *fingerprints.Set, mark, number uint64) error {
	w := bufio.NewWriterSize(to, 1<<20)
	if err := binary.Write(w, binary.BigEndian, number); err != nil {
		return err
	}
	if err := set.Save(w, mark); err != nil {
		return err
	}
	return w.Flush()
}

// dropRemovals removes the notes up to a number.
func (g *group) dropRemovals(mark uint64) error {
	from := record.RemovalSeek(g.s.known.dropped + 1)
	err := g.pages([]byte{record.KindRemoval}, from, false, func(key, _ []byte) error {
		if len(key) != record.RemovalKeyLen {
			return g.s.damaged(fmt.Sprintf("key %x", key), record.ErrLength)
		}
		if n, _ := record.SplitRemovalKey(key); n > mark {
			return errEnough
		}
		g.remove(key)
		return g.seal()
	})
	if err != nil {
		return err
	}
	g.s.known.dropped = mark // if that fails, they stay, and the next process drops them
	return nil
}
