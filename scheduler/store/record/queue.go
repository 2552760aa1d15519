package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Form of a queue's state: version, count and floor as uvarints, and for each chunk with done URLs its number and a bit
// for each of these, 8 and 4 bytes.
//
// Form of a chunk: a bit for each URL in it, 4 bytes, and their keys. The n-th bit from below, and its key, belong to
// the number of the chunk's key plus n.

// ChunkLen is the number of places of a queue that share a key. The number of a chunk is divisible by it.
const ChunkLen = 32

const (
	bitsLen = 4
	doneLen = SeqLen + bitsLen
	// chunkFull has the bits of all numbers of a chunk set.
	chunkFull = 1<<ChunkLen - 1
)

// ChunkOf returns the chunk that a number belongs to, and its bit there.
func ChunkOf(seq uint64) (chunk uint64, bit uint32) { return seq / ChunkLen, 1 << (seq % ChunkLen) }

// QueuePrefix returns the prefix of the keys of a queue's chunks.
func QueuePrefix(p scheduler.Place) []byte {
	b := append(make([]byte, 0, QueueKeyLen), KindQueue, byte(p.Source))
	return append(b, p.Host[:]...)
}

// QueueKey returns the key of the chunk that holds a number of a queue.
func QueueKey(p scheduler.Place, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(QueuePrefix(p), seq/ChunkLen*ChunkLen)
}

// SplitQueueKey splits a key of QueueKeyLen bytes.
func SplitQueueKey(b []byte) (p scheduler.Place, seq uint64) {
	return SplitPlaceKey(b[:PlaceKeyLen]), binary.BigEndian.Uint64(b[PlaceKeyLen:])
}

// Queue is the state of a queue that is not empty. It saves a walk over the queue, and over what was removed from its
// beginning.
type Queue struct {
	Count uint64 // URLs that wait
	Floor uint64 // no URL has a lower number
	Done  Done
}

// Append appends q to b.
func (q Queue) Append(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(append(b, valueVersion), q.Count), q.Floor)
	return append(b, q.Done...)
}

// DecodeQueue decodes a queue's state, zero for no value. Done shares memory with b.
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
		r.fail(errors.New("its record of completed chunks is impossible"))
	}
	return q, r.end()
}

// Done records the stored chunks of a queue with done URLs, lowest first. It is not changed in place.
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

// Len returns the number of chunks.
func (d Done) Len() int { return len(d) / doneLen }

// At returns the i-th chunk, and the bits of its done URLs.
func (d Done) At(i int) (chunk uint64, of uint32) {
	b := d[i*doneLen:]
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[SeqLen:])
}

// Of returns the bits of a chunk's done URLs.
func (d Done) Of(chunk uint64) uint32 {
	i, ok := d.find(chunk)
	if !ok {
		return 0
	}
	_, of := d.At(i)
	return of
}

// find returns the index of a chunk, or where it belongs. The newest are searched for most often.
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

// With adds a number, and reports whether all URLs of its chunk are done: the chunk is left out then. It uses room for
// the result.
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

// Behind returns the part after a chunk.
func (d Done) Behind(chunk uint64) Done {
	i, ok := d.find(chunk)
	if ok {
		i++
	}
	return d[i*doneLen:]
}

// Chunk holds the URLs that one commit put into one queue.
type Chunk []byte

// Valid reports whether c is well formed.
func (c Chunk) Valid() bool {
	if len(c) < bitsLen {
		return false
	}
	n := bits.OnesCount32(c.Has())
	return n > 0 && len(c) == bitsLen+n*KeyLen
}

// Has returns the bits of the URLs in c.
func (c Chunk) Has() uint32 { return binary.BigEndian.Uint32(c) }

// Len returns the number of URLs in c.
func (c Chunk) Len() int { return bits.OnesCount32(c.Has()) }

// Next returns the number, within the chunk, for a URL that is added at its end; ChunkLen if the chunk is full.
func (c Chunk) Next() uint64 { return uint64(bits.Len32(c.Has())) }

// At returns the URL with a number.
func (c Chunk) At(seq uint64) (k weburl.Key, ok bool) {
	_, bit := ChunkOf(seq)
	if c.Has()&bit == 0 {
		return k, false
	}
	return weburl.Key(c[bitsLen+bits.OnesCount32(c.Has()&(bit-1))*KeyLen:]), true
}

// Append appends c, with another URL at its end, to b. c may be nil, the empty chunk.
func (c Chunk) Append(b []byte, k weburl.Key) Chunk {
	if c == nil {
		c = Chunk(make([]byte, bitsLen))
	}
	at := len(b)
	b = append(append(b, c...), k[:]...)
	binary.BigEndian.PutUint32(b[at:], c.Has()|1<<c.Next())
	return b
}

// Without returns c without some of its URLs, nil if none is left.
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
