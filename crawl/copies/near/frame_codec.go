package near

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// A Frame is stored in a binary form: a version, the number of documents, and each of them.

const (
	frameVersion = 2
	frameHead    = 2
	sampledSize  = 16 + 8 + 4 + 1 + 8*sketchWords + numeralBits/8 + tokensSize
	// MaxFrameSize is the length of the longest binary form of a Frame.
	MaxFrameSize = frameHead + maxSampled*sampledSize
)

// Append appends the binary form: the documents that the frame was learnt from. It is
// the same for the same documents.
func (f *Frame) Append(b []byte) []byte {
	if f == nil {
		return append(b, frameVersion, 0)
	}
	b = append(b, frameVersion, byte(len(f.sampled)))
	for i := range f.sampled {
		s := &f.sampled[i]
		b = append(b, s.key[:]...)
		b = binary.LittleEndian.AppendUint64(b, s.text)
		b = binary.LittleEndian.AppendUint32(b, s.n)
		b = append(b, byte(s.level))
		b = appendAll(b, s.pairs[:])
		b = s.numbers.append(b)
		b = s.title.append(b)
	}
	return b
}

// DecodeFrame decodes the result of Append, and learns the frame again.
func DecodeFrame(b []byte) (*Frame, error) {
	if len(b) < frameHead {
		return nil, fmt.Errorf("a frame of %d bytes, want %d at least", len(b), frameHead)
	}
	if b[0] != frameVersion {
		return nil, fmt.Errorf("a frame of version %d, want %d", b[0], frameVersion)
	}
	n := int(b[1])
	if b = b[frameHead:]; n > maxSampled || len(b) != n*sampledSize {
		return nil, fmt.Errorf("a frame of %d documents in %d bytes, want %d bytes for each of %d at most", n, len(b), sampledSize, maxSampled)
	}
	all := make([]sampled, n)
	for i := range all {
		s := &all[i]
		copy(s.key[:], b)
		b = b[len(s.key):]
		s.text, s.n, s.level = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:]), int(b[12])
		b = readAll(b[13:], s.pairs[:])
		b = s.numbers.read(b)
		var ok bool
		if s.title, ok = tokensFrom(b); !ok || s.level > maxLevel {
			return nil, errors.New("a frame with a damaged document")
		}
		b = b[tokensSize:]
		if i > 0 && bytes.Compare(all[i-1].key[:], s.key[:]) >= 0 {
			return nil, errors.New("a frame whose documents are not in the order of their keys")
		}
	}
	return newFrame(all), nil
}
