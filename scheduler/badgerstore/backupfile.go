package badgerstore

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// The form of a backup: backupMagic; blocks, each its length (4 bytes, never 0), keys
// with values, and a checksum (4 bytes); the end: a length of 0, the number of keys (8
// bytes) and a checksum. A key with its value is the length of each as uvarint and then
// both; keys ascend. A checksum is the CRC-32C of everything before it, so that no block
// can be missing, doubled or out of place. Numbers are big endian.
const (
	backupMagic = "SXBACKUP\x01" // the last byte is the version

	// backupBlock is where a block ends; its last value may go far beyond.
	backupBlock    = 1 << 20
	maxBackupBlock = record.MaxBody + 16*backupBlock
	// maxBackupKey is the longest key that Badger takes.
	maxBackupKey = 65000
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// backupWriter writes a backup.
type backupWriter struct {
	w       io.Writer
	block   []byte // begins with room for its length
	sum     uint32
	written int64
}

func newBackupWriter(w io.Writer) *backupWriter {
	return &backupWriter{w: w, block: append(make([]byte, 0, 2*backupBlock), backupMagic+"\x00\x00\x00\x00"...)}
}

// add puts a key behind those before.
func (b *backupWriter) add(key, value []byte) error {
	b.block = binary.AppendUvarint(b.block, uint64(len(key)))
	b.block = binary.AppendUvarint(b.block, uint64(len(value)))
	b.block = append(append(b.block, key...), value...)
	if len(b.block) < backupBlock {
		return nil
	}
	return b.flush(nil)
}

// start is where the length of the block is; before it, in the first one, is the magic.
func (b *backupWriter) start() int {
	if b.written == 0 {
		return len(backupMagic)
	}
	return 0
}

// flush writes the block, if it holds anything, and then tail, with a checksum.
func (b *backupWriter) flush(tail []byte) error {
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
	b.written += int64(m)
	if cap(b.block) > 4*backupBlock {
		b.block = make([]byte, 0, 2*backupBlock) // one long value is enough reason
	}
	b.block = append(b.block[:0], 0, 0, 0, 0)
	return err
}

// seal adds the checksum of what is in out from begin on, and of all before.
func (b *backupWriter) seal(out []byte, begin int) []byte {
	b.sum = crc32.Update(b.sum, castagnoli(), out[begin:])
	out = binary.BigEndian.AppendUint32(out, b.sum)
	b.sum = crc32.Update(b.sum, castagnoli(), out[len(out)-4:])
	return out
}

// end ends the backup, which has so many keys.
func (b *backupWriter) end(keys uint64) error {
	return b.flush(binary.BigEndian.AppendUint64(make([]byte, 4, 12), keys))
}

// backupReader reads a backup.
type backupReader struct {
	r     *bufio.Reader
	sum   uint32
	block []byte // what is left of it
	buf   []byte
	last  []byte // key
	keys  uint64
	begun bool
	read  int64
}

func newBackupReader(r io.Reader) *backupReader {
	return &backupReader{r: bufio.NewReaderSize(r, backupBlock)}
}

func notWhole(format string, args ...any) error {
	return fmt.Errorf("%w: not a whole backup: %s; use another one", scheduler.ErrDamaged, fmt.Sprintf(format, args...))
}

// next gives the next key and value, valid until the next call, or io.EOF at the end
// of a whole backup. Only what was checked is given.
func (b *backupReader) next() (key, value []byte, err error) {
	if len(b.block) == 0 {
		if err := b.nextBlock(); err != nil {
			return nil, nil, err
		}
	}
	klen, n := binary.Uvarint(b.block)
	vlen, m := binary.Uvarint(b.block[max(n, 0):])
	if n <= 0 || m <= 0 || klen == 0 || klen > maxBackupKey || vlen > uint64(len(b.block)) || klen+vlen > uint64(len(b.block)-n-m) {
		return nil, nil, notWhole("a key or value after %d keys is longer than its block", b.keys)
	}
	key = b.block[n+m:][:klen]
	value = b.block[n+m+int(klen):][:vlen]
	b.block = b.block[n+m+int(klen+vlen):]
	if bytes.Compare(key, b.last) <= 0 {
		return nil, nil, notWhole("its keys are not in order after %d", b.keys)
	}
	b.last = append(b.last[:0], key...)
	b.keys++
	return key, value, nil
}

// nextBlock reads and checks a block, or the end.
func (b *backupReader) nextBlock() error {
	if !b.begun {
		b.begun = true
		head, err := b.take(len(backupMagic))
		if err != nil {
			return err
		}
		if string(head) != backupMagic {
			return notWhole("it begins with %q", head)
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
	if n > maxBackupBlock {
		return notWhole("a block claims to have %d bytes", n)
	}
	block, err := b.take(int(n))
	if err == nil {
		err = b.verify()
	}
	b.block = block
	return err
}

// end checks what is behind the last block.
func (b *backupReader) end() error {
	tail, err := b.take(8)
	if err != nil {
		return err
	}
	keys := binary.BigEndian.Uint64(tail)
	if err := b.verify(); err != nil {
		return err
	}
	if keys != b.keys {
		return notWhole("it has %d keys and claims %d", b.keys, keys)
	}
	switch _, err := b.r.ReadByte(); {
	case err == nil:
		return notWhole("there is more behind its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return io.EOF
}

// take reads n bytes, valid until the next call but one for a checksum. The buffer
// grows with what really comes, not with what is announced.
func (b *backupReader) take(n int) ([]byte, error) {
	b.buf = b.buf[:0]
	for len(b.buf) < n {
		have, more := len(b.buf), min(n-len(b.buf), backupBlock)
		b.buf = append(b.buf, make([]byte, more)...)
		m, err := io.ReadFull(b.r, b.buf[have:])
		b.read += int64(m)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, notWhole("it ends after %d bytes", b.read)
		}
		if err != nil {
			return nil, err
		}
	}
	b.sum = crc32.Update(b.sum, castagnoli(), b.buf)
	return b.buf, nil
}

// verify reads a checksum and compares.
func (b *backupReader) verify() error {
	var sum [4]byte
	m, err := io.ReadFull(b.r, sum[:])
	b.read += int64(m)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return notWhole("it ends after %d bytes", b.read)
	case err != nil:
		return err
	case binary.BigEndian.Uint32(sum[:]) != b.sum:
		return notWhole("a checksum is wrong %d bytes in", b.read)
	}
	b.sum = crc32.Update(b.sum, castagnoli(), sum[:])
	return nil
}
