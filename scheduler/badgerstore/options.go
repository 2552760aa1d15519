package badgerstore

import (
	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

func badgerOptions(dir string, o Options) badger.Options {
	b := badger.DefaultOptions(dir)
	b.SyncWrites = o.Durability == Sync
	b.ReadOnly = o.ReadOnly
	b.Logger = badgerLog{o.Logger}
	b.MetricsEnabled = false
	b.DetectConflicts = false // there is one writer
	b.MemTableSize = o.MemtableBytes
	b.NumMemtables = 3
	b.BaseTableSize = 8 << 20
	b.NumCompactors = 2
	b.Compression = options.None
	b.BlockCacheSize = 0
	b.IndexCacheSize = 0
	b.ChecksumVerificationMode = options.OnBlockRead
	b.VerifyValueChecksum = true
	b.ValueThreshold = o.longValue()
	b.ValueLogFileSize = 2 * MaxBody
	return b
}
