package copies

import (
	"slices"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// match is what a page was found to be: if why is not NoReason a copy of the original.
type match struct {
	original weburl.Key
	why      scheduler.Reason
	overlap  uint8
	indirect bool // it is like another copy of the original
}

// candidate is a page that may be like another, with the text by which it is held.
type candidate struct {
	key  weburl.Key
	text uint32
}

// maxCandidates bounds how many pages are compared.
const maxCandidates = 32

// match looks for the original of a page. It is the document with the lowest key that has
// all of the page, or is nearly the same; or else the one of which another near-copy is
// that is nearly the same: so it does not matter which of several came first. The mutex is
// held.
func (d *Detector) match(s *search, own weburl.Key, c *Content) (m match) {
	var nearly, indirect match
	isCommon := d.isCommon(c)
	for _, at := range d.candidates(s, own, c, isCommon) {
		other, of := d.page(s, at.key)
		if s.lacks != nil {
			return m
		}
		if other == nil || other.place.Text != at.text {
			if d.inFlight[at.key] == nil {
				d.pages.Remove(at.text, at.key)
			}
			continue
		}
		isDocument := of == weburl.Key{}
		switch {
		case other.source != c.source:
			continue
		case isDocument && other.hash == c.hash:
			return match{original: at.key, why: scheduler.ReasonCopy, overlap: percent(1)}
		case isDocument && nearly.why != scheduler.NoReason, !isDocument && (indirect.why != scheduler.NoReason || of == own):
			continue
		}
		v := near.Judge(&c.Signature, &other.Signature, d.frame(s, c.host), d.frame(s, other.host))
		if s.lacks != nil {
			return m
		}
		if !v.Copy || v.Reason != near.SameWords && (isCommon || d.isCommon(other)) {
			continue
		}
		if isDocument {
			nearly = match{original: at.key, why: scheduler.ReasonNearCopy, overlap: percent(v.Overlap)}
		} else {
			indirect = match{original: of, why: scheduler.ReasonNearCopy, overlap: percent(v.Overlap), indirect: true}
		}
	}
	if nearly.why == scheduler.NoReason {
		return indirect
	}
	return nearly
}

// candidates are the pages that have the text or the title of a page, in the order of their
// keys. The mutex is held.
func (d *Detector) candidates(s *search, own weburl.Key, c *Content, isCommon bool) (found []candidate) {
	add := func(text uint32, key near.Key) bool {
		at := candidate{weburl.Key(key), text}
		if at.key != own && !slices.Contains(found, at) {
			found = append(found, at)
		}
		return len(found) < maxCandidates
	}
	// By their hash also long texts are found that were stored without a signature.
	for _, text := range []uint32{near.PlaceOf(c.hash).Text, c.place.Text} {
		d.pages.Text(text, func(k near.Key) bool { return add(text, k) })
	}
	if !c.IsZero() && !isCommon {
		for _, title := range c.Titles(c.source, d.frame(s, c.host)) {
			d.pages.Title(title, add)
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return a.key.Compare(b.key) })
	return found
}

// isCommon says that so many pages with other texts have the title of a page that it says
// nothing. The mutex is held.
func (d *Detector) isCommon(c *Content) bool {
	others := 0
	d.pages.Title(c.place.Title, func(text uint32, _ near.Key) bool {
		if text != c.place.Text {
			others++
		}
		return true
	})
	return others >= near.MaxTitled
}

// page gives what is known of a page that is a document, or nearly a copy of one: that is
// of. It is nil if it is neither, or something must be read first. The mutex is held.
func (d *Detector) page(s *search, key weburl.Key) (c *Content, of weburl.Key) {
	if c := d.inFlight[key]; c != nil {
		if c.copyOf != (weburl.Key{}) && d.document(s, c.copyOf) == nil {
			return nil, of
		}
		return c, c.copyOf
	}
	if c := d.document(s, key); c != nil || s.lacks != nil {
		return c, of
	}
	r := s.records[key]
	if r == nil || r.Reason != scheduler.ReasonNearCopy || r.Signature == "" {
		return nil, of
	}
	of = originalOf(r)
	original := d.document(s, of)
	if original == nil {
		return nil, of
	}
	return contentOf(r, original.source), of
}

// document gives what is known of a document; nil if it is none, or must be read first. The
// mutex is held.
func (d *Detector) document(s *search, key weburl.Key) *Content {
	if c := d.inFlight[key]; c != nil {
		if c.copyOf != (weburl.Key{}) {
			return nil
		}
		if d.record(s, key) == nil { // it is told of by its record
			return nil
		}
		return c
	}
	r := d.record(s, key)
	if r == nil || !r.Indexed || r.DuplicateOf != "" {
		return nil
	}
	return contentOf(r, r.PushedSource)
}

// originalOf is the key of the document that a record's page is a copy of, zero if it is none.
func originalOf(r *scheduler.Record) (k weburl.Key) {
	if !IsCopy(r) {
		return k
	}
	if u, ok := weburl.FromCanonical(r.DuplicateOf); ok {
		return u.Key()
	}
	return k
}
