// Package record holds the store's format: its keys, and the encodings of their values. It is pure: no goroutine, no
// lock, no file and no Badger. A decoded value shares memory with its bytes only where documented. Changes of the
// format are made here and need a new number in store.Format, since no other format is read.
//
// The first byte of a key is its kind; numbers are big endian, so that keys sort as
// their numbers do.
//
//	u KEY               record of a URL, with the links of the page
//	q SOURCE HOST SEQ   chunk of a queue: the KEYs of SEQ to SEQ+31, of a commit
//	p SOURCE HOST       a queue's state: how many URLs, a number that none is below, and what is done of its chunks
//	t TIME KEY          a timed URL: empty
//	o HOST              origin of each host ever seen
//	h HOST              scheduler.HostState
//	v SCOPE NAME        a named value, see scheduler.ValueName
//	k HOST              documents of a host: how many, and some of their keys
//	w SEQ KEY           waiting order: op, URL, source, and a deletion's body or where a document's is
//	y HOST SEQ KEY      pending loss of a host, the same form
//	z EDIT SEQ KEY      pending loss of an edit of the rules, the same form
//	b KEY               where the URL's waiting order is: w, SEQ, and of its body length and segment
//	j KEY               where the URL's pending loss is: y or z, the group, and the same
//	n SEGMENT           segment file of bodies: how many are needed, their bytes, its length
//	d TARGET 0 KEY      dead letter of a target
//	c TARGET            cursor of a target: SEQ
//	g SEQ KEY           note of a URL that was removed, for the fingerprints: empty
//	e KEY               scheduler.Gone, for as long as that is kept
//	s                   the file of fingerprints that belongs to this state
//	f                   format version
//	m                   counters, with every commit
//
// KEY is weburl.Key and HOST weburl.HostKey; both begin with a hash of the host, so URLs of a site are adjacent. SOURCE
// is one byte, SEQ and EDIT are 8 bytes, TIME 8 bytes of nanoseconds since 1970. Orders in all states are numbered by
// one counter. A page without news writes u, p and t; each new link writes u, q and p; an order w and b; a page that
// becomes a document, or ceases to be one, k. A p, k or q that many pages of a batch change is written once, and a q is
// removed when all URLs in it are done.
package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Kinds of keys, see the package comment.
const (
	KindURL      = 'u'
	KindQueue    = 'q'
	KindTimed    = 't'
	KindOrigin   = 'o'
	KindHost     = 'h'
	KindValue    = 'v'
	KindOrder    = 'w'
	KindWaiting  = 'b'
	KindHostLoss = 'y'
	KindEditLoss = 'z'
	KindDeletion = 'j'
	KindDocs     = 'k'
	KindDead     = 'd'
	KindCursor   = 'c'
	KindPlace    = 'p'
	KindRemoval  = 'g'
	KindSegment  = 'n'
	KindGone     = 'e'
	KindSaved    = 's'
)

// Lengths of keys.
const (
	KeyLen  = len(weburl.Key{})
	hostLen = len(weburl.HostKey{})
	SeqLen  = 8

	URLKeyLen     = 1 + KeyLen
	HostKeyLen    = 1 + hostLen
	QueueKeyLen   = 1 + 1 + hostLen + SeqLen
	TimedKeyLen   = 1 + SeqLen + KeyLen
	OrderKeyLen   = 1 + SeqLen + KeyLen
	pendingKeyLen = 1 + hostLen + SeqLen + KeyLen
	PlaceKeyLen   = 1 + 1 + hostLen
	RemovalKeyLen = 1 + SeqLen + KeyLen
	SegmentKeyLen = 1 + SeqLen
)

// ErrLength is the error for a key or value with a length that its kind never has.
var ErrLength = errors.New("it has the wrong length")

// FormatKey returns the key of the format version: one byte.
func FormatKey() []byte { return []byte{'f'} }

// CountersKey returns the key of Counters.
func CountersKey() []byte { return []byte{'m'} }

// SavedKey returns the key of Saved.
func SavedKey() []byte { return []byte{KindSaved} }

// SegmentKey returns the key of a Segment.
func SegmentKey(n uint64) []byte { return OrderSeek(KindSegment, n) }

func keyOf(kind byte, id []byte) []byte {
	b := make([]byte, 1, URLKeyLen)
	b[0] = kind
	return append(b, id...)
}

// URLKey returns the key of a URL's record.
func URLKey(k weburl.Key) []byte { return keyOf(KindURL, k[:]) }

// WaitingKey returns the key of the OrderPlace of a URL's waiting order.
func WaitingKey(k weburl.Key) []byte { return keyOf(KindWaiting, k[:]) }

// DeletionKey returns the key of the OrderPlace of a URL's pending loss.
func DeletionKey(k weburl.Key) []byte { return keyOf(KindDeletion, k[:]) }

