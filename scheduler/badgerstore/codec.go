package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// recordVersion is the first byte of each stored value that has a form of its
// own; another one was written by another version of the program.
const recordVersion = 1

// hostVersion is that of a host's state. Those of format 1 have recordVersion and
// lack all that stands behind the first time.
const hostVersion = 2

var errShort = errors.New("value ends too early")

// Flags of a record.
const (
	flagRoot = 1 << iota
	flagIndexed
	flagSettled
	flagHash
	flagNextAt
	flagFirstErrorAt
	flagFetchedAt
	flagOriginInURL // the origin is the URL's beginning: only its length is stored
	flagRules       // these two fields are younger than the format
	flagSpelling
	flagCheckedAt // so are these two
	flagHistory
	flagKind // younger still
	flagDirectives
	flagUnavailableAt
	flagSimhash
	flagTrace // and this the youngest
	flagsEnd
)

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendTime(b []byte, t time.Time) []byte {
	b = binary.AppendVarint(b, t.Unix())
	return binary.AppendUvarint(b, uint64(t.Nanosecond()))
}

// reader takes a value apart. The first fault stays; what is read after it is zero.
type reader struct {
	b   []byte
	err error
}

func newReader(b []byte) *reader {
	r := &reader{b: b}
	if v := r.byte(); r.err == nil && v != recordVersion {
		r.err = fmt.Errorf("value has version %d, this program knows %d", v, recordVersion)
	}
	return r
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(errShort)
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) enum(what string, end byte) byte {
	v := r.byte()
	if v >= end {
		r.fail(fmt.Errorf("%s %d is not known", what, v))
		return 0
	}
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) string() string { return string(r.bytes(r.uvarint())) }

func (r *reader) time() time.Time {
	sec, nsec := r.varint(), r.uvarint()
	if nsec >= uint64(time.Second) {
		r.fail(fmt.Errorf("%d nanoseconds are more than a second", nsec))
	}
	if r.err != nil {
		return time.Time{}
	}
	return time.Unix(sec, int64(nsec)).UTC()
}

// end is the fault of the whole value; bytes left over are one.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes too many in value", len(r.b))
	}
	return r.err
}

func recordFlags(rec *scheduler.Record) uint64 {
	var f uint64
	for _, s := range [...]struct {
		set  bool
		flag uint64
	}{
		{rec.Root, flagRoot},
		{rec.Indexed, flagIndexed},
		{rec.Settled, flagSettled},
		{rec.Hash != [16]byte{}, flagHash},
		{!rec.NextAt.IsZero(), flagNextAt},
		{!rec.FirstErrorAt.IsZero(), flagFirstErrorAt},
		{!rec.FetchedAt.IsZero(), flagFetchedAt},
		{strings.HasPrefix(rec.URL, rec.Origin), flagOriginInURL},
		{rec.RulesVersion != 0, flagRules},
		{rec.HostSpelling != "", flagSpelling},
		{!rec.CheckedAt.IsZero(), flagCheckedAt},
		{rec.History != scheduler.History{}, flagHistory},
		{rec.Kind != scheduler.KindPage, flagKind},
		{rec.Directives != 0, flagDirectives},
		{!rec.UnavailableAt.IsZero(), flagUnavailableAt},
		{rec.Simhash != 0, flagSimhash},
		{traced(rec) != 0, flagTrace},
	} {
		if s.set {
			f |= s.flag
		}
	}
	return f
}

// appendRecord writes rec behind b; times keep their nanoseconds and lose their zone.
func appendRecord(b []byte, rec *scheduler.Record) []byte {
	f := recordFlags(rec)
	b = append(b, recordVersion, byte(rec.State), byte(rec.Class), byte(rec.Source), byte(rec.Fifo))
	b = binary.AppendUvarint(b, uint64(rec.Depth))
	b = binary.AppendUvarint(b, f)
	b = binary.AppendUvarint(b, rec.Seq)
	b = append(b, rec.Host[:]...)
	b = appendString(b, rec.URL)
	if f&flagOriginInURL != 0 {
		b = binary.AppendUvarint(b, uint64(len(rec.Origin)))
	} else {
		b = appendString(b, rec.Origin)
	}
	b = append(b, byte(rec.Shift), rec.Hops)
	b = binary.AppendVarint(b, int64(rec.Status))
	b = binary.AppendVarint(b, int64(rec.Errors))
	b = binary.AppendVarint(b, int64(rec.Interval))
	for _, t := range [...]struct {
		flag uint64
		at   time.Time
	}{{flagNextAt, rec.NextAt}, {flagFirstErrorAt, rec.FirstErrorAt}, {flagFetchedAt, rec.FetchedAt}} {
		if f&t.flag != 0 {
			b = appendTime(b, t.at)
		}
	}
	if f&flagHash != 0 {
		b = append(b, rec.Hash[:]...)
	}
	if f&flagRules != 0 {
		b = binary.LittleEndian.AppendUint64(b, rec.RulesVersion)
	}
	if f&flagSpelling != 0 {
		b = appendString(b, rec.HostSpelling)
	}
	if f&flagCheckedAt != 0 {
		b = appendTime(b, rec.CheckedAt)
	}
	if f&flagHistory != 0 {
		b = appendHistory(b, &rec.History)
	}
	if f&flagKind != 0 {
		b = append(b, byte(rec.Kind))
	}
	b = appendReading(b, f, rec)
	for _, s := range [...]string{rec.Referrer, rec.LastError, rec.ETag, rec.LastModified, rec.Date,
		rec.PushedSource, rec.RedirectTo, rec.DuplicateOf} {
		b = appendString(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(rec.Aliases)))
	for _, a := range rec.Aliases {
		b = appendString(b, a)
	}
	return b
}

