package badgerstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/fault"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// trace stores what a completion leaves for reports. keys are those of its links.
func (g *group) trace(c *scheduler.Completion, keys []weburl.Key) error {
	switch c.Outlinks {
	case scheduler.ReplaceOutlinks:
		keys = keys[:min(len(keys), scheduler.MaxOutlinks)]
		prints := scheduler.LinkPrints(g.scratch[:0])
		for _, k := range keys {
			prints = prints.AppendPrint(k)
		}
		g.scratch = prints
		if len(prints) >= byReference {
			g.scratch = nil // the batch holds it
		}
		g.set(keyOf(kindLinks, c.Key[:]), prints)
	case scheduler.DropOutlinks:
		g.remove(keyOf(kindLinks, c.Key[:]))
	}
	return g.leave(c.Key, c.Gone)
}

// leave stores what is left of a URL that is forgotten, if that is not nil.
func (g *group) leave(k weburl.Key, gone *scheduler.Gone) error {
	if gone == nil {
		return nil
	}
	left, key := *gone, keyOf(kindGone, k[:])
	v, err := g.get(key)
	if err != nil {
		return err
	}
	if v != nil {
		before, err := decodeGone(v)
		if err != nil {
			return g.s.damaged("what is left of URL "+k.String(), err)
		}
		left = left.After(before)
	}
	g.set(key, appendGone(nil, &left))
	return nil
}

// Outlinks calls fn for the links of each page from a key on, in order of keys. fn must
// not keep links.
func (s *Store) Outlinks(ctx context.Context, from weburl.Key, fn func(page weburl.Key, links scheduler.LinkPrints) error) error {
	return s.view(ctx, func(txn *badger.Txn) error {
		return s.walk(ctx, txn, []byte{kindLinks}, keyOf(kindLinks, from[:]), true, func(item *badger.Item) error {
			if len(item.Key()) != urlKeyLen {
				return s.damaged(fmt.Sprintf("key %x", item.Key()), errLength)
			}
			var caller error
			err := valueOf(item, func(v []byte) error {
				if links := scheduler.LinkPrints(v); links.Valid() {
					caller = fn(weburl.Key(item.Key()[1:]), links)
					return nil
				}
				return errLength
			})
			if err != nil {
				return s.damaged(fmt.Sprintf("links of URL %x", item.Key()[1:]), err)
			}
			return caller
		})
	})
}

// Gone calls fn for what is left of each URL from a key on that was forgotten after an
// error, in order of keys. The URL may be known again.
func (s *Store) Gone(ctx context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error {
	return s.view(ctx, func(txn *badger.Txn) error {
		return s.walk(ctx, txn, []byte{kindGone}, keyOf(kindGone, from[:]), true, func(item *badger.Item) error {
			if len(item.Key()) != urlKeyLen {
				return s.damaged(fmt.Sprintf("key %x", item.Key()), errLength)
			}
			var left scheduler.Gone
			err := valueOf(item, func(v []byte) (err error) {
				left, err = decodeGone(v)
				return err
			})
			if err != nil {
				return s.damaged(fmt.Sprintf("what is left of URL %x", item.Key()[1:]), err)
			}
			return fn(weburl.Key(item.Key()[1:]), left)
		})
	})
}

// goneVersion is that of a scheduler.Gone. Those of formats 1 to 3 have valueVersion and
// lack the reason.
const goneVersion = 2

func appendGone(b []byte, left *scheduler.Gone) []byte {
	b = append(b, goneVersion, byte(left.Fault), flag(left.Indexed), byte(left.Reason))
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

func decodeGone(b []byte) (left scheduler.Gone, err error) {
	r := &reader{b: b}
	version := r.byte()
	if r.err == nil && version != valueVersion && version != goneVersion {
		r.fail(fmt.Errorf("value has version %d, this program knows %d and %d", version, valueVersion, goneVersion))
	}
	left.Fault, left.Indexed = fault.Fault(r.byte()), r.byte() != 0
	if version == goneVersion {
		left.Reason = r.reason()
	}
	for _, t := range [...]*time.Time{&left.At, &left.Since, &left.GoodAt, &left.FoundAt} {
		*t = r.time()
	}
	left.Visits, left.Status = int(r.varint()), int(r.varint())
	for _, s := range [...]*string{&left.URL, &left.Words, &left.Referrer, &left.Source} {
		*s = r.string()
	}
	if version == valueVersion && r.err == nil {
		left.Reason = scheduler.OldFailure(left.Fault, left.Status, left.Words)
	}
	return left, r.end()
}

// goneUntil is when what is left of a URL is dropped, in seconds since 1970.
func goneUntil(v []byte) uint64 {
	left, err := decodeGone(v)
	if err != nil {
		return 0 // never; who reads it is told
	}
	return uint64(max(left.At.Add(scheduler.GoneFor).Unix(), 1))
}

// What a record has of its trace.
const (
	traceFound = 1 << iota
	traceClass
	traceChanged
	traceWas
	traceFault
	traceType
	traceLinked
	traceEntered
)

// mediaTypes are the common ones: a record has their number, from 1 on. New ones go to the end.
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

// traced says which parts of its trace a record has.
func traced(rec *scheduler.Record) (f byte) {
	for i, set := range [...]bool{
		!rec.FoundAt.IsZero(), !rec.ClassAt.IsZero(), !rec.ChangedAt.IsZero(),
		rec.Was != 0, rec.Fault != 0, rec.MediaType != "", rec.Linked, rec.Entered,
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
			r.fail(fmt.Errorf("media type %d is not known", n))
		case n > 0:
			rec.MediaType = mediaTypes[n-1]
		default:
			rec.MediaType = r.string()
		}
	}
	rec.Linked, rec.Entered = f&traceLinked != 0, f&traceEntered != 0
}

// links verifies the links of a page.
func (v *verification) links(item *badger.Item) error {
	if len(item.Key()) != urlKeyLen {
		return errLength
	}
	k := weburl.Key(item.Key()[1:])
	switch _, err := v.txn.Get(urlKey(k)); {
	case errors.Is(err, badger.ErrKeyNotFound):
		v.fault("", "links of %s are stored, which is not known", k)
	case err != nil:
		return err
	}
	return valueOf(item, func(b []byte) error {
		if !scheduler.LinkPrints(b).Valid() {
			return errLength
		}
		return nil
	})
}

// left verifies what is left of a URL.
func (v *verification) left(item *badger.Item) error {
	if len(item.Key()) != urlKeyLen {
		return errLength
	}
	return valueOf(item, func(b []byte) error {
		left, err := decodeGone(b)
		if u, ok := weburl.FromCanonical(left.URL); err == nil && (!ok || u.Key() != weburl.Key(item.Key()[1:])) {
			v.fault(left.URL, "what is left of it is stored under the key of another URL")
		}
		return err
	})
}
