package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Form of a letter: version, flags, and, of a note, its name and the rest as its value; of a link fifo,
// kind, shift and hops in a byte each, depth and when it was found as varints, and five texts. An item is behind them, which level 2 of a
// cluster has: whether it is always pushed, whether it is too large to come along, by which rules and when it was read, hash, source, and the rest as its body.
//
// Form of Piles: version, the highest number, and of each pile its home and three numbers,
// as uvarints.

// What a letter is and has.
const (
	letterNote = 1 << iota
	letterNil  // a note that removes the value
	letterDepths
	letterRoot
	letterFound
	letterItem
	letterFlagsEnd
)

// HomeLen is the length of a home in a key.
const HomeLen = 2

// LetterPrefix is what the keys of the letters for a home begin with.
func LetterPrefix(to scheduler.Home) []byte {
	return binary.BigEndian.AppendUint16(append(make([]byte, 0, LetterKeyLen), KindLetter), uint16(to))
}

// LetterKeyLen is the length of a letter's key.
const LetterKeyLen = 1 + HomeLen + SeqLen

// LetterKey is the key of a letter.
func LetterKey(to scheduler.Home, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(LetterPrefix(to), seq)
}

// SplitLetterKey reads a key of LetterKeyLen bytes.
func SplitLetterKey(b []byte) (to scheduler.Home, seq uint64) {
	return scheduler.Home(binary.BigEndian.Uint16(b[1:])), binary.BigEndian.Uint64(b[1+HomeLen:])
}

// PilesKey is the key of Piles.
func PilesKey() []byte { return []byte{KindPost} }

// ArrivedKey is the key of how far the letters of a partition have arrived, see EncodeSeq.
func ArrivedKey(from int) []byte {
	return binary.BigEndian.AppendUint16([]byte{KindPost}, uint16(scheduler.HomeOf(from)))
}

// AppendLetter writes a letter, without its number, behind b.
func AppendLetter(b []byte, n *scheduler.Letter) []byte {
	if n.Note != nil {
		b = append(b, valueVersion, letterNote|flag(n.Note.Value == nil)*letterNil)
		return append(appendString(b, n.Note.Name), n.Note.Value...)
	}
	l := &n.Link
	f := flag(n.Depths)*letterDepths | flag(l.Root)*letterRoot | flag(!l.FoundAt.IsZero())*letterFound | flag(l.Item != nil)*letterItem
	b = append(b, valueVersion, f, byte(l.Fifo), byte(l.Kind), byte(l.Shift), l.Hops)
	b = binary.AppendUvarint(b, uint64(l.Depth))
	if f&letterFound != 0 {
		b = appendTime(b, l.FoundAt)
	}
	for _, s := range [...]string{l.URL.String(), l.Referrer, l.Alias, l.HostSpelling, l.Fragment} {
		b = appendString(b, s)
	}
	if i := l.Item; i != nil {
		b = binary.AppendUvarint(append(b, flag(i.Always)|flag(i.Large)<<1), i.RulesVersion)
		b = append(appendTime(b, i.At), i.Hash[:]...)
		b = append(appendString(b, i.Source), i.Body...)
	}
	return b
}

var errLetterURL = errors.New("the URL of its link is not in canonical form")

// DecodeLetter reads what AppendLetter wrote; it shares no memory with b.
func DecodeLetter(b []byte) (n scheduler.Letter, err error) {
	r := newReader(b)
	f := r.enum("a letter's flags", letterFlagsEnd)
	if f&letterNote != 0 {
		n.Note = &scheduler.Note{Name: r.string()}
		if value := r.bytes(uint64(len(r.b))); f&letterNil == 0 {
			n.Note.Value = append([]byte{}, value...)
		} else if len(value) > 0 || f != letterNote|letterNil {
			r.fail(fmt.Errorf("a note with flags %b and a value of %d bytes", f, len(value)))
		}
		return n, r.end()
	}
	l := &n.Link
	n.Depths, l.Root = f&letterDepths != 0, f&letterRoot != 0
	l.Fifo, l.Kind = scheduler.Source(r.enum("fifo", byte(scheduler.Sources))), scheduler.Kind(r.enum("kind", byte(scheduler.Kinds)))
	l.Shift, l.Hops = int8(r.byte()), r.byte() //nolint:gosec // as it was written
	depth := r.uvarint()
	if depth > 1<<16-1 {
		r.fail(fmt.Errorf("depth %d", depth))
	}
	l.Depth = uint16(depth) //nolint:gosec // looked at before
	if f&letterFound != 0 {
		l.FoundAt = r.time()
	}
	var url string
	for _, s := range [...]*string{&url, &l.Referrer, &l.Alias, &l.HostSpelling, &l.Fragment} {
		*s = r.string()
	}
	if f&letterItem != 0 {
		l.Item = r.item()
	}
	if err := r.end(); err != nil {
		return n, err
	}
	u, ok := weburl.FromCanonical(url)
	if !ok {
		return n, fmt.Errorf("%w: %q", errLetterURL, url)
	}
	l.URL = u
	return n, nil
}

// item reads what is left as an item.
func (r *reader) item() *scheduler.Item {
	flags := r.enum("an item's flags", 4)
	i := &scheduler.Item{Always: flags&1 != 0, Large: flags&2 != 0, RulesVersion: r.uvarint(), At: r.time()}
	copy(i.Hash[:], r.bytes(uint64(len(i.Hash))))
	i.Source = r.string()
	i.Body = bytes.Clone(r.bytes(uint64(len(r.b))))
	return i
}

// Piles is what is kept of the letters of a store, so that nobody has to walk over them.
type Piles struct {
	Last uint64 // highest number given out
	To   []scheduler.Pile
}

// Of is the pile of a home, which is made if it is not there.
func (p *Piles) Of(to scheduler.Home) *scheduler.Pile {
	for i := range p.To {
		if p.To[i].To == to {
			return &p.To[i]
		}
	}
	p.To = append(p.To, scheduler.Pile{To: to})
	return &p.To[len(p.To)-1]
}

// Append writes p behind b.
func (p *Piles) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, valueVersion), p.Last)
	for _, n := range p.To {
		for _, v := range [...]uint64{uint64(n.To), n.Count, n.Bytes, n.Removed} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

// DecodePiles reads what Append wrote; that of no value is zero.
func DecodePiles(b []byte) (p Piles, err error) {
	if b == nil {
		return p, nil
	}
	r := newReader(b)
	p.Last = r.uvarint()
	for len(r.b) > 0 && r.err == nil {
		to := r.uvarint()
		if to == uint64(scheduler.Here) || to > 1<<16-1 {
			r.fail(fmt.Errorf("letters for partition %d", to))
		}
		p.To = append(p.To, scheduler.Pile{To: scheduler.Home(to), Count: r.uvarint(), Bytes: r.uvarint(), Removed: r.uvarint()}) //nolint:gosec // looked at before
	}
	return p, r.end()
}
