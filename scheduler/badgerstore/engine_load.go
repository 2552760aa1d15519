package badgerstore

import (
	"errors"
	"io"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// loadBytes is how much is handed to Badger at once, about.
const loadBytes = 1 << 20

// load fills a new database with what next returns, up to io.EOF, in order of the keys: it is written as tables of
// the last level, with nothing to compact.
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
		kv := &pb.KV{Key: key, Value: value, Version: 1}
		if key[0] == record.KindGone {
			kv.ExpiresAt = record.GoneUntil(value)
		}
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
