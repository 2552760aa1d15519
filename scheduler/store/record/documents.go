package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Form: version, counts as uvarints, and the keys of the sample.

// Documents describes a host's documents while it has any, or lost ones: their number and, in ascending order, the keys
// of at most scheduler.DocumentSample. The sample is that of the lowest keys, except those added while it lacked some.
// Keys are hashes, so the sample is even.
type Documents struct {
	Count  uint64
	Lost   uint64 // records with a LostAt
	Sample []byte // keys one after the other; not to be changed
}

// Append appends d to b.
func (d Documents) Append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, valueVersion), d.Count)
	b = binary.AppendUvarint(b, d.Lost)
	return append(b, d.Sample...)
}

// DecodeDocuments decodes a host's documents; nil stands for none. The result shares memory with b.
func DecodeDocuments(b []byte) (Documents, error) {
	if b == nil {
		return Documents{}, nil
	}
	r := newReader(b)
	d := Documents{Count: r.uvarint(), Lost: r.uvarint()}
	d.Sample = r.bytes(uint64(len(r.b)))
	switch n := d.Len(); {
	case r.err != nil:
	case d.Count == 0 && d.Lost == 0:
		r.fail(errors.New("a host with no documents"))
	case len(d.Sample)%KeyLen != 0 || n > scheduler.DocumentSample || uint64(n) > d.Count:
		r.fail(fmt.Errorf("a sample of %d bytes for %d documents", len(d.Sample), d.Count))
	default:
		for i := 1; i < n; i++ {
			if bytes.Compare(d.At(i-1), d.At(i)) >= 0 {
				r.fail(errors.New("a sample out of order"))
			}
		}
	}
	return d, r.end()
}

// Len returns the number of keys in the sample.
func (d Documents) Len() int { return len(d.Sample) / KeyLen }

// At returns the i-th key of the sample.
func (d Documents) At(i int) []byte { return d.Sample[i*KeyLen : (i+1)*KeyLen] }

// Find returns the place of a key in the sample, or where it belongs.
func (d Documents) Find(k weburl.Key) (i int, ok bool) {
	i = sort.Search(d.Len(), func(i int) bool { return bytes.Compare(d.At(i), k[:]) >= 0 })
	return i, i < d.Len() && bytes.Equal(d.At(i), k[:])
}

// Offer adds a document's key to the sample if it belongs there.
func (d Documents) Offer(k weburl.Key) Documents {
	i, ok := d.Find(k)
	if ok || i == scheduler.DocumentSample {
		return d
	}
	sample := make([]byte, 0, (d.Len()+1)*KeyLen)
	sample = append(append(append(sample, d.Sample[:i*KeyLen]...), k[:]...), d.Sample[i*KeyLen:]...)
	d.Sample = sample[:min(len(sample), scheduler.DocumentSample*KeyLen)]
	return d
}

// Drop removes a key from the sample.
func (d Documents) Drop(k weburl.Key) Documents {
	if i, ok := d.Find(k); ok {
		d.Sample = slices.Concat(d.Sample[:i*KeyLen], d.Sample[(i+1)*KeyLen:])
	}
	return d
}

// Lacks reports whether the sample has lost keys and could be larger.
func (d Documents) Lacks() bool {
	return uint64(d.Len()) < min(d.Count, scheduler.DocumentSample)
}

// Host returns d in the form of a scheduler.Store.
func (d Documents) Host() scheduler.HostDocuments {
	docs := scheduler.HostDocuments{Count: d.Count, Lost: d.Lost}
	for i := range d.Len() {
		docs.Sample = append(docs.Sample, weburl.Key(d.At(i)))
	}
	return docs
}

// Pooled returns the number of documents that belong to the pool of small hosts.
func (d Documents) Pooled() uint64 {
	if d.Count < scheduler.PoolBelow {
		return d.Count
	}
	return 0
}
