package badgerfiles

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The format is that of Badger 4.

// Badger's logs, the value log and those of memtables, have a header, and then entries: a header (two bytes, the
// lengths of key and value, and a time), a key with its version, a value and a checksum. An open log is longer, with
// zeros at its end. Badger trusts the lengths before it checks the checksum, and cuts a log at the first wrong entry.
const (
	LogHeader      = 20
	logEntryHeader = 2 + 3*binary.MaxVarintLen64
	logVersion     = 8
	logChecksum    = 4
	logLongestKey  = 4 << 10 // of the keys that the store writes
)

// DiscardName is Badger's garbage statistics, which are not used; see collectGarbage.
const DiscardName = "DISCARD"

// Marks of an entry in a memtable's log: it belongs to a transaction, or ends one. Badger accepts a transaction only
// with its end.
const (
	logTransaction = 1 << 6
	logCommit      = 1 << 7
)

// entry is an entry of a log.
type entry struct {
	marks      byte
	key, value []byte // with the key's version; value is cut to the bytes available
	length     int64
}

// version returns the version in the entry's key: the number of its transaction.
func (e *entry) version() uint64 {
	return math.MaxUint64 - binary.BigEndian.Uint64(e.key[len(e.key)-logVersion:])
}

// logEntry reads an entry. b must contain at least its key.
func logEntry(b []byte) (e entry, ok bool) {
	if len(b) < 2 {
		return e, false
	}
	var numbers [3]uint64 // lengths of key and value, and a time
	rest := b[2:]
	for i := range numbers {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return e, false
		}
		numbers[i], rest = v, rest[n:]
	}
	keyLen, valueLen := numbers[0], numbers[1]
	if keyLen <= logVersion || keyLen > uint64(len(rest)) || valueLen > math.MaxUint32 {
		return e, false
	}
	return entry{
		marks: b[0], key: rest[:keyLen], value: rest[keyLen:][:min(valueLen, uint64(len(rest))-keyLen)],
		length: int64(len(b)-len(rest)) + int64(keyLen+valueLen) + logChecksum,
	}, true
}

// soundLog returns where the last complete entry of a log ends, and where the last one that Badger accepts ends: an
// incomplete transaction may follow.
func soundLog(f io.ReaderAt, size int64) (end, taken int64, err error) {
	end = min(LogHeader, size)
	taken = end
	var t transactions
	r := bufio.NewReaderSize(io.NewSectionReader(f, end, size-end), 64<<10)
	for sum := crc32.New(crc32.MakeTable(crc32.Castagnoli)); ; sum.Reset() {
		b, err := r.Peek(logEntryHeader + logLongestKey)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		e, ok := logEntry(b)
		if !ok || e.length > size-end {
			return end, taken, nil
		}
		whole := t.next(&e)
		if _, err := io.CopyN(sum, r, e.length-logChecksum); err != nil {
			return 0, 0, err
		}
		var want [logChecksum]byte
		if _, err := io.ReadFull(r, want[:]); err != nil {
			return 0, 0, err
		}
		if sum.Sum32() != binary.BigEndian.Uint32(want[:]) {
			return end, taken, nil
		}
		end += e.length
		if whole {
			taken = end
		}
	}
}

// transactions follows the marks of entries as Badger does.
type transactions struct {
	open   uint64 // number of the open one; 0: none
	broken bool   // nothing that follows is accepted
}

// next reports whether the log may end after an entry.
func (t *transactions) next(e *entry) bool {
	switch {
	case t.broken:
	case e.marks&logTransaction != 0:
		t.broken = t.open != 0 && t.open != e.version()
		t.open = e.version()
	case e.marks&logCommit != 0:
		n, err := strconv.ParseUint(string(e.value), 10, 64)
		t.broken = err != nil || n != t.open
		t.open = 0
		return !t.broken
	default:
		t.broken = t.open != 0
		return !t.broken
	}
	return false
}

// EachEntry calls fn for the entries of a log until it returns false, and reports whether the file consists of valid
// entries to its last byte.
func EachEntry(f io.ReaderAt, size int64, fn func(at, length int64, key []byte) bool) (whole bool, err error) {
	at := int64(LogHeader)
	for b := make([]byte, logEntryHeader+logLongestKey); at < size; {
		n, err := f.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		e, ok := logEntry(b[:n])
		if !ok || !fn(at, e.length, e.key) {
			return false, nil
		}
		at += e.length
	}
	if at != size {
		return false, nil
	}
	end, _, err := soundLog(f, size)
	return end == size, err
}

// logsOf returns the files with a suffix, ordered by number.
func logsOf(dir, ext string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		if filepath.Ext(f.Name()) == ext {
			names = append(names, filepath.Join(dir, f.Name()))
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return names, nil
}

// Torn is a log with an incomplete last entry.
type Torn struct {
	name string
	end  int64
}

// checkLogs reads the changed logs and the last one. In a store that was not closed, the last write may be incomplete.
func checkLogs(dir string, closed *mark) (torn []Torn, err error) {
	for _, ext := range []string{".vlog", ".mem"} {
		names, err := logsOf(dir, ext)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			written := closed == nil && i == len(names)-1 // open when the process ended
			known := closed
			if i == len(names)-1 {
				known = nil // Badger reads it to its end
			}
			end, err := checkLog(name, known, written)
			switch {
			case err != nil:
				return nil, err
			case closed != nil && ext == ".mem" && end != noLog:
				return nil, fmt.Errorf("the file %s did not exist when the store was closed", filepath.Base(name))
			case end < 0:
			case !written:
				return nil, fmt.Errorf("the file %s is damaged at byte %d", filepath.Base(name), end)
			case end >= LogHeader:
				torn = append(torn, Torn{name, end})
			}
		}
	}
	return torn, nil
}

// Special results of checkLog.
const (
	soundToEnd = -1 - iota
	noLog      // it is empty, see Leftovers
)

// checkLog returns where the complete entries of a log end if anything but zeros follows, else soundToEnd. In a log
// that was open when the process ended, an incomplete transaction also counts as following: Badger would cut that off,
// too, but not durably. If the power fails then, half of it may reappear in a log that is no longer the last.
func checkLog(name string, closed *mark, written bool) (end int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return noLog, err
	}
	if closed.untouched(info) {
		return soundToEnd, nil
	}
	end, taken, err := soundLog(f, info.Size())
	if err != nil {
		return soundToEnd, err
	}
	if written && taken < end {
		return taken, nil
	}
	if end == info.Size() {
		return soundToEnd, nil
	}
	zeros, err := onlyZeros(f, end, info.Size())
	if zeros && end >= LogHeader {
		end = soundToEnd
	}
	return end, err
}

// onlyZeros reports whether a file holds only zeros between two positions. Logs are extended as holes, which it skips
// if the file system reports them.
func onlyZeros(f *os.File, from, to int64) (bool, error) {
	b, zeros := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := from; at < to; {
		data, err := f.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return true, nil // no data
		}
		if err == nil && data > at {
			at = data
			continue
		}
		n, err := f.ReadAt(b[:min(int64(len(b)), to-at)], at)
		if !bytes.Equal(b[:n], zeros[:n]) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		at += int64(n)
	}
	return true, nil
}

// cut cuts off what Badger would, without allocating a wrong length first.
func (l Torn) cut() (err error) {
	f, err := os.OpenFile(l.name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Truncate(l.end); err != nil {
		return err
	}
	return f.Sync()
}
