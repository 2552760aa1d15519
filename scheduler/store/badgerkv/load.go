package badgerkv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/badgerfiles"
)

// restoring is the suffix of the directory of an unfinished restore.
const restoring = ".restoring"

// HalfBuilt returns the directory of a running or killed Build of dir, if dir has no database.
func HalfBuilt(dir string) (half string, ok bool) {
	half = filepath.Clean(dir) + restoring
	_, err := os.Lstat(half)
	return half, err == nil && !Exists(dir)
}

// Build creates a database in dir with the keys and values that next returns in order of keys, up to io.EOF, and calls
// check before it publishes it. dir must be missing or empty, and stays so until then: the database is built in dir
// with the suffix ".restoring". If Build fails, it removes everything that it created, including the directories above
// dir.
func Build(dir string, o Options, next func() (key, value []byte, err error), check func(dir string) error) (err error) {
	if err := vacant(dir); err != nil {
		return err
	}
	o.fill()
	part := filepath.Clean(dir) + restoring
	above := missing(filepath.Dir(part))
	defer func() {
		if err != nil {
			for _, d := range above {
				_ = os.Remove(d) // only if it is empty; otherwise another process uses it by now
			}
		}
	}()
	if err := os.MkdirAll(filepath.Dir(part), 0o750); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := os.Mkdir(part, 0o700); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("store %s: %s exists, from a restore that is running or was killed: wait for it, or remove that directory", dir, part)
	} else if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err = load(part, o, next); err == nil {
		err = check(part)
	}
	if err == nil {
		err = publish(part, dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("store %s: restore: %w", dir, err), os.RemoveAll(part))
	}
	return nil
}

// missing returns the missing directories up to dir, the innermost first.
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
		return fmt.Errorf("store %s: a backup can only be restored to a new or empty directory, and this one contains %s: name another one, or move it away", dir, files[0].Name())
	}
	return nil
}

// publish gives a complete store its name.
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

// loadBytes is the approximate number of bytes passed to Badger at once.
const loadBytes = 1 << 20

// load fills a new database with what next returns, up to io.EOF, in order of keys. It writes tables of the last level,
// with nothing to compact.
func load(dir string, o Options, next func() (key, value []byte, err error)) (err error) {
	db, err := tryBadger(badgerOptions(dir, o))
	if err != nil {
		return openError(dir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tables := db.NewStreamWriter()
	defer tables.Cancel() // does nothing after Flush
	if err := tables.Prepare(); err != nil {
		return err
	}
	buf := z.NewBuffer(2*loadBytes, "restore")
	defer func() { err = errors.Join(err, buf.Release()) }()
	for {
		key, value, err := next()
		if errors.Is(err, io.EOF) {
			return errors.Join(tables.Write(buf), tables.Flush())
		}
		if err != nil {
			return err
		}
		kv := &pb.KV{Key: key, Value: value, Version: 1, ExpiresAt: o.expires(key, value)}
		badger.KVToBuffer(kv, buf)
		if buf.LenNoPadding() < loadBytes {
			continue
		}
		if err := tables.Write(buf); err != nil {
			return err
		}
		buf.Reset()
	}
}
