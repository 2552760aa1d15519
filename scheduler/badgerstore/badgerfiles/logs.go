package badgerfiles

import (
	"bufio"
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
	"strings"
)

// The form is that of Badger 4.

// Badger's logs, the value log and those of memtables, have a header, and then entries: a
// header (two bytes, the lengths of key and value, and a time), a key with its version, a
// value and a checksum. A log that is written to is longer, with zeros at its end. Badger
// takes the lengths for true before it looks at the checksum, and cuts a log at the first
// entry that is wrong.
const (
	LogHeader      = 20
	logEntryHeader = 2 + 3*binary.MaxVarintLen64
	logVersion     = 8
	logChecksum    = 4
	logLongestKey  = 4 << 10 // of those that the store writes
)

// DiscardName is Badger's count of garbage, which nobody asks for; see collectGarbage.
const DiscardName = "DISCARD"

// logEntry reads the key of an entry, with its version, and how long the entry is.
func logEntry(b []byte) (key []byte, length int64, ok bool) {
	if len(b) < 2 {
		return nil, 0, false
	}
	var numbers [3]uint64 // lengths of key and value, and a time
	rest := b[2:]
	for i := range numbers {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, 0, false
		}
		numbers[i], rest = v, rest[n:]
	}
	keyLen, valueLen := numbers[0], numbers[1]
	if keyLen <= logVersion || keyLen > uint64(len(rest)) || valueLen > math.MaxUint32 {
		return nil, 0, false
	}
	return rest[:keyLen], int64(len(b)-len(rest)) + int64(keyLen+valueLen) + logChecksum, true
}

// soundLog says where the last whole entry of a log ends.
func soundLog(f io.ReaderAt, size int64) (end int64, err error) {
	end = min(LogHeader, size)
	r := bufio.NewReaderSize(io.NewSectionReader(f, end, size-end), 64<<10)
	for sum := crc32.New(crc32.MakeTable(crc32.Castagnoli)); ; sum.Reset() {
		b, err := r.Peek(logEntryHeader + logLongestKey)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		_, length, ok := logEntry(b)
		if !ok || length > size-end {
			return end, nil
		}
		if _, err := io.CopyN(sum, r, length-logChecksum); err != nil {
			return 0, err
		}
		var want [logChecksum]byte
		if _, err := io.ReadFull(r, want[:]); err != nil {
			return 0, err
		}
		if sum.Sum32() != binary.BigEndian.Uint32(want[:]) {
			return end, nil
		}
		end += length
	}
}

// EachEntry calls fn for the entries of a log until it returns false, and reports whether
// the file is such entries to its last byte, each with its checksum.
func EachEntry(f io.ReaderAt, size int64, fn func(at, length int64, key []byte) bool) (whole bool, err error) {
	at := int64(LogHeader)
	for b := make([]byte, logEntryHeader+logLongestKey); at < size; {
		n, err := f.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		key, length, ok := logEntry(b[:n])
		if !ok || !fn(at, length, key) {
			return false, nil
		}
		at += length
	}
	if at != size {
		return false, nil
	}
	end, err := soundLog(f, size)
	return end == size, err
}

// logsOf are the files with a suffix, in the order of their numbers.
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

// Torn is a log whose last entry is half there, at its end.
type Torn struct {
	name string
	end  int64
}

// checkLogs reads the logs that were touched, and the last one. In a store that was not closed, what was
// written last may be half there.
func checkLogs(dir string, closed *mark) (torn []Torn, err error) {
	for _, ext := range []string{".vlog", ".mem"} {
		names, err := logsOf(dir, ext)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			written := closed == nil && i == len(names)-1 // when the process ended
			known := closed
			if i == len(names)-1 {
				known = nil // Badger reads it to its end
			}
			end, err := checkLog(name, known, written)
			switch {
			case err != nil:
				return nil, err
			case closed != nil && ext == ".mem" && end != noLog:
				return nil, fmt.Errorf("the file %s was not there when the store was closed", filepath.Base(name))
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

// What checkLog gives in place of a position.
const (
	soundToEnd = -1 - iota
	noLog      // it is empty, see Leftovers
)

// checkLog says where the whole entries of a log end if there is anything but zeros
// behind, soundToEnd if there is not. For a log that was written to, which is long, the first zeros suffice.
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
	if end, err = soundLog(f, info.Size()); err != nil || end == info.Size() {
		return soundToEnd, err
	}
	rest := info.Size() - end
	if written {
		rest = min(rest, logEntryHeader)
	}
	zeros, err := onlyZeros(io.NewSectionReader(f, end, rest))
	if zeros && end >= LogHeader {
		end = soundToEnd
	}
	return end, err
}

func onlyZeros(r io.Reader) (bool, error) {
	for b := make([]byte, 64<<10); ; {
		n, err := r.Read(b)
		if slices.ContainsFunc(b[:n], func(c byte) bool { return c != 0 }) {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// cut cuts off what Badger would, but after it has allocated what a wrong length says.
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
