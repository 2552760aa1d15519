package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The layout of the store. The first byte of a key is its kind; numbers are big
// endian, so that keys sort as their numbers do.
//
//	u KEY               record of a URL
//	q SOURCE HOST SEQ   a queue's entry: KEY
//	p SOURCE HOST       a queue's state: how many URLs, and a number that none is below
//	t TIME KEY          a timed URL: empty
//	o HOST              origin of each host ever seen
//	h HOST              scheduler.HostState
//	v NAME              a named value
//	k HOST              documents of a host: how many, and some of their keys
//	w SEQ KEY           waiting order: op, URL, source, and a deletion's body or where a document's is
//	x SEQ KEY           held deletion, the same form
//	y HOST SEQ KEY      resting deletion of a host, the same form
//	z EDIT SEQ KEY      resting deletion of an edit of the rules, the same form
//	b KEY               where the URL's waiting order is: w, SEQ, and of its body length and segment
//	j KEY               where the URL's deletion that rests or is held is: x, y or z, the group, SEQ
//	n SEGMENT           segment file of bodies: how many are needed, their bytes, its length
//	d TARGET 0 KEY      dead letter of a target
//	c TARGET            cursor of a target: SEQ
//	g SEQ KEY           note of a URL that was removed, for the fingerprints: empty
//	r KEY               links of a page: scheduler.LinkPrints
//	e KEY               scheduler.Gone, for as long as that is kept
//	s                   the file of fingerprints that belongs to this state
//	f                   format version
//	m                   counters, with every commit
//
// KEY is weburl.Key, HOST weburl.HostKey, SOURCE one byte, SEQ and EDIT 8 bytes, TIME 8
// bytes of nanoseconds since 1970. Orders in all states have their numbers from one
// counter. A page that brings nothing new writes u, q (removal), p and t; each new link
// writes u, q and p; an order w and b; a page that becomes a document, or is none any
// more, k. A p or k that many pages of a batch change is written once.
const (
	kindURL     = 'u'
	kindQueue   = 'q'
	kindTimed   = 't'
	kindOrigin  = 'o'
	kindHost    = 'h'
	kindValue   = 'v'
	kindOrder   = 'w'
	kindHeld    = 'x'
	kindByURL   = 'b'
	kindResting = 'y'
	kindEdit    = 'z'
	kindOfURL   = 'j'
	kindDocs    = 'k'
	kindDead    = 'd'
	kindCursor  = 'c'
	kindPlace   = 'p'
	kindRemoval = 'g'
	kindSegment = 'n'
	kindLinks   = 'r'
	kindGone    = 'e'
)

const (
	keyLen  = len(weburl.Key{})
	hostLen = len(weburl.HostKey{})
	seqLen  = 8

	urlKeyLen     = 1 + keyLen
	queueKeyLen   = 1 + 1 + hostLen + seqLen
	timedKeyLen   = 1 + seqLen + keyLen
	orderKeyLen   = 1 + seqLen + keyLen
	restingKeyLen = 1 + hostLen + seqLen + keyLen
	placeKeyLen   = 1 + 1 + hostLen
	removalKeyLen = 1 + seqLen + keyLen
	segmentKeyLen = 1 + seqLen
)

func formatKey() []byte   { return []byte{'f'} }
func countersKey() []byte { return []byte{'m'} }
func savedKey() []byte    { return []byte{'s'} }

// segmentKey is the key of a segment's state.
func segmentKey(n uint64) []byte { return orderSeek(kindSegment, n) }

func keyOf(kind byte, id []byte) []byte {
	b := make([]byte, 1, urlKeyLen)
	b[0] = kind
	return append(b, id...)
}

func urlKey(k weburl.Key) []byte            { return keyOf(kindURL, k[:]) }
func byURLKey(k weburl.Key) []byte          { return keyOf(kindByURL, k[:]) }
func deletionKey(k weburl.Key) []byte       { return keyOf(kindOfURL, k[:]) }
func documentsKey(h weburl.HostKey) []byte  { return keyOf(kindDocs, h[:]) }
func originKey(h weburl.HostKey) []byte     { return keyOf(kindOrigin, h[:]) }
func hostKey(h weburl.HostKey) []byte       { return keyOf(kindHost, h[:]) }
func valueKey(name string) []byte           { return append([]byte{kindValue}, name...) }
func cursorKey(target string) []byte        { return append([]byte{kindCursor}, target...) }
func deadPrefix(target string) []byte       { return append(append([]byte{kindDead}, target...), 0) }
func deadKey(t string, k weburl.Key) []byte { return append(deadPrefix(t), k[:]...) }

