package entry

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// MaxStep is how large a step may be, unpacked: what one page with all its links can never
// reach. It bounds the memory that a damaged or foreign entry can ask for.
const MaxStep = 256 << 20

// Packing is how the bytes of a step stand in its entries.
type Packing uint8

// The packings.
const (
	Plain Packing = iota
	Zstd
	packingsEnd
)

// Packer packs and unpacks steps. It may be used by several goroutines at once.
type Packer struct {
	pack   *zstd.Encoder
	unpack *zstd.Decoder
}

// NewPacker makes a packer. It has neither files nor goroutines: nothing need close it.
func NewPacker() (*Packer, error) {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxStep), zstd.WithDecoderConcurrency(1))
	return &Packer{pack, unpack}, err
}

// Cut makes the entries of one step that follow at, of a level and none of them with more than limit bytes,
// and returns each encoded, with the positions behind them. The same arguments give the same
// bytes: an append that is tried again is the same append.
func (p *Packer) Cut(a Author, level uint8, at Position, step []byte, limit int) (encoded [][]byte, behind []Position, err error) {
	if len(step) > MaxStep {
		return nil, nil, fmt.Errorf("a step of %d bytes: at most %d can be replicated", len(step), MaxStep)
	}
	body, packing := step, Plain
	if packed := p.pack.EncodeAll(step, nil); len(packed) < len(step) {
		body, packing = packed, Zstd
	}
	room := limit - Overhead
	parts := max(1, (len(body)+room-1)/room)
	for part := range parts {
		e := Entry{
			Author: a, Level: level, Seq: at.Seq + 1, Part: uint32(part), Parts: uint32(parts), Packing: packing,
			StepBytes: uint32(len(step)), Before: at.Hash, Body: body[part*room : min((part+1)*room, len(body))],
		}
		e.Size = at.Size + uint64(Overhead+len(e.Body))
		encoded = append(encoded, e.encode())
		at = e.At()
		behind = append(behind, at)
	}
	return encoded, behind, nil
}

// Joiner puts the steps of a log together. A new one, which has nothing but its Packer, is at
// the end of a whole step. One goroutine uses it.
type Joiner struct {
	Packer *Packer

	begun *Entry // the first part of a step whose last is not there yet
	next  uint32 // the part that comes next
	body  []byte
}

// Add takes the next entry of the log. whole says that a step is complete with it; only then
// may anything rest on this position. A step whose author lost its epoch between two parts
// is void, on every node: the next author's entry begins another.
func (j *Joiner) Add(e *Entry) (step []byte, whole bool, err error) {
	if j.begun != nil && e.Author != j.begun.Author {
		*j = Joiner{Packer: j.Packer}
	}
	if e.Part != j.next || j.begun != nil && (e.Parts != j.begun.Parts || e.Packing != j.begun.Packing || e.StepBytes != j.begun.StepBytes) {
		return nil, false, fmt.Errorf("%w: entry %d is part %d of %d of a step; part %d was due", ErrDamaged, e.Seq, e.Part, e.Parts, j.next)
	}
	if e.Parts == 1 {
		step, err = j.Packer.whole(e, e.Body)
		return step, err == nil, err
	}
	if j.begun == nil {
		j.begun = e
	}
	if len(j.body)+len(e.Body) > MaxStep+MaxStep/16 {
		return nil, false, fmt.Errorf("%w: entry %d: the parts of a step have more than %d bytes", ErrDamaged, e.Seq, MaxStep)
	}
	j.body = append(j.body, e.Body...)
	j.next++
	if j.next < e.Parts {
		return nil, false, nil
	}
	body := j.body
	*j = Joiner{Packer: j.Packer}
	step, err = j.Packer.whole(e, body)
	return step, err == nil, err
}

func (p *Packer) whole(e *Entry, body []byte) (step []byte, err error) {
	step = body
	if e.Packing == Zstd {
		if step, err = p.unpack.DecodeAll(body, nil); err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", ErrDamaged, e.Seq, err)
		}
	}
	if len(step) != int(e.StepBytes) {
		return nil, fmt.Errorf("%w: entry %d: a step of %d bytes has %d", ErrDamaged, e.Seq, e.StepBytes, len(step))
	}
	return step, nil
}
