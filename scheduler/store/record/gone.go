package record

import (
	"encoding/binary"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Form: version, fault, whether there was a document, reason, four times, two varints,
// four texts.

// AppendGone appends the trace of a forgotten URL to b.
func AppendGone(b []byte, left *scheduler.Gone) []byte {
	b = append(b, valueVersion, byte(left.Fault), flag(left.Indexed), byte(left.Reason))
	for _, t := range [...]time.Time{left.At, left.Since, left.GoodAt, left.FoundAt} {
		b = appendTime(b, t)
	}
	b = binary.AppendVarint(b, int64(left.Visits))
	b = binary.AppendVarint(b, int64(left.Status))
	for _, s := range [...]string{left.URL, left.Words, left.Referrer, left.Source} {
		b = appendString(b, s)
	}
	return b
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// DecodeGone decodes the output of AppendGone.
func DecodeGone(b []byte) (left scheduler.Gone, err error) {
	r := newReader(b)
	left.Fault, left.Indexed, left.Reason = fault.Fault(r.byte()), r.byte() != 0, r.reason()
	for _, t := range [...]*time.Time{&left.At, &left.Since, &left.GoodAt, &left.FoundAt} {
		*t = r.time()
	}
	left.Visits, left.Status = int(r.varint()), int(r.varint())
	for _, s := range [...]*string{&left.URL, &left.Words, &left.Referrer, &left.Source} {
		*s = r.string()
	}
	return left, r.end()
}

// Expires returns when a key may be dropped, in seconds since 1970; 0: never.
func Expires(key, value []byte) uint64 {
	if key[0] != KindGone {
		return 0
	}
	left, err := DecodeGone(value)
	if err != nil {
		return 0 // reading it is an error
	}
	return uint64(max(left.At.Add(scheduler.GoneFor).Unix(), 1))
}
