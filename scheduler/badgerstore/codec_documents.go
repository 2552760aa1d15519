package badgerstore

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

// documents is what is kept of a host's documents while it has any: how many there are
// and, in ascending order, the keys of at most scheduler.DocumentSample, which are the
// lowest ones but for those that took no part since the sample lost some. Keys are
// hashes, so the sample is an even one.
type documents struct {
	count  uint64
	sample []byte // key behind key; not to be changed
}

func (d documents) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, valueVersion), d.count)
	return append(b, d.sample...)
}

// decodeDocuments reads what is kept of a host's documents; of no value there are none. It
// shares memory with b.
func decodeDocuments(b []byte) (documents, error) {
	if b == nil {
		return documents{}, nil
	}
	r := newReader(b)
	d := documents{count: r.uvarint()}
	d.sample = r.bytes(uint64(len(r.b)))
	switch n := d.len(); {
	case r.err != nil:
	case d.count == 0:
		r.fail(errors.New("a host with no documents"))
	case len(d.sample)%keyLen != 0 || n > scheduler.DocumentSample || uint64(n) > d.count:
		r.fail(fmt.Errorf("a sample of %d bytes for %d documents", len(d.sample), d.count))
	default:
		for i := 1; i < n; i++ {
			if bytes.Compare(d.at(i-1), d.at(i)) >= 0 {
				r.fail(errors.New("a sample out of order"))
			}
		}
	}
	return d, r.end()
}

// len is the number of keys in the sample, at gives one.
func (d documents) len() int        { return len(d.sample) / keyLen }
func (d documents) at(i int) []byte { return d.sample[i*keyLen : (i+1)*keyLen] }

// find gives the place of a key in the sample, or where it belongs.
func (d documents) find(k weburl.Key) (i int, ok bool) {
	i = sort.Search(d.len(), func(i int) bool { return bytes.Compare(d.at(i), k[:]) >= 0 })
	return i, i < d.len() && bytes.Equal(d.at(i), k[:])
}

// offer takes the key of a document into the sample if it belongs there.
func (d documents) offer(k weburl.Key) documents {
	i, ok := d.find(k)
	if ok || i == scheduler.DocumentSample {
		return d
	}
	sample := make([]byte, 0, (d.len()+1)*keyLen)
	sample = append(append(append(sample, d.sample[:i*keyLen]...), k[:]...), d.sample[i*keyLen:]...)
	d.sample = sample[:min(len(sample), scheduler.DocumentSample*keyLen)]
	return d
}

// drop takes a key out of the sample.
func (d documents) drop(k weburl.Key) documents {
	if i, ok := d.find(k); ok {
		d.sample = slices.Concat(d.sample[:i*keyLen], d.sample[(i+1)*keyLen:])
	}
	return d
}

// lacks says that the sample lost keys and could have more.
func (d documents) lacks() bool {
	return uint64(d.len()) < min(d.count, scheduler.DocumentSample)
}

// host is what a scheduler.Store tells of it.
func (d documents) host() scheduler.HostDocuments {
	docs := scheduler.HostDocuments{Count: d.count}
	for i := range d.len() {
		docs.Sample = append(docs.Sample, weburl.Key(d.at(i)))
	}
	return docs
}
