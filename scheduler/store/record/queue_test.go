package record

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

// with is c with a URL under a number of it, which it may have already.
func with(c Chunk, seq uint64, k weburl.Key) Chunk {
	has, keys := uint32(0), []byte(nil)
	if c != nil {
		has, keys = c.Has(), c[bitsLen:]
	}
	_, bit := ChunkOf(seq)
	if has&bit != 0 {
		return c
	}
	b := binary.BigEndian.AppendUint32(nil, has|bit)
	at := bits.OnesCount32(has&(bit-1)) * KeyLen
	return append(append(append(b, keys[:at]...), k[:]...), keys[at:]...)
}

// A chunk is what a map of numbers is.
func TestChunk(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	key := func(n uint64) weburl.Key { return weburl.Key{byte(n), 9} }
	for range 200 {
		var c Chunk
		want := map[uint64]weburl.Key{}
		for range r.IntN(40) {
			n := r.Uint64N(ChunkLen)
			switch r.IntN(4) {
			case 0:
				if n = 64 + n; c != nil { // numbers are those of the queue
					c, _ = c.Without(1<<(n-64)), want[n-64]
				}
				delete(want, n-64)
			case 1:
				if c == nil || c.Next() < ChunkLen {
					n = 0
					if c != nil {
						n = c.Next()
					}
					c = c.Append([]byte("before"), key(n))[len("before"):]
					want[n] = key(n)
				}
			default:
				c = with(c, 32*7+n, key(n))
				want[n] = key(n)
			}
			if (c == nil) != (len(want) == 0) || c != nil && (!c.Valid() || c.Len() != len(want)) {
				t.Fatalf("%x, want %v", c, want)
			}
			for n := range uint64(ChunkLen) {
				if c == nil {
					break
				}
				k, ok := c.At(n)
				if is, there := want[n]; ok != there || k != is {
					t.Fatalf("number %d of %x: %v, %t, want %v", n, c, k, ok, want)
				}
			}
		}
	}
	for _, bad := range []Chunk{nil, {0, 0, 0}, {0, 0, 0, 0}, make(Chunk, 20), append(Chunk{0, 0, 0, 3}, make([]byte, 16)...), append(Chunk{0, 0, 0, 1}, make([]byte, 17)...)} {
		if bad.Valid() {
			t.Errorf("%x counts as a chunk", bad)
		}
	}
}

// What is done of chunks is what a set of numbers is, without the chunks of which all are.
func TestDone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var d Done
		var room []byte
		want := map[uint64]bool{}
		for range 600 {
			seq := r.Uint64N(20 * ChunkLen)
			if want[seq] {
				continue
			}
			want[seq] = true
			var all bool
			d, all = slices.Clone(d).With(seq, room)
			room = d
			chunk := seq / ChunkLen
			full := true
			for n := range uint64(ChunkLen) {
				full = full && want[chunk*ChunkLen+n]
			}
			if all != full || !d.valid() {
				t.Fatalf("number %d: all %t, want %t; %x", seq, all, full, d)
			}
			for chunk := range uint64(20) {
				var of uint32
				for n := range uint64(ChunkLen) {
					if want[chunk*ChunkLen+n] {
						of |= 1 << n
					}
				}
				if of == chunkFull {
					of = 0
				}
				if got := d.Of(chunk); got != of {
					t.Fatalf("chunk %d: %b, want %b", chunk, got, of)
				}
			}
		}
		left := d.Behind(9)
		for i := range left.Len() {
			if chunk, _ := left.At(i); chunk <= 9 {
				t.Errorf("behind chunk 9 is chunk %d", chunk)
			}
		}
		if before := d[:len(d)-len(left)]; before.Len() > 0 {
			if chunk, _ := before.At(before.Len() - 1); chunk > 9 {
				t.Errorf("up to chunk 9 is chunk %d", chunk)
			}
		}
	}
}
