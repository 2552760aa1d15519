package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/backupfile"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// BackupReport is what a backup or a restore has gone over.
type BackupReport struct {
	Keys   uint64 // all
	URLs   uint64
	Orders uint64 // waiting and pending
	Bytes  int64  // of the backup
	// Faults is how many faults Verify has found in the restored store. It is as the
	// one that was backed up was: the backup's checksums are looked at before.
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

// Backup writes all that is stored at the moment of the call to w, while the crawl
// goes on, in order of the keys, and returns what it wrote. It needs memory for a few MiB and
// the longest body. What it wrote is not a backup if it gives an error, and Restore says so.
// The backup is not compressed.
func (s *Store) Backup(ctx context.Context, w io.Writer) (BackupReport, error) {
	var report BackupReport
	b := backupfile.NewWriter(w)
	err := s.viewBodies(ctx, func(view kv.View, bodies *segments.Reader) error {
		if s.readOnly { // then it costs little beside the rest
			if err := s.kv.Check(); err != nil {
				return s.damaged("tables", err)
			}
		}
		v, err := view.Get(record.CountersKey())
		if err != nil || v == nil {
			return s.damaged("counters", errors.Join(err, errors.New("there is nothing to back up")))
		}
		kept, err := record.DecodeCounters(v)
		if err != nil {
			return s.damaged("counters", err)
		}
		if err := s.walk(ctx, view, nil, nil, true, func(key, value []byte) error {
			if string(key) == string(record.SavedKey()) || key[0] == record.KindSegment {
				return nil // the files are not in the backup
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
		// Badger ends a walk at a block that it cannot read, without a word.
		if orders := kept.Waiting + kept.Pends; report.URLs != kept.Known || report.Orders != orders {
			return s.damaged("backup", fmt.Errorf("%d of %d URLs and %d of %d orders could be read",
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

// whole is the value of a key as a backup has it: orders hold their bodies, and nothing names a segment.
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

// inline takes an order's body into the order.
func inline(r *segments.Reader, o *record.Order) (err error) {
	if o.Body, err = r.Read(o.Place); errors.Is(err, segments.ErrDamaged) {
		err = fmt.Errorf("%s: %w; start the service, which makes it a dead letter, and back up again", o.URL, err)
	}
	o.Place = record.BodyPlace{}
	return err
}

// restoring is the end of the name of a directory with half a store.
const restoring = ".restoring"

// HalfRestored names what a restore to dir left that goes on or was killed, where dir has no
// store: whoever opens one there would begin without a word with an empty one.
func HalfRestored(dir string) (half string, ok bool) {
	half = filepath.Clean(dir) + restoring
	_, err := os.Lstat(half)
	return half, err == nil && !Exists(dir)
}

// Restore makes a store in dir from what Backup wrote. dir must be missing or empty;
// there is nothing in it until all of the backup is read, found whole, verified and safe on
// disk: until then it is made beside, in dir with ".restoring" behind its name. Where it
// fails, nothing of what it made is left, the directories above dir included. Of o, only
// Logger and MemtableBytes count. The store does not count as closed cleanly: since the
// backup, requests have been made that it does not know of. Errors wrap
// scheduler.ErrDamaged if r is not a whole backup, ErrFormat if it is of another version.
func Restore(ctx context.Context, dir string, r io.Reader, o Options) (report BackupReport, err error) {
	if err := vacant(dir); err != nil {
		return BackupReport{}, err
	}
	o = Options{Logger: o.Logger, MemtableBytes: o.MemtableBytes}
	o.fill()
	part := filepath.Clean(dir) + restoring
	above := missing(filepath.Dir(part))
	defer func() {
		if err != nil {
			for _, d := range above {
				_ = os.Remove(d) // only if it is empty; else it is somebody else's by now
			}
		}
	}()
	if err := os.MkdirAll(filepath.Dir(part), 0o750); err != nil {
		return BackupReport{}, fmt.Errorf("store: %w", err)
	}
	if err := os.Mkdir(part, 0o700); errors.Is(err, fs.ErrExist) {
		return BackupReport{}, fmt.Errorf("store %s: %s is there, from a restore that runs or was killed: wait for it, or remove that directory", dir, part)
	} else if err != nil {
		return BackupReport{}, fmt.Errorf("store: %w", err)
	}
	report, err = restoreInto(ctx, part, r, o)
	if err == nil {
		err = publish(part, dir)
	}
	if err != nil {
		return report, errors.Join(fmt.Errorf("store %s: restore: %w", dir, err), os.RemoveAll(part))
	}
	return report, nil
}

// missing are the directories up to dir that are not there, the innermost first.
func missing(dir string) (list []string) {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return list
		}
		list = append(list, dir)
	}
}

// vacant reports whether a store can be restored to dir.
func vacant(dir string) error {
	files, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("store: %w", err)
	case len(files) > 0:
		return fmt.Errorf("store %s: a backup is restored to a new or empty directory only, and this one holds %s: name another one or move it away", dir, files[0].Name())
	}
	return nil
}

// publish gives a whole store its name.
func publish(part, dir string) error {
	if err := badgerfiles.SyncDir(part); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // only if it is empty
		return err
	}
	if err := os.Rename(part, dir); err != nil {
		return err
	}
	return badgerfiles.SyncDir(filepath.Dir(part))
}

func restoreInto(ctx context.Context, dir string, r io.Reader, o Options) (BackupReport, error) {
	report, err := readBackup(ctx, dir, r, o)
	if err != nil {
		return report, err
	}
	o.ReadOnly = true
	s, err := Open(dir, o)
	if err != nil {
		return report, err
	}
	found, err := s.Verify(ctx, func(f Fault) { s.log.Warn("fault in the restored store", "url", f.URL, "fault", f.Words) })
	report.Faults = found.Faults
	return report, errors.Join(err, s.Close())
}

// readBackup fills a new Badger database with the keys of a backup, which come in
// order: they are written as tables of the last level, with nothing to compact.
func readBackup(ctx context.Context, dir string, r io.Reader, o Options) (report BackupReport, err error) {
	db, err := tryBadger(badgerOptions(dir, o))
	if err != nil {
		return report, openError(dir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tables := db.NewStreamWriter()
	defer tables.Cancel() // does nothing after Flush
	if err := tables.Prepare(); err != nil {
		return report, err
	}
	b := backupfile.NewReader(r)
	var seen restored
	buf := z.NewBuffer(2*backupfile.Block, "restore")
	defer func() { err = errors.Join(err, buf.Release()) }()
	for {
		key, value, err := b.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			value, err = seen.check(key, value)
		}
		if err != nil {
			return report, err
		}
		report.count(key)
		kv := &pb.KV{Key: key, Value: value, Version: 1}
		if key[0] == record.KindGone {
			kv.ExpiresAt = record.GoneUntil(value)
		}
		badger.KVToBuffer(kv, buf)
		if buf.LenNoPadding() < backupfile.Block {
			continue
		}
		if err := tables.Write(buf); err != nil {
			return report, err
		}
		buf.Reset()
	}
	report.Bytes = b.Read
	return report, errors.Join(tables.Write(buf), tables.Flush(), seen.missing())
}
