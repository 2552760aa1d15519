package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Form of a queue's state: version, count and floor as uvarints, and of each chunk some of
// whose URLs are done its number and a bit for each of these, 8 and 4 bytes.
//
// Form of a chunk: a bit for each URL in it, 4 bytes, and their keys. The n-th bit from
// below, and its key, is of the number of the chunk's key plus n.

// ChunkLen is how many numbers of a queue have one key in common. A number that is divided
// by it gives that of the chunk.
const ChunkLen = 32

const (
	bitsLen = 4
	doneLen = SeqLen + bitsLen
	// chunkFull are the bits of all numbers of a chunk.
	chunkFull = 1<<ChunkLen - 1
)

// ChunkOf is the number of the chunk that a number belongs to, and its bit there.
func ChunkOf(seq uint64) (chunk uint64, bit uint32) { return seq / ChunkLen, 1 << (seq % ChunkLen) }

// QueuePrefix is what the keys of a queue's chunks begin with.
func QueuePrefix(p scheduler.Place) []byte {
	b := append(make([]byte, 0, QueueKeyLen), KindQueue, byte(p.Source))
	return append(b, p.Host[:]...)
}

// QueueKey is the key of the chunk that holds a number of a queue.
func QueueKey(p scheduler.Place, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(QueuePrefix(p), seq/ChunkLen*ChunkLen)
}

// SplitQueueKey reads a key of QueueKeyLen bytes.
func SplitQueueKey(b []byte) (p scheduler.Place, seq uint64) {
	return SplitPlaceKey(b[:PlaceKeyLen]), binary.BigEndian.Uint64(b[PlaceKeyLen:])
}

// Queue is what is kept of a queue that is not empty, so that nobody has to walk
// over it, nor over what was removed from its beginning.
type Queue struct {
	Count uint64 // URLs that wait
	Floor uint64 // none has a lower number
	Done  Done
}

// Append writes q behind b.
func (q Queue) Append(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(append(b, valueVersion), q.Count), q.Floor)
	return append(b, q.Done...)
}

// DecodeQueue reads a queue's state; that of no value is zero. Done shares memory with b.
func DecodeQueue(b []byte) (Queue, error) {
	if b == nil {
		return Queue{}, nil
	}
	r := newReader(b)
	q := Queue{Count: r.uvarint(), Floor: r.uvarint()}
	if r.err == nil && q.Count == 0 {
		r.fail(fmt.Errorf("a queue of no URLs"))
	}
	q.Done = Done(r.bytes(uint64(len(r.b))))
	if r.err == nil && !q.Done.valid() {
		r.fail(errors.New("what is done of its chunks cannot be"))
	}
	return q, r.end()
}

// Done tells of the chunks of a queue that are still stored and some of whose URLs do not
// wait any more, lowest first. It is not changed in place.
type Done []byte

func (d Done) valid() bool {
	if len(d)%doneLen != 0 {
		return false
	}
	for i := range d.Len() {
		chunk, of := d.At(i)
		if before, _ := d.At(max(i-1, 0)); of == 0 || of == chunkFull || i > 0 && before >= chunk || chunk > 1<<59 {
			return false
		}
	}
	return true
}

// Len is how many chunks there are.
func (d Done) Len() int { return len(d) / doneLen }

// At is the i-th chunk, and which of its URLs are done.
func (d Done) At(i int) (chunk uint64, of uint32) {
	b := d[i*doneLen:]
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[SeqLen:])
}

// Of is which URLs of a chunk are done.
func (d Done) Of(chunk uint64) uint32 {
	i, ok := d.find(chunk)
	if !ok {
		return 0
	}
	_, of := d.At(i)
	return of
}

// find is where a chunk is, or belongs. The newest are looked for most.
func (d Done) find(chunk uint64) (int, bool) {
	i := d.Len()
	for i > 0 {
		at, _ := d.At(i - 1)
		if at <= chunk {
			if at == chunk {
				return i - 1, true
			}
			break
		}
		i--
	}
	return i, false
}

// With adds a number, and says whether all of its chunk are done: it is left out then. It
// uses room for the result.
func (d Done) With(seq uint64, room []byte) (_ Done, all bool) {
	chunk, of := ChunkOf(seq)
	i, ok := d.find(chunk)
	behind := i
	if ok {
		_, before := d.At(i)
		of, behind = of|before, i+1
	}
	room = append(room[:0], d[:i*doneLen]...)
	if of != chunkFull {
		room = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(room, chunk), of)
	}
	return append(room, d[behind*doneLen:]...), of == chunkFull
}

// Behind are those behind a chunk.
func (d Done) Behind(chunk uint64) Done {
	i, ok := d.find(chunk)
	if ok {
		i++
	}
	return d[i*doneLen:]
}

// Chunk is the URLs that were put into one queue with one commit.
type Chunk []byte

// Valid reports whether c can be read.
func (c Chunk) Valid() bool {
	if len(c) < bitsLen {
		return false
	}
	n := bits.OnesCount32(c.Has())
	return n > 0 && len(c) == bitsLen+n*KeyLen
}

// Has are the bits of the URLs in it.
func (c Chunk) Has() uint32 { return binary.BigEndian.Uint32(c) }

// Len is how many URLs are in it.
func (c Chunk) Len() int { return bits.OnesCount32(c.Has()) }

// Next is the number, within the chunk, that a URL would have that is added at its end;
// ChunkLen if it is full.
func (c Chunk) Next() uint64 { return uint64(bits.Len32(c.Has())) }

// At is the URL that has a number.
func (c Chunk) At(seq uint64) (k weburl.Key, ok bool) {
	_, bit := ChunkOf(seq)
	if c.Has()&bit == 0 {
		return k, false
	}
	return weburl.Key(c[bitsLen+bits.OnesCount32(c.Has()&(bit-1))*KeyLen:]), true
}

// Append writes c, with a URL at its end, behind b. c may be nil, which is that of no URL.
func (c Chunk) Append(b []byte, k weburl.Key) Chunk {
	if c == nil {
		c = Chunk(make([]byte, bitsLen))
	}
	at := len(b)
	b = append(append(b, c...), k[:]...)
	binary.BigEndian.PutUint32(b[at:], c.Has()|1<<c.Next())
	return b
}

// Without is c without some of its URLs, nil if none is left.
func (c Chunk) Without(done uint32) Chunk {
	left := c.Has() &^ done
	if left == 0 {
		return nil
	}
	b := binary.BigEndian.AppendUint32(nil, left)
	keys := c[bitsLen:]
	for has := c.Has(); has != 0; has &= has - 1 {
		if left&(has&-has) != 0 {
			b = append(b, keys[:KeyLen]...)
		}
		keys = keys[KeyLen:]
	}
	return b
}