// decodeRecord reads what appendRecord wrote. It shares no memory with b.
func decodeRecord(b []byte) (scheduler.Record, error) {
	var rec scheduler.Record
	r := newReader(b)
	rec.State = scheduler.State(r.enum("state", byte(scheduler.AtRest)+1))
	rec.Class = scheduler.Class(r.enum("class", byte(classes)))
	rec.Source = scheduler.Source(r.enum("source", scheduler.Sources))
	rec.Fifo = scheduler.Source(r.enum("fifo", scheduler.Sources))
	depth, f := r.uvarint(), r.uvarint()
	if depth > 1<<16-1 {
		r.fail(fmt.Errorf("depth %d is above 65535", depth))
	}
	if f >= flagsEnd {
		r.fail(fmt.Errorf("flags %#x are not known", f))
	}
	rec.Depth = uint16(depth)
	rec.Root, rec.Indexed, rec.Settled = f&flagRoot != 0, f&flagIndexed != 0, f&flagSettled != 0
	rec.Seq = r.uvarint()
	copy(rec.Host[:], r.bytes(uint64(hostLen)))
	rec.URL = r.string()
	if f&flagOriginInURL == 0 {
		rec.Origin = r.string()
	} else if n := r.uvarint(); n <= uint64(len(rec.URL)) {
		rec.Origin = rec.URL[:n]
	} else {
		r.fail(errShort)
	}
	decodeHistory(r, f, &rec)
	return rec, r.end()
}

// decodeHistory reads the part of a record that comes from fetching it.
func decodeHistory(r *reader, f uint64, rec *scheduler.Record) {
	rec.Shift, rec.Hops = int8(r.byte()), r.byte()
	rec.Status, rec.Errors = int(r.varint()), int(r.varint())
	rec.Interval = time.Duration(r.varint())
	for _, t := range [...]struct {
		flag uint64
		at   *time.Time
	}{{flagNextAt, &rec.NextAt}, {flagFirstErrorAt, &rec.FirstErrorAt}, {flagFetchedAt, &rec.FetchedAt}} {
		if f&t.flag != 0 {
			*t.at = r.time()
		}
	}
	if f&flagHash != 0 {
		copy(rec.Hash[:], r.bytes(uint64(len(rec.Hash))))
	}
	if f&flagRules != 0 {
		if b := r.bytes(8); b != nil {
			rec.RulesVersion = binary.LittleEndian.Uint64(b)
		}
	}
	if f&flagSpelling != 0 {
		rec.HostSpelling = r.string()
	}
	if f&flagCheckedAt != 0 {
		rec.CheckedAt = r.time()
	}
	if f&flagHistory != 0 {
		rec.History = r.history()
	}
	if f&flagKind != 0 {
		rec.Kind = scheduler.Kind(r.enum("kind", byte(scheduler.Kinds)))
	}
	r.reading(f, rec)
	for _, s := range [...]*string{&rec.Referrer, &rec.LastError, &rec.ETag, &rec.LastModified, &rec.Date,
		&rec.PushedSource, &rec.RedirectTo, &rec.DuplicateOf} {
		*s = r.string()
	}
	n := r.uvarint()
	if n > uint64(len(r.b)) { // each alias takes a byte at least
		r.fail(errShort)
		return
	}
	for range n {
		rec.Aliases = append(rec.Aliases, r.string())
	}
}

// appendReading writes what a page said when it was read.
func appendReading(b []byte, f uint64, rec *scheduler.Record) []byte {
	if f&flagDirectives != 0 {
		b = append(b, byte(rec.Directives))
	}
	if f&flagUnavailableAt != 0 {
		b = appendTime(b, rec.UnavailableAt)
	}
	if f&flagSimhash != 0 {
		b = binary.LittleEndian.AppendUint64(b, rec.Simhash)
	}
	if f&flagTrace != 0 {
		b = appendTrace(b, rec)
	}
	return b
}

func (r *reader) reading(f uint64, rec *scheduler.Record) {
	if f&flagDirectives != 0 {
		rec.Directives = scheduler.Directives(r.byte())
	}
	if f&flagUnavailableAt != 0 {
		rec.UnavailableAt = r.time()
	}
	if f&flagSimhash != 0 {
		if b := r.bytes(8); b != nil {
			rec.Simhash = binary.LittleEndian.Uint64(b)
		}
	}
	if f&flagTrace != 0 {
		r.trace(rec)
	}
}

func appendHistory(b []byte, h *scheduler.History) []byte {
	b = binary.AppendUvarint(b, uint64(h.Checks))
	b = binary.AppendUvarint(b, uint64(h.Changes))
	b = binary.AppendVarint(b, int64(h.Quiet))
	return binary.AppendVarint(b, int64(h.Busy))
}

func (r *reader) history() scheduler.History {
	checks, changes := r.uvarint(), r.uvarint()
	if max(checks, changes) > math.MaxUint32 {
		r.fail(fmt.Errorf("%d checks and %d changes are too many", checks, changes))
	}
	return scheduler.History{
		Checks: uint32(checks), Changes: uint32(changes),
		Quiet: time.Duration(r.varint()), Busy: time.Duration(r.varint()),
	}
}