func placePrefix(s scheduler.Source, h weburl.HostKey) []byte {
	b := make([]byte, 0, queueKeyLen)
	b = append(b, kindQueue, byte(s))
	return append(b, h[:]...)
}

func queueKey(s scheduler.Source, h weburl.HostKey, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(placePrefix(s, h), seq)
}

// splitQueueKey reads a key of queueKeyLen bytes.
func splitQueueKey(b []byte) (s scheduler.Source, h weburl.HostKey, seq uint64) {
	return scheduler.Source(b[1]), weburl.HostKey(b[2 : 2+hostLen]), binary.BigEndian.Uint64(b[2+hostLen:])
}

// sortableTime is t in nanoseconds since 1970, held within what 64 bits can say.
func sortableTime(t time.Time) uint64 {
	const last = 1<<63 - 1
	switch s := t.Unix(); {
	case s < 0:
		return 0
	case s >= last/int64(time.Second):
		return last
	default:
		return uint64(t.UnixNano())
	}
}

func timedKey(at time.Time, k weburl.Key) []byte {
	b := make([]byte, 1, timedKeyLen)
	b[0] = kindTimed
	b = binary.BigEndian.AppendUint64(b, sortableTime(at))
	return append(b, k[:]...)
}

// splitTimedKey reads a key of timedKeyLen bytes.
func splitTimedKey(b []byte) (at uint64, k weburl.Key) {
	return binary.BigEndian.Uint64(b[1:]), weburl.Key(b[1+seqLen:])
}

// restingKey is the key of a deletion that rests; kind is kindResting or kindEdit.
func restingKey(kind byte, id groupID, seq uint64, k weburl.Key) []byte {
	b := append(make([]byte, 0, restingKeyLen), kind)
	b = binary.BigEndian.AppendUint64(append(b, id[:]...), seq)
	return append(b, k[:]...)
}

// restingPrefix is what the keys of a group begin with.
func restingPrefix(p orderPlace) []byte { return append([]byte{p.kind}, p.group[:]...) }

// splitDeletionKey reads the key of a deletion that rests or is held.
func splitDeletionKey(b []byte) (p orderPlace, k weburl.Key, err error) {
	p.kind = b[0]
	if p.kind == kindHeld && len(b) == orderKeyLen {
		p.seq, k = splitOrderKey(b)
		return p, k, nil
	}
	if !p.rests() || len(b) != restingKeyLen {
		return p, k, errLength
	}
	p.group = groupID(b[1:])
	p.seq, k = splitOrderKey(b[hostLen:])
	return p, k, nil
}

// orderKey is the key of an order; kind is kindOrder or kindHeld.
func orderKey(kind byte, seq uint64, k weburl.Key) []byte {
	b := make([]byte, 1, orderKeyLen)
	b[0] = kind
	b = binary.BigEndian.AppendUint64(b, seq)
	return append(b, k[:]...)
}

// orderSeek is where the orders with this seq or a higher one begin.
func orderSeek(kind byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, seq)
}

// splitOrderKey reads a key of orderKeyLen bytes.
func splitOrderKey(b []byte) (seq uint64, k weburl.Key) {
	return binary.BigEndian.Uint64(b[1:]), weburl.Key(b[1+seqLen:])
}

func placeKey(p scheduler.Place) []byte {
	b := make([]byte, 2, placeKeyLen)
	b[0], b[1] = kindPlace, byte(p.Source)
	return append(b, p.Host[:]...)
}

// splitPlaceKey reads a key of placeKeyLen bytes.
func splitPlaceKey(b []byte) scheduler.Place {
	return scheduler.Place{Source: scheduler.Source(b[1]), Host: weburl.HostKey(b[2:])}
}

// removalKey is the note that the URL was the n-th to be removed.
func removalKey(n uint64, k weburl.Key) []byte { return orderKey(kindRemoval, n, k) }

// removalSeek is where the notes from the n-th on begin.
func removalSeek(n uint64) []byte { return orderSeek(kindRemoval, n) }

// splitRemovalKey reads a key of removalKeyLen bytes.
func splitRemovalKey(b []byte) (n uint64, k weburl.Key) { return splitOrderKey(b) }

func encodeSeq(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

func decodeSeq(b []byte) (uint64, error) {
	if len(b) != seqLen {
		return 0, fmt.Errorf("sequence number of %d bytes, want %d", len(b), seqLen)
	}
	return binary.BigEndian.Uint64(b), nil
}

var errLength = errors.New("it has the wrong length")
