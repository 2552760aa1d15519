package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/backupfile"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

// restored reads a backup, and checks its required contents.
type restored struct {
	ctx              context.Context
	from             *backupfile.Reader
	report           BackupReport
	format, counters bool // whether they were found
}

func newRestored(ctx context.Context, r io.Reader) *restored {
	return &restored{ctx: ctx, from: backupfile.NewReader(r)}
}

// next returns the next key and its value in the form of a new store; io.EOF at the end of a complete backup.
func (seen *restored) next() (key, value []byte, err error) {
	key, value, err = seen.from.Next()
	if errors.Is(err, io.EOF) {
		seen.report.Bytes = seen.from.Read
		return nil, nil, cmp.Or(seen.missing(), err)
	}
	if err == nil {
		err = seen.ctx.Err()
	}
	if err == nil {
		value, err = seen.check(key, value)
	}
	if err == nil {
		seen.report.count(key)
	}
	return key, value, err
}

// verify looks for faults in the restored store, and closes it.
func (seen *restored) verify(s *Store) error {
	found, err := s.Verify(seen.ctx, func(f Fault) {
		s.log.Warn("fault in the restored store", "url", f.URL, "fault", f.Words)
	})
	seen.report.Faults = found.Faults
	return errors.Join(err, s.Close())
}

// Clearable is a database that can be emptied.
type Clearable interface {
	kv.Engine
	Clear() error
}

// RestoreInto is Restore into a database that holds no store, which it closes. The format is written last: a
// restore that did not end leaves no store, and the next one removes its remains.
func RestoreInto(ctx context.Context, e Clearable, name string, r io.Reader, o Options) (BackupReport, error) {
	b := newRestored(ctx, r)
	err := b.fill(e)
	if err != nil {
		return b.report, errors.Join(fmt.Errorf("store %s: %w", name, err), e.Close())
	}
	o.ReadOnly = true
	s, err := On(e, name, o)
	if err != nil {
		return b.report, errors.Join(err, e.Close())
	}
	return b.report, b.verify(s)
}

// fill writes the backup into a database.
func (seen *restored) fill(e Clearable) error {
	view := e.View()
	format, err := view.Get(record.FormatKey())
	view.Close()
	if err == nil && format != nil {
		err = errors.New("the database holds a store of this Crawler already")
	}
	if err != nil {
		return err
	}
	if err := e.Clear(); err != nil {
		return err
	}
	var batch [][2][]byte
	var size int64
	limits := e.Limits()
	for {
		key, value, err := seen.next()
		ended := errors.Is(err, io.EOF)
		switch {
		case ended:
			batch = append(batch, [2][]byte{record.FormatKey(), {Format}})
		case err != nil:
			return err
		case string(key) == string(record.FormatKey()):
			continue
		default:
			batch = append(batch, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
			size += int64(len(key) + len(value))
		}
		if !ended && size < limits.Bytes/2 && int64(len(batch)) < limits.Keys {
			continue
		}
		if err := e.Commit(func(yield func(key, value []byte) bool) {
			for _, c := range batch {
				if !yield(c[0], c[1]) {
					return
				}
			}
		}); err != nil || ended {
			return err
		}
		batch, size = nil, 0
	}
}

// check returns the value in the form in which it is to be stored.
func (seen *restored) check(key, value []byte) ([]byte, error) {
	switch string(key) {
	case string(record.FormatKey()):
		if len(value) != 1 {
			return nil, fmt.Errorf("%w: format of the backup: %w", scheduler.ErrDamaged, record.ErrLength)
		}
		if value[0] != Format {
			return nil, fmt.Errorf("%w: the backup is from a store of format %d, not %d: restore it with the program that wrote it",
				scheduler.ErrFormat, value[0], Format)
		}
		seen.format = true
		return value, nil
	case string(record.CountersKey()):
		seen.counters = true
		c, err := record.DecodeCounters(value)
		if err != nil {
			return nil, fmt.Errorf("%w: counters of the backup: %w", scheduler.ErrDamaged, err)
		}
		c.Clean, c.Segment, c.SegmentEnd = false, 0, 0
		return c.Encode(), nil
	}
	return value, nil
}

func (seen *restored) missing() error {
	if seen.format && seen.counters {
		return nil
	}
	return fmt.Errorf("%w: the backup has no format or no counters", scheduler.ErrDamaged)
}
