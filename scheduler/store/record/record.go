package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Form: version, four bytes, depth and flags as uvarints, and then the fields of the flags, links first: a zero field
// takes no space.

// Flags of a record.
const (
	flagRoot = 1 << iota
	flagIndexed
	flagSettled
	flagHash
	flagNextAt
	flagFirstErrorAt
	flagFetchedAt
	flagOriginInURL // the origin is the start of the URL: only its length is stored
	flagRules
	flagSpelling
	flagCheckedAt
	flagHistory
	flagKind
	flagDirectives
	flagUnavailableAt
	flagTrace
	flagReason
	flagLossPending
	flagMisses
	flagGone
	flagFragment
	flagSignature
	flagLinks
	flagSketch
	flagLively
	flagLostAt
	flagBefore
	flagMetasHash
	flagsEnd
)

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
		{traced(rec) != 0, flagTrace},
		{rec.Reason != scheduler.NoReason, flagReason},
		{rec.LossPending, flagLossPending},
		{rec.Misses != 0, flagMisses},
		{rec.Gone, flagGone},
		{rec.Fragment != "", flagFragment},
		{rec.Signature != "" || rec.Overlap != 0, flagSignature},
		{rec.Linked, flagLinks},
		{!rec.Sketch.IsZero() || rec.Reading != 0, flagSketch},
		{rec.Lively != 0, flagLively},
		{!rec.LostAt.IsZero(), flagLostAt},
		{!rec.Before.IsZero(), flagBefore},
		{rec.MetasHash != 0, flagMetasHash},
	} {
		if s.set {
			f |= s.flag
		}
	}
	return f
}

// Append appends rec to b, with its links if it is Linked; times keep their nanoseconds and lose their zone.
func Append(b []byte, rec *scheduler.Record, links scheduler.LinkPrints) []byte {
	f := recordFlags(rec)
	b = append(b, valueVersion, byte(rec.State), byte(rec.Class), byte(rec.Source), byte(rec.Fifo))
	b = binary.AppendUvarint(b, uint64(rec.Depth))
	b = binary.AppendUvarint(b, f)
	if f&flagLinks != 0 {
		b = append(binary.AppendUvarint(b, uint64(links.Len())), links...)
	}
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

// Decode decodes the output of Append. The result shares no memory with b.
func Decode(b []byte) (scheduler.Record, error) {
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
		r.fail(fmt.Errorf("unknown flags %#x", f))
	}
	rec.Depth = uint16(depth)
	rec.Root, rec.Indexed, rec.Settled = f&flagRoot != 0, f&flagIndexed != 0, f&flagSettled != 0
	rec.Gone, rec.Linked, rec.LossPending = f&flagGone != 0, f&flagLinks != 0, f&flagLossPending != 0
	r.links(f)
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
	decodeHistory(&r, f, &rec)
	return rec, r.end()
}

// decodeHistory decodes the part of a record that comes from fetching it.
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

// appendReading appends what was read from the page.
func appendReading(b []byte, f uint64, rec *scheduler.Record) []byte {
	if f&flagDirectives != 0 {
		b = append(b, byte(rec.Directives))
	}
	if f&flagUnavailableAt != 0 {
		b = appendTime(b, rec.UnavailableAt)
	}
	if f&flagTrace != 0 {
		b = appendTrace(b, rec)
	}
	if f&flagReason != 0 {
		b = append(b, byte(rec.Reason))
	}
	if f&flagMisses != 0 {
		b = append(b, rec.Misses)
	}
	if f&flagFragment != 0 {
		b = appendString(b, rec.Fragment)
	}
	if f&flagSignature != 0 {
		b = append(b, rec.Overlap)
		b = appendString(b, rec.Signature)
	}
	if f&flagSketch != 0 {
		b = rec.Sketch.Append(binary.LittleEndian.AppendUint16(b, rec.Reading))
	}
	if f&flagLively != 0 {
		b = append(b, rec.Lively)
	}
	if f&flagLostAt != 0 {
		b = appendSeconds(b, rec.LostAt)
	}
	if f&flagBefore != 0 {
		b = rec.Before.Append(b)
	}
	if f&flagMetasHash != 0 {
		b = binary.LittleEndian.AppendUint32(b, rec.MetasHash)
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
	if f&flagTrace != 0 {
		r.trace(rec)
	}
	if f&flagReason != 0 {
		rec.Reason = r.reason()
	}
	if f&flagMisses != 0 {
		rec.Misses = r.byte()
	}
	if f&flagFragment != 0 {
		rec.Fragment = r.string()
	}
	if f&flagSignature != 0 {
		rec.Overlap, rec.Signature = r.byte(), r.string()
	}
	if f&flagSketch != 0 {
		if b := r.bytes(2); b != nil {
			rec.Reading = binary.LittleEndian.Uint16(b)
		}
		rec.Sketch = r.sketch()
	}
	if f&flagLively != 0 {
		rec.Lively = r.byte()
	}
	if f&flagLostAt != 0 {
		rec.LostAt = r.seconds()
	}
	if f&flagBefore != 0 {
		rec.Before = r.sketch()
	}
	if f&flagMetasHash != 0 {
		if b := r.bytes(4); b != nil {
			rec.MetasHash = binary.LittleEndian.Uint32(b)
		}
	}
}

// reason reads a Reason.
func (r *reader) reason() scheduler.Reason {
	n := scheduler.Reason(r.byte())
	if !n.Known() {
		r.fail(fmt.Errorf("unknown %s", n))
		return scheduler.NoReason
	}
	return n
}

// Links returns the links that a stored record has, nil if it has none. It shares memory with b.
func Links(b []byte) (scheduler.LinkPrints, error) {
	r := newReader(b)
	r.bytes(4) // state, class and sources
	r.uvarint()
	links := r.links(r.uvarint())
	return links, r.err
}

// links reads the links of a record with these flags.
func (r *reader) links(f uint64) scheduler.LinkPrints {
	if f&flagLinks == 0 {
		return nil
	}
	n := r.uvarint()
	if n > uint64(len(r.b))/scheduler.LinkPrintLen {
		r.fail(errShort)
		return nil
	}
	return scheduler.LinkPrints(r.bytes(n * scheduler.LinkPrintLen))
}

// IsGone reports whether a stored record has Record.Gone, without reading all of it.
func IsGone(b []byte) bool {
	r := newReader(b)
	r.bytes(4) // state, class and sources
	r.uvarint()
	return r.uvarint()&flagGone != 0
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
