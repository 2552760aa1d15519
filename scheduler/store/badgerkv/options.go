package badgerkv

import (
	"log/slog"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// Options configures Open.
type Options struct {
	// Sync makes commits outlive a power failure, not only a crash of the process.
	Sync bool
	// Logger receives Badger's messages, its information at level debug; nil: none.
	Logger *slog.Logger
	// MemtableBytes is the size of a memtable; 0: DefaultMemtableBytes. If a crash has left larger ones, it is as large
	// as those.
	MemtableBytes int64
	// MinFree is the free space of the disk, in bytes, below which all writes fail with scheduler.ErrFull; 0:
	// DefaultMinFree; negative: no limit. Badger maps its files and would die of SIGBUS on a full disk, and it needs
	// space to compact; if that is more than MinFree, it is the limit.
	MinFree int64
	// ReadOnly opens a database that no process writes to. It must exist. Any number of processes may read at once.
	ReadOnly bool
	// Expires returns the time, in seconds since 1970, at which a key may be removed; 0: never. nil: no key expires.
	Expires func(key, value []byte) uint64

	large bool // the tables had largeTables when the database was opened
}

// Limits and defaults.
const (
	DefaultMinFree       = 512 << 20
	DefaultMemtableBytes = 4 << 20
	MinMemtableBytes     = 1 << 20
)

// fill sets the defaults of zero options.
func (o *Options) fill() {
	if o.MemtableBytes == 0 {
		o.MemtableBytes = DefaultMemtableBytes
	}
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) expires(key, value []byte) uint64 {
	if o.Expires == nil {
		return 0
	}
	return o.Expires(key, value)
}

// badgerOptions returns Badger's options, each with its reason.
func badgerOptions(dir string, o Options) badger.Options {
	b := badger.DefaultOptions(dir)
	b.SyncWrites = o.Sync
	b.ReadOnly = o.ReadOnly
	b.Logger = badgerLog{Logger: o.Logger}
	b.MetricsEnabled = false  // metrics are global, and counted for each key
	b.DetectConflicts = false // there is one writer
	b.NumVersionsToKeep = 1

	// Memory. One memtable is open, up to NumMemtables wait to become tables, and one is being written. A table under
	// construction takes twice BaseTableSize, rounded up to a power of two, and three times that if it is not enough;
	// Badger keeps up to eight such buffers, each as large as the largest table that it ever held. So the tables of all
	// levels have one size, and a buffer is as large as a memtable, which therefore fits. Blocks begin with a buffer of
	// BlockSize, and a longer value leaves its buffer unused: with 4 KiB and documents of 11 KiB a 20,000-page crawl
	// took 2 to 3 times the memory that it takes with 16 KiB.
	b.MemTableSize = o.MemtableBytes
	b.NumMemtables = 3
	b.BaseTableSize = o.MemtableBytes / 2
	b.TableSizeMultiplier = 1
	b.BlockSize = 16 << 10

	// Compaction. Level 0 absorbs bursts: writers wait only when it holds six times the tables at which its compaction
	// begins, which costs disk and not memory. The next level is larger than what level 0 passes to it at a time, or it
	// would overflow each time and keep level 0 waiting; Badger then merges level 0 into one table, for which it takes
	// 256 MiB at once. Compacting level 0 maps all of it, all of the next level and the result: that level is small
	// while the database is, and large later, so that the levels below are written less often. Two compactors are the
	// fewest that Badger allows, and each works on up to five ranges of keys at a time.
	b.NumLevelZeroTables, b.BaseLevelSize = 10, 64<<20
	if o.large {
		b.BaseLevelSize = 128 << 20
	}
	b.NumLevelZeroTablesStall = 6 * b.NumLevelZeroTables
	b.LevelSizeMultiplier = 10
	b.NumCompactors = 2

	// Reading. Tables are mapped: the kernel's page cache holds them, and reclaims memory when needed. So Badger has no
	// cache, for which it would copy blocks, and blocks are not compressed. One unknown key in a hundred
	// costs a read.
	b.Compression = options.None
	b.BlockCacheSize = 0
	b.IndexCacheSize = 0
	b.BloomFalsePositive = 0.01
	b.ChecksumVerificationMode = options.OnBlockRead
	b.VerifyValueChecksum = true

	b.ValueThreshold = o.longValue()
	b.ValueLogFileSize = 2 * longestValue
	return b
}

// largeTables is the size of all tables, about 800,000 known URLs, from which Badger's levels are large.
const largeTables = 256 << 20

// longValue returns the length from which values enter the value log: a quarter of what Badger accepts in one
// transaction, so that a page with a shorter body fits.
func (o Options) longValue() int64 { return o.MemtableBytes * 15 / 100 / 4 }
