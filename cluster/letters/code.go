package letters

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// A question is a version and, packed by zstd, numbers as uvarints and letters: to, from, after, how many
// letters there are; of each how much its number is above that of the one before, its length, and the letter as the store has
// it. An answer is a version and the number up to which letters have arrived.

const (
	version = 1
	// lettersMost, plainMost and packedMost bound a question: a post has 5,000 letters and about a MiB at
	// most, but one letter alone may be longer.
	lettersMost = 5000
	plainMost   = 32 << 20
	packedMost  = 33 << 20
	answerMost  = 1 + binary.MaxVarintLen64
)

// packers have neither files nor goroutines.
var packers = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err) // the options are constant
	}
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(plainMost), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(err)
	}
	return pack, unpack
})

func encode(to int, p scheduler.Post) ([]byte, error) {
	if len(p.Letters) > lettersMost {
		return nil, fmt.Errorf("%d letters: at most %d go at once", len(p.Letters), lettersMost)
	}
	b := binary.AppendUvarint(nil, uint64(to))          //nolint:gosec // not negative
	b = binary.AppendUvarint(b, uint64(p.From))         //nolint:gosec // not negative
	b = binary.AppendUvarint(b, p.After)                //
	b = binary.AppendUvarint(b, uint64(len(p.Letters))) //
	last := p.After
	var one []byte
	for i := range p.Letters {
		n := &p.Letters[i]
		b = binary.AppendUvarint(b, n.Seq-last)
		one = record.AppendLetter(one[:0], n)
		b = append(binary.AppendUvarint(b, uint64(len(one))), one...)
		last = n.Seq
	}
	if len(b) > plainMost {
		return nil, fmt.Errorf("letters of %d bytes: at most %d go at once", len(b), plainMost)
	}
	pack, _ := packers()
	return pack.EncodeAll(b, []byte{version}), nil
}

var errEnds = errors.New("it ends too early")

// reader reads numbers and letters; the first error stays.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) number(what string, most uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	switch {
	case r.err != nil:
		return 0
	case size <= 0:
		r.err = fmt.Errorf("%s: %w", what, errEnds)
		return 0
	case n > most:
		r.err = fmt.Errorf("%s: %d, at most %d is allowed", what, n, most)
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func decode(question []byte) (to int, p scheduler.Post, err error) {
	if len(question) == 0 || question[0] != version {
		return 0, p, fmt.Errorf("letters of a version other than %d", version)
	}
	_, unpack := packers()
	plain, err := unpack.DecodeAll(question[1:], nil)
	if err != nil {
		return 0, p, err
	}
	r := &reader{rest: plain}
	to, p.From = int(r.number("to", math.MaxInt16)), int(r.number("from", math.MaxInt16)) //nolint:gosec // bounded
	p.After = r.number("after", math.MaxUint64)
	count := r.number("count", lettersMost)
	last := p.After
	for i := range count {
		var n scheduler.Letter
		if n, err = r.letter(last); err != nil {
			return 0, p, fmt.Errorf("letter %d of %d: %w", i+1, count, err)
		}
		last = n.Seq
		p.Letters = append(p.Letters, n)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes follow the last letter", len(r.rest))
	}
	return to, p, r.err
}

// letter reads the letter that follows the one with a number.
func (r *reader) letter(last uint64) (n scheduler.Letter, err error) {
	above := r.number("number", math.MaxUint64-last)
	size := r.number("length", plainMost)
	switch {
	case r.err != nil:
		return n, r.err
	case above == 0:
		return n, errors.New("its number does not rise")
	case size > uint64(len(r.rest)):
		return n, errEnds
	}
	n, err = record.DecodeLetter(r.rest[:size])
	n.Seq, r.rest = last+above, r.rest[size:]
	return n, err
}

func encodeAnswer(arrived uint64) []byte { return binary.AppendUvarint([]byte{version}, arrived) }

func decodeAnswer(b []byte) (arrived uint64, err error) {
	if len(b) == 0 || b[0] != version {
		return 0, fmt.Errorf("an answer of a version other than %d", version)
	}
	r := &reader{rest: b[1:]}
	arrived = r.number("arrived", math.MaxUint64)
	if r.err == nil && len(r.rest) > 0 {
		r.err = errors.New("the answer is too long")
	}
	return arrived, r.err
}
