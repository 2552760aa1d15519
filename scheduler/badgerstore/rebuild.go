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

	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/backupfile"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/badgerfiles"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// What one copy sends to another is in the form of a backup, package backupfile, but with all keys
// as they are, and the place in the log among them. Bodies are not sent.

// Snapshot writes the copy as of one place in the log to w, for Rebuild. It may be called while a Store leads
// or the copy follows.
func (r *Replica) Snapshot(ctx context.Context, w io.Writer) error {
	b := backupfile.NewWriter(w)
	txn := r.db.NewTransaction(false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	var keys, known uint64
	var kept record.Counters
	for it.Rewind(); it.Valid(); it.Next() {
		key := it.Item().Key()
		if record.IsLocal(key) && key[0] != record.KindPosition {
			continue
		}
		err := ctx.Err()
		if err == nil {
			err = valueOf(it.Item(), func(v []byte) (err error) {
				if string(key) == string(record.CountersKey()) {
					kept, err = record.DecodeCounters(v)
				}
				return errors.Join(err, b.Add(key, v))
			})
		}
		if err != nil {
			return fmt.Errorf("store %s: sending a copy: %w", r.dir, err)
		}
		if keys++; key[0] == record.KindURL {
			known++
		}
	}
	// Badger ends a walk at a block that it cannot read, without a word.
	if known != kept.Known {
		return fmt.Errorf("store %s: %w: sending a copy: %d of %d URLs could be read; %s", r.dir, scheduler.ErrDamaged, known, kept.Known, adviceDamaged)
	}
	if err := b.End(keys); err != nil {
		return fmt.Errorf("store %s: sending a copy: %w", r.dir, err)
	}
	return nil
}

// Rebuild makes a copy in dir, which must be missing or empty, from what Snapshot of another copy
// wrote. m is what it remembers; its Store must be new. Where it fails, dir is as it was. Unlike Restore it does not look at
// each URL: that takes longer than the owner keeps the log, and the copy is proved by the log's hashes.
func Rebuild(ctx context.Context, dir string, from io.Reader, m Membership, o Options) (at entry.Position, err error) {
	m.Founder = false
	if err := vacant(dir); err != nil {
		return at, err
	}
	part := filepath.Clean(dir) + restoring
	if err := os.MkdirAll(filepath.Dir(part), 0o750); err != nil {
		return at, fmt.Errorf("store: %w", err)
	}
	if err := os.Mkdir(part, 0o700); errors.Is(err, fs.ErrExist) {
		return at, fmt.Errorf("store %s: %s is there, from a rebuild that runs or was killed: remove that directory", dir, part)
	} else if err != nil {
		return at, fmt.Errorf("store: %w", err)
	}
	if at, err = rebuildInto(ctx, part, from, m, o); err == nil {
		err = publish(part, dir)
	}
	if err != nil {
		return at, errors.Join(fmt.Errorf("store %s: rebuild: %w", dir, err), os.RemoveAll(part))
	}
	return at, nil
}

func rebuildInto(ctx context.Context, dir string, from io.Reader, m Membership, o Options) (at entry.Position, err error) {
	o.fill()
	seen := restored{copied: true}
	if _, err = readBackup(ctx, dir, from, o, &seen); err != nil {
		return at, err
	}
	if seen.format != format {
		return at, fmt.Errorf("%w: the other node's store has format %d, this program writes %d: run the same version on both", scheduler.ErrFormat, seen.format, format)
	}
	if at, err = decodePosition(seen.at); err != nil {
		return at, fmt.Errorf("%w: %w", scheduler.ErrDamaged, err)
	}
	if err := badgerfiles.MarkClosed(dir); err != nil {
		return at, err
	}
	return at, writeMembership(dir, m, at)
}
