package badgerfiles

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"golang.org/x/sync/errgroup"
)

// The format is that of Badger 4. Tables are read by as many goroutines as there are processors; checkTables waits for
// them.

// A table is a sequence of blocks, an index with their positions, the length of the index, its checksum, and the length
// of that. A block ends with the number of its entries, the checksum of everything before, and the length of that.
// Badger reads the lengths and the number before it checks the checksum.

// CheckTables reads all tables to their end.
func CheckTables(dir string) error { return checkTables(dir, nil) }

// checkTables checks the tables that the manifest names. Others were incomplete when the process ended, and Badger
// removes them.
func checkTables(dir string, closed *mark) (err error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil // a new store
		}
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	manifest, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir))
	if err != nil {
		return fmt.Errorf("the file %s: %w", badger.ManifestFilename, err)
	}
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	ids := slices.Sorted(maps.Keys(manifest.Tables))
	faults := make([]error, len(ids))
	for i, id := range ids {
		all.Go(func() error {
			faults[i] = checkTable(filepath.Join(dir, fmt.Sprintf("%06d.sst", id)), closed)
			return nil
		})
	}
	_ = all.Wait() // every error is in its place
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// errTable is the error for a damaged table.
var errTable = errors.New("it is damaged")

// checkTable reads a table: if it is unchanged, only what Badger reads to open it, since Badger does so without
// recover; otherwise all of it.
func checkTable(name string, closed *mark) (err error) {
	fail := func(err error) error { return fmt.Errorf("table %s: %w", filepath.Base(name), err) }
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return fail(errors.New("it is missing"))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end, err := readTableEnd(f, info.Size())
	if err == nil {
		err = end.check(f, closed.untouched(info))
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// tableEnd locates the index of a table.
type tableEnd struct {
	index, length int64
	sum           []byte // the index's checksum
}

func readTableEnd(f io.ReaderAt, size int64) (e tableEnd, err error) {
	const longestSum = 16
	left := size
	read := func(most int64) (int64, error) {
		var b [4]byte
		if left -= int64(len(b)); left < 0 {
			return 0, errTable
		}
		if _, err := f.ReadAt(b[:], left); err != nil {
			return 0, err
		}
		n := int64(binary.BigEndian.Uint32(b[:]))
		if left -= n; left < 0 || n > most {
			return 0, errTable
		}
		return n, nil
	}
	n, err := read(longestSum)
	if err != nil {
		return e, err
	}
	e.sum = make([]byte, n)
	if _, err := f.ReadAt(e.sum, left); err != nil {
		return e, err
	}
	if e.length, err = read(left); err == nil && e.length == 0 {
		err = errTable
	}
	e.index = left
	return e, err
}

// check reads the index, and all blocks or only the last one.
func (e tableEnd) check(f io.ReaderAt, onlyLast bool) error {
	b := make([]byte, e.length)
	if _, err := f.ReadAt(b, e.index); err != nil {
		return err
	}
	if !bytes.Equal(e.sum, tableSum(b)) {
		return errTable
	}
	index := fb.GetRootAsTableIndex(b, 0) // Badger wrote it: the checksum matched
	blocks, o := blockReader{f: f}, fb.BlockOffset{}
	first := 0
	if last := index.OffsetsLength() - 1; onlyLast && index.Offsets(&o, last) {
		first, blocks.at = last, int64(o.Offset())
	}
	for i := first; i < index.OffsetsLength(); i++ {
		if !index.Offsets(&o, i) || int64(o.Offset()) != blocks.at+int64(blocks.held) {
			return errTable
		}
		if err := blocks.add(int(o.Len())); err != nil {
			return err
		}
	}
	if err := blocks.check(); err != nil {
		return err
	}
	if blocks.at != e.index {
		return errTable
	}
	return nil
}

// blockReader reads many blocks at a time.
type blockReader struct {
	f       io.ReaderAt
	at      int64 // where the first unchecked block begins
	held    int   // bytes of unchecked blocks
	lengths []int
	buf     []byte
}

// add adds the next block.
func (r *blockReader) add(length int) error {
	const most = 256 << 10 // bytes at a time, unless one block has more
	r.lengths, r.held = append(r.lengths, length), r.held+length
	if r.held < most {
		return nil
	}
	return r.check()
}

// check verifies the added blocks.
func (r *blockReader) check() error {
	r.buf = slices.Grow(r.buf[:0], r.held)[:r.held]
	if _, err := r.f.ReadAt(r.buf, r.at); err != nil {
		return err
	}
	b := r.buf
	for _, n := range r.lengths {
		if !soundBlock(b[:n]) {
			return fmt.Errorf("%w at byte %d", errTable, r.at)
		}
		b, r.at = b[n:], r.at+int64(n)
	}
	r.held, r.lengths = 0, r.lengths[:0]
	return nil
}

// soundBlock reports whether a block's checksum matches.
func soundBlock(b []byte) bool {
	const word = 4
	n := len(b) - word
	if n < 0 {
		return false
	}
	sum := int64(binary.BigEndian.Uint32(b[n:]))
	if sum > int64(n) {
		return false
	}
	data := b[:int64(n)-sum]
	return bytes.Equal(b[len(data):n], tableSum(data))
}

// tableSum returns the checksum of a block or an index, as Badger writes it: a protocol buffer
// whose second field is the sum.
func tableSum(b []byte) []byte {
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	if sum == 0 {
		return nil
	}
	return binary.AppendUvarint([]byte{2 << 3}, uint64(sum))
}
