package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/backupfile"
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
