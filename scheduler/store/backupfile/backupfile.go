// Package backupfile reads and writes backups: keys and values as a stream that shows whether it is complete. It keeps
// one block in memory, starts no goroutine and has no lock; a Writer or Reader belongs to one goroutine.
//
// The form of a backup: Magic; blocks, each its length (4 bytes, never 0), keys with values, and a checksum (4 bytes);
// the end: a length of 0, the number of keys (8 bytes) and a checksum. A key with its value is the length of each as
// uvarint and then both; keys ascend. A checksum is the CRC-32C of everything before it, so that no block can be
// missing, doubled or out of place. Numbers are big endian.
package backupfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
)

const (
	// Magic is the start of a backup; its last byte is the version.
	Magic = "SXBACKUP\x01"

	// Block is the length at which a block ends; its last value may exceed it.
	Block    = 1 << 20
	maxBlock = record.MaxBody + 16*Block
	// MaxKey is the longest key that Badger accepts.
	MaxKey = 65000
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Writer writes a backup.
type Writer struct {
	w       io.Writer
	block   []byte // begins with space for its length
	sum     uint32
	Written int64 // bytes
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, block: append(make([]byte, 0, 2*Block), Magic+"\x00\x00\x00\x00"...)}
}

// Add appends a key, which must be greater than those before.
func (b *Writer) Add(key, value []byte) error {
	b.block = binary.AppendUvarint(b.block, uint64(len(key)))
	b.block = binary.AppendUvarint(b.block, uint64(len(value)))
	b.block = append(append(b.block, key...), value...)
	if len(b.block) < Block {
		return nil
	}
	return b.flush(nil)
}

// start returns the position of the block's length, which is after the magic in the first block.
func (b *Writer) start() int {
	if b.Written == 0 {
		return len(Magic)
	}
	return 0
}

// flush writes the block, if it is not empty, and then tail, with a checksum.
func (b *Writer) flush(tail []byte) error {
	at := b.start()
	n := len(b.block) - at - 4
	binary.BigEndian.PutUint32(b.block[at:], uint32(n))
	out, begin := b.block[:at], 0
	if n > 0 {
		out = b.seal(b.block, 0)
		begin = len(out)
	}
	if tail != nil {
		out = b.seal(append(out, tail...), begin)
	}
	m, err := b.w.Write(out)
	b.Written += int64(m)
	if cap(b.block) > 4*Block {
		b.block = make([]byte, 0, 2*Block) // one long value may have made it large
	}
	b.block = append(b.block[:0], 0, 0, 0, 0)
	return err
}

// seal appends the checksum of out from begin on, and of everything written before.
func (b *Writer) seal(out []byte, begin int) []byte {
	b.sum = crc32.Update(b.sum, castagnoli(), out[begin:])
	out = binary.BigEndian.AppendUint32(out, b.sum)
	b.sum = crc32.Update(b.sum, castagnoli(), out[len(out)-4:])
	return out
}

// End ends the backup; keys is the number of its keys.
func (b *Writer) End(keys uint64) error {
	return b.flush(binary.BigEndian.AppendUint64(make([]byte, 4, 12), keys))
}

// Reader reads a backup.
type Reader struct {
	r     *bufio.Reader
	sum   uint32
	block []byte // the unread part
	buf   []byte
	last  []byte // key
	keys  uint64
	begun bool
	Read  int64
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, Block)}
}

// notWholeError is a scheduler.ErrDamaged about the backup: the store is not at fault.
type notWholeError string

// Error implements error.
func (e notWholeError) Error() string {
	return "not a complete backup: " + string(e) + "; use another one"
}

// Is reports whether target is scheduler.ErrDamaged.
func (e notWholeError) Is(target error) bool { return target == scheduler.ErrDamaged }

func notWhole(format string, args ...any) error { return notWholeError(fmt.Sprintf(format, args...)) }

// Next returns the next key and value, valid until the next call, or io.EOF at the end of a complete backup. It returns
// only what was verified.
func (b *Reader) Next() (key, value []byte, err error) {
	if len(b.block) == 0 {
		if err := b.nextBlock(); err != nil {
			return nil, nil, err
		}
	}
	klen, n := binary.Uvarint(b.block)
	vlen, m := binary.Uvarint(b.block[max(n, 0):])
	if n <= 0 || m <= 0 || klen == 0 || klen > MaxKey || vlen > uint64(len(b.block)) || klen+vlen > uint64(len(b.block)-n-m) {
		return nil, nil, notWhole("a key or value after %d keys is longer than its block", b.keys)
	}
	key = b.block[n+m:][:klen]
	value = b.block[n+m+int(klen):][:vlen]
	b.block = b.block[n+m+int(klen+vlen):]
	if bytes.Compare(key, b.last) <= 0 {
		return nil, nil, notWhole("its keys are out of order after %d", b.keys)
	}
	b.last = append(b.last[:0], key...)
	b.keys++
	return key, value, nil
}

// nextBlock reads and checks a block, or the end.
func (b *Reader) nextBlock() error {
	if !b.begun {
		b.begun = true
		head, err := b.take(len(Magic))
		if err != nil {
			return err
		}
		switch last := len(Magic) - 1; {
		case string(head[:last]) != Magic[:last]:
			return notWhole("it begins with %q", head)
		case head[last] != Magic[last]:
			return fmt.Errorf("%w: the backup has version %d, not %d: restore it with the program that wrote it",
				scheduler.ErrFormat, head[last], Magic[last])
		}
	}
	head, err := b.take(4)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head)
	if n == 0 {
		return b.end()
	}
	if n > maxBlock {
		return notWhole("a block states a length of %d bytes", n)
	}
	block, err := b.take(int(n))
	if err == nil {
		err = b.verify()
	}
	b.block = block
	return err
}

// end checks what follows the last block.
func (b *Reader) end() error {
	tail, err := b.take(8)
	if err != nil {
		return err
	}
	keys := binary.BigEndian.Uint64(tail)
	if err := b.verify(); err != nil {
		return err
	}
	if keys != b.keys {
		return notWhole("it has %d keys instead of %d", b.keys, keys)
	}
	switch _, err := b.r.ReadByte(); {
	case err == nil:
		return notWhole("it contains more after its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return io.EOF
}

// take reads n bytes, valid until the next call except one for a checksum. The buffer grows with the bytes read, not
// with n.
func (b *Reader) take(n int) ([]byte, error) {
	b.buf = b.buf[:0]
	for len(b.buf) < n {
		have, more := len(b.buf), min(n-len(b.buf), Block)
		b.buf = append(b.buf, make([]byte, more)...)
		m, err := io.ReadFull(b.r, b.buf[have:])
		b.Read += int64(m)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, notWhole("it ends after %d bytes", b.Read)
		}
		if err != nil {
			return nil, err
		}
	}
	b.sum = crc32.Update(b.sum, castagnoli(), b.buf)
	return b.buf, nil
}

// verify reads a checksum and compares it.
func (b *Reader) verify() error {
	var sum [4]byte
	m, err := io.ReadFull(b.r, sum[:])
	b.Read += int64(m)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return notWhole("it ends after %d bytes", b.Read)
	case err != nil:
		return err
	case binary.BigEndian.Uint32(sum[:]) != b.sum:
		return notWhole("a checksum is wrong at byte %d", b.Read)
	}
	b.sum = crc32.Update(b.sum, castagnoli(), sum[:])
	return nil
}