// GoneKey returns the key of a URL's scheduler.Gone.
func GoneKey(k weburl.Key) []byte { return keyOf(KindGone, k[:]) }

// DocumentsKey returns the key of a host's Documents.
func DocumentsKey(h weburl.HostKey) []byte { return keyOf(KindDocs, h[:]) }

// OriginKey returns the key of a host's origin.
func OriginKey(h weburl.HostKey) []byte { return keyOf(KindOrigin, h[:]) }

// HostKey returns the key of a scheduler.HostState.
func HostKey(h weburl.HostKey) []byte { return keyOf(KindHost, h[:]) }

// ValueKey returns the key of a named value.
func ValueKey(name scheduler.ValueName) []byte { return name.Append([]byte{KindValue}) }

// CursorKey returns the key of a target's cursor, see EncodeSeq.
func CursorKey(target string) []byte { return append([]byte{KindCursor}, target...) }

// DeadPrefix returns the prefix of the keys of a target's dead letters.
func DeadPrefix(target string) []byte { return append(append([]byte{KindDead}, target...), 0) }

// DeadKey returns the key of a Dead.
func DeadKey(target string, k weburl.Key) []byte { return append(DeadPrefix(target), k[:]...) }

// SplitDeadKey reads the key of a dead letter.
func SplitDeadKey(b []byte) (target string, k weburl.Key, err error) {
	n := len(b) - KeyLen - 1
	if n < 2 || b[n] != 0 {
		return "", k, ErrLength
	}
	return string(b[1:n]), weburl.Key(b[n+1:]), nil
}

// SortableTime returns t in nanoseconds since 1970, limited to 64 bits.
func SortableTime(t time.Time) uint64 {
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

// TimedKey returns the key of a timed URL.
func TimedKey(at time.Time, k weburl.Key) []byte {
	b := make([]byte, 1, TimedKeyLen)
	b[0] = KindTimed
	b = binary.BigEndian.AppendUint64(b, SortableTime(at))
	return append(b, k[:]...)
}

// SplitTimedKey splits a key of TimedKeyLen bytes.
func SplitTimedKey(b []byte) (at uint64, k weburl.Key) {
	return binary.BigEndian.Uint64(b[1:]), weburl.Key(b[1+SeqLen:])
}

// pendingKey returns the key of a pending loss; kind is KindHostLoss or KindEditLoss.
func pendingKey(kind byte, id Group, seq uint64, k weburl.Key) []byte {
	b := append(make([]byte, 0, pendingKeyLen), kind)
	b = binary.BigEndian.AppendUint64(append(b, id[:]...), seq)
	return append(b, k[:]...)
}

// PendingPrefix returns the prefix of a group's keys.
func PendingPrefix(p OrderPlace) []byte { return append([]byte{p.Kind}, p.Group[:]...) }

// OrderKey returns the key of an order, or of a note of the same form.
func OrderKey(kind byte, seq uint64, k weburl.Key) []byte {
	b := make([]byte, 1, OrderKeyLen)
	b[0] = kind
	b = binary.BigEndian.AppendUint64(b, seq)
	return append(b, k[:]...)
}

// OrderSeek returns the first key of the orders with this seq or a higher one.
func OrderSeek(kind byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, seq)
}

// SplitOrderKey splits a key of OrderKeyLen bytes.
func SplitOrderKey(b []byte) (seq uint64, k weburl.Key) {
	return binary.BigEndian.Uint64(b[1:]), weburl.Key(b[1+SeqLen:])
}

// PlaceKey returns the key of a Queue.
func PlaceKey(p scheduler.Place) []byte {
	b := make([]byte, 2, PlaceKeyLen)
	b[0], b[1] = KindPlace, byte(p.Source)
	return append(b, p.Host[:]...)
}

// SplitPlaceKey splits a key of PlaceKeyLen bytes.
func SplitPlaceKey(b []byte) scheduler.Place {
	return scheduler.Place{Source: scheduler.Source(b[1]), Host: weburl.HostKey(b[2:])}
}

// RemovalKey returns the note that the URL was the n-th to be removed.
func RemovalKey(n uint64, k weburl.Key) []byte { return OrderKey(KindRemoval, n, k) }

// RemovalSeek returns the first key of the notes from the n-th on.
func RemovalSeek(n uint64) []byte { return OrderSeek(KindRemoval, n) }

// SplitRemovalKey splits a key of RemovalKeyLen bytes.
func SplitRemovalKey(b []byte) (n uint64, k weburl.Key) { return SplitOrderKey(b) }

// EncodeSeq encodes a target's cursor.
func EncodeSeq(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// DecodeSeq decodes the output of EncodeSeq.
func DecodeSeq(b []byte) (uint64, error) {
	if len(b) != SeqLen {
		return 0, fmt.Errorf("sequence number of %d bytes, want %d", len(b), SeqLen)
	}
	return binary.BigEndian.Uint64(b), nil
}
