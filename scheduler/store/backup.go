package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/scheduler/store/backupfile"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
)

// BackupReport counts the contents of a backup or a restore.
type BackupReport struct {
	Keys   uint64 // all
	URLs   uint64
	Orders uint64 // waiting and pending
	Bytes  int64  // of the backup
	// Faults is the number of faults that Verify found in the restored store. They come from the store that was backed
	// up, since the backup's checksums are verified first.
	Faults uint64
}

func (r *BackupReport) count(key []byte) {
	r.Keys++
	switch key[0] {
	case record.KindURL:
		r.URLs++
	case record.KindOrder, record.KindHostLoss, record.KindEditLoss:
		r.Orders++
	}
}

// Backup writes everything stored at the moment of the call to w, in order of keys, while the crawl continues, and
// returns its counts. It needs memory for a few MiB and the longest body. If it returns an error, the output is not a
// backup, and Restore refuses it. The backup is not compressed.
func (s *Store) Backup(ctx context.Context, w io.Writer) (BackupReport, error) {
	var report BackupReport
	b := backupfile.NewWriter(w)
	err := s.viewBodies(ctx, func(view kv.View, bodies *segments.Reader) error {
		if s.readOnly { // it costs little compared with the rest
			if err := s.kv.Check(); err != nil {
				return s.damaged("tables", err)
			}
		}
		v, err := view.Get(record.CountersKey())
		if err != nil || v == nil {
			return s.damaged("counters", errors.Join(err, errors.New("the store contains nothing to back up")))
		}
		kept, err := record.DecodeCounters(v)
		if err != nil {
			return s.damaged("counters", err)
		}
		if err := s.walk(ctx, view, nil, nil, true, func(key, value []byte) error {
			if string(key) == string(record.SavedKey()) || key[0] == record.KindSegment {
				return nil // the files are not part of the backup
			}
			v, err := whole(bodies, key, value)
			if err != nil {
				return s.damaged(fmt.Sprintf("key %x", key), err)
			}
			if err := b.Add(key, v); err != nil {
				return s.words(fmt.Errorf("backup: %w", err))
			}
			report.count(key)
			return nil
		}); err != nil {
			return err
		}
		// An engine may end a walk silently at an unreadable value.
		if orders := kept.Waiting + kept.Pends; report.URLs != kept.Known || report.Orders != orders {
			return s.damaged("backup", fmt.Errorf("only %d of %d URLs and %d of %d orders could be read",
				report.URLs, kept.Known, report.Orders, orders))
		}
		return nil
	})
	if err != nil {
		return report, err
	}
	if err := b.End(report.Keys); err != nil {
		return report, s.words(fmt.Errorf("backup: %w", err))
	}
	report.Bytes = b.Written
	return report, nil
}

// whole returns the value of a key as a backup has it: orders hold their bodies, and nothing names a segment.
func whole(r *segments.Reader, key, v []byte) ([]byte, error) {
	switch key[0] {
	case record.KindOrder, record.KindHostLoss, record.KindEditLoss:
		o, err := record.DecodeOrder(v)
		if err == nil && o.Place.Segment != 0 {
			err = inline(r, &o)
			v = o.Append(nil)
		}
		return v, err
	case record.KindDead:
		d, err := record.DecodeDead(v)
		if err == nil && d.Place.Segment != 0 {
			err = inline(r, &d.Order)
			v = d.Encode()
		}
		return v, err
	case record.KindWaiting, record.KindDeletion:
		p, err := record.DecodeOrderPlace(v)
		p.Segment = 0
		return p.Append(nil), err
	}
	return v, nil
}

// inline copies an order's body into the order.
func inline(r *segments.Reader, o *record.Order) (err error) {
	if o.Body, err = r.Read(o.Place); errors.Is(err, segments.ErrDamaged) {
		err = fmt.Errorf("%s: %w; start the service, which turns it into a dead letter, and back up again", o.URL, err)
	}
	o.Place = record.BodyPlace{}
	return err
}
