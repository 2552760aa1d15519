package record

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Flags of a record's trace.
const (
	traceFound = 1 << iota
	traceClass
	traceChanged
	traceWas
	traceFault
	traceType
	traceEntered
)

// mediaTypes are the common ones: a record stores their number, from 1 on. New ones go to the end.
var mediaTypes = [...]string{
	"text/html", "application/xhtml+xml", "text/plain", "application/pdf", "application/xml", "text/xml",
	"application/rss+xml", "application/atom+xml", "application/json", "text/css", "text/javascript", "application/javascript",
	"image/png", "image/jpeg", "image/gif", "image/svg+xml", "image/webp", "application/zip", "application/gzip", "application/octet-stream",
	"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/rtf", "text/markdown", "text/csv",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.presentation",
}

// traced returns the flags of the parts of its trace that a record has.
func traced(rec *scheduler.Record) (f byte) {
	for i, set := range [...]bool{
		!rec.FoundAt.IsZero(), !rec.ClassAt.IsZero(), !rec.ChangedAt.IsZero(),
		rec.Was != 0, rec.Fault != 0, rec.MediaType != "", rec.Entered,
	} {
		if set {
			f |= 1 << i
		}
	}
	return f
}

func appendTrace(b []byte, rec *scheduler.Record) []byte {
	f := traced(rec)
	b = append(b, f)
	for i, t := range [...]*time.Time{&rec.FoundAt, &rec.ClassAt, &rec.ChangedAt} {
		if f&(traceFound<<i) != 0 {
			b = appendTime(b, *t)
		}
	}
	if f&traceWas != 0 {
		b = append(b, byte(rec.Was))
	}
	if f&traceFault != 0 {
		b = append(b, byte(rec.Fault))
	}
	if f&traceType != 0 {
		n := slices.Index(mediaTypes[:], rec.MediaType) + 1
		b = append(b, byte(n))
		if n == 0 {
			b = appendString(b, rec.MediaType)
		}
	}
	return b
}

func (r *reader) trace(rec *scheduler.Record) {
	f := r.byte()
	if f == 0 {
		r.fail(errors.New("a trace without a part"))
	}
	for i, t := range [...]*time.Time{&rec.FoundAt, &rec.ClassAt, &rec.ChangedAt} {
		if f&(traceFound<<i) != 0 {
			*t = r.time()
		}
	}
	if f&traceWas != 0 {
		rec.Was = scheduler.Class(r.enum("class", byte(classes)))
	}
	if f&traceFault != 0 {
		rec.Fault = fault.Fault(r.byte())
	}
	if f&traceType != 0 {
		switch n := int(r.byte()); {
		case n > len(mediaTypes):
			r.fail(fmt.Errorf("unknown media type %d", n))
		case n > 0:
			rec.MediaType = mediaTypes[n-1]
		default:
			rec.MediaType = r.string()
		}
	}
	rec.Entered = f&traceEntered != 0
}
