package store

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/fingerprints"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
)

// start starts the committer and the writer, and the goroutine that loads the fingerprints; Close waits for them.

// On opens the store that a database holds; name is used in errors. The caller must close the store, or after an error
// the engine.
func On(e kv.Engine, name string, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		kv: e, dir: name, log: o.Logger, readOnly: o.ReadOnly, firstOrder: o.FirstOrder, at: o.at, sync: o.Durability == Sync,
		changed: make(chan struct{}, 1), writes: make(chan *write, groupWrites), batches: make(chan *batch, 1),
		loaded: make(chan loaded, 1), settler: newSettler(),
		saveAfter: cmp.Or(o.saveAfter, saveAfter), stores: max(1, o.Stores),
		quit: make(chan struct{}), stop: make(chan struct{}),
		segments: segments.New(e, o.Logger, uint64(cmp.Or(o.segmentBytes, segments.DefaultBytes)), segments.RecentBytes/max(1, o.Stores)),
	}
	return s, s.start()
}

// start reads format and counters and starts the store's goroutines.
func (s *Store) start() (err error) {
	c, err := s.readMeta()
	if err != nil {
		return err
	}
	s.clean = c.Clean
	c.Clean = s.readOnly && c.Clean
	if !s.readOnly {
		c.Order = max(c.Order, s.firstOrder)
	}
	s.committed.Store(&c)
	if err := s.openSegments(&c); err != nil {
		return err
	}
	if s.readOnly {
		return nil
	}
	if err := s.markClean(false); err != nil {
		return s.words(err)
	}
	first := s.kv.Version() + 1 // above the number of any batch of an earlier process
	s.commits.Store(first)
	s.touched = newTouched(first, s.stores)
	s.running.Go(s.commitWrites)
	s.running.Go(s.writeBatches)
	s.running.Go(func() { s.settler.run(s.stop, s.leave) })
	if c.Known == 0 {
		s.known.set.Store(fingerprints.New(0))
		s.known.mark = c.Removals
	} else {
		s.background.Go(s.loadKnown)
	}
	return nil
}

// readMeta reads the counters after it has checked the format.
func (s *Store) readMeta() (c record.Counters, err error) {
	view := s.kv.View()
	defer view.Close()
	v, err := view.Get(record.FormatKey())
	if err != nil {
		return c, s.damaged("format", err)
	}
	if v == nil && s.kv.Version() == 0 {
		return record.Counters{Clean: true}, nil // new, or the process died before the first commit
	}
	if v == nil {
		return c, fmt.Errorf("store %s: %w: this database is not Sextant's; name another one", s.dir, scheduler.ErrFormat)
	}
	if len(v) != 1 {
		return c, s.damaged("format", record.ErrLength)
	}
	if v[0] != Format {
		return c, fmt.Errorf("store %s: %w: it has format %d, not %d: start with an empty store, or continue to use the program that wrote it",
			s.dir, scheduler.ErrFormat, v[0], Format)
	}
	if v, err = view.Get(record.CountersKey()); err == nil && v == nil {
		err = errors.New("they are missing")
	}
	if err != nil {
		return c, s.damaged("counters", err)
	}
	if c, err = record.DecodeCounters(v); err != nil {
		return c, s.damaged("counters", err)
	}
	return c, nil
}

// markClean stores whether the store is closed cleanly. The committer must not be running.
func (s *Store) markClean(clean bool) error {
	c := *s.committed.Load()
	c.Clean = clean
	return s.kv.Commit(func(yield func(key, value []byte) bool) {
		_ = yield(record.FormatKey(), []byte{Format}) && yield(record.CountersKey(), c.Encode())
	})
}
