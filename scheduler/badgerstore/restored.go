package badgerstore

import (
	"bytes"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// restored looks at what a backup must have.
type restored struct {
	format   byte // 0: not seen
	counters bool
	// copied says that another copy of a cluster's store is read, not a backup: all stays as it
	// is, and its place in the log is at.
	copied bool
	at     []byte
}

// check returns the value as it is to be stored.
func (seen *restored) check(key, value []byte) ([]byte, error) {
	switch string(key) {
	case string(record.FormatKey()):
		if len(value) != 1 || value[0] < formatInline || value[0] > format {
			return nil, fmt.Errorf("%w: the backup is of a store of format %d, this program reads %d; restore it with the version of Sextant that wrote it",
				scheduler.ErrFormat, value, format)
		}
		seen.format = value[0]
		return value, nil
	case string(record.CountersKey()):
		seen.counters = true
		if seen.copied {
			return value, nil
		}
		c, err := record.DecodeCounters(value)
		if err != nil {
			return nil, fmt.Errorf("%w: counters of the backup: %w", scheduler.ErrDamaged, err)
		}
		c.Clean, c.Segment, c.SegmentEnd = false, 0, 0
		return c.Encode(), nil
	case string(record.PositionKey()):
		if !seen.copied {
			return nil, fmt.Errorf("%w: this is no backup, but what a node of a cluster sends to another: take one by sextant backup", scheduler.ErrFormat)
		}
		seen.at = bytes.Clone(value)
	}
	return value, nil
}

func (seen *restored) missing() error {
	if seen.format != 0 && seen.counters {
		return nil
	}
	return fmt.Errorf("%w: the backup has no format or no counters", scheduler.ErrDamaged)
}
