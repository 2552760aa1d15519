package copies

import (
	"slices"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// match is the result of a search: if why is not NoReason, the page is a copy of the original.
type match struct {
	original weburl.Key
	why      scheduler.Reason
	overlap  uint8
	like     []weburl.Key // all similar pages, itself first
}

// candidate is a page that may be similar, with the text by which it is held.
type candidate struct {
	key  weburl.Key
	text uint32
}

const (
	// maxCandidates limits the number of pages that one page is compared with.
	maxCandidates = 48
	// maxLike limits the search for pages that are similar to each other.
	maxLike = 32
)

// match finds the original of a page: the document with the same text or, among near-duplicates, the one with the
// lowest key. Pages that are similar to a similar page count too, so the order of arrival does not matter. The mutex is
// held.
func (d *Detector) match(s *search, own weburl.Key, c *Content) (m match) {
	like := []*Content{c}
	keys := []weburl.Key{own}
	for i := 0; i < len(like) && len(like) < maxLike; i++ {
		isCommon := d.isCommon(like[i])
		for _, at := range d.candidates(s, keys[i], like[i], isCommon) {
			if slices.Contains(keys, at.key) {
				continue
			}
			other, isDocument := d.candidate(s, at)
			if s.lacks != nil {
				return m
			}
			isDocument = isDocument && !isReplacedBy(s.records[at.key], own)
			if other == nil || other.source != c.source {
				continue
			}
			if i == 0 && isDocument && other.hash == c.hash {
				return match{at.key, scheduler.ReasonCopy, percent(1), []weburl.Key{own, at.key}}
			}
			v := near.Judge(&like[i].Signature, &other.Signature, d.frame(s, like[i].host), d.frame(s, other.host))
			if s.lacks != nil {
				return m
			}
			if !v.Copy || v.Reason != near.SameWords && (isCommon || d.isCommon(other)) {
				continue
			}
			like, keys = append(like, other), append(keys, at.key)
			if isDocument && (m.why == scheduler.NoReason || at.key.Compare(m.original) < 0) {
				m = match{original: at.key, why: scheduler.ReasonNearCopy}
			}
		}
	}
	if m.why != scheduler.NoReason {
		of := like[slices.Index(keys, m.original)]
		m.like, m.overlap = keys, percent(near.Judge(&c.Signature, &of.Signature, d.frame(s, c.host), d.frame(s, of.host)).Overlap)
	}
	return m
}

// isReplacedBy reports whether a document leaves the index in favour of a page, because it moved there or was renamed.
func isReplacedBy(r *scheduler.Record, page weburl.Key) bool {
	if r == nil || !r.LossPending {
		return false
	}
	for _, to := range [...]string{r.RedirectTo, r.DuplicateOf} {
		if u, ok := weburl.FromCanonical(to); ok && u.Key() == page {
			return true
		}
	}
	return false
}

// candidate returns a candidate, and whether it is a document; nil if it is neither, or must be read first. It drops
// outdated entries. The mutex is held.
func (d *Detector) candidate(s *search, at candidate) (c *Content, isDocument bool) {
	c, of := d.page(s, at.key)
	if s.lacks != nil {
		return nil, false
	}
	if c == nil || c.place.Body != at.text {
		if d.inFlight[at.key] == nil {
			d.pages.Remove(at.text, at.key)
		}
		return nil, false
	}
	return c, of == weburl.Key{}
}

// candidates returns the pages that have the text or the title of a page, in the order of their
// keys. The mutex is held.
func (d *Detector) candidates(s *search, own weburl.Key, c *Content, isCommon bool) (found []candidate) {
	add := func(text uint32, key near.Key) bool {
		at := candidate{weburl.Key(key), text}
		if at.key != own && !slices.Contains(found, at) {
			found = append(found, at)
		}
		return len(found) < maxCandidates
	}
	// By their hash also long texts are found that were stored while copies were not looked for.
	for _, text := range []uint32{near.PlaceOf(c.hash).Body, c.place.Body} {
		d.pages.Text(text, func(k near.Key) bool { return add(text, k) })
	}
	if !c.IsZero() && !isCommon {
		for i, title := range c.titlesBy(d.frame(s, c.host)) {
			d.pages.Title(title, func(text uint32, key near.Key) bool {
				if i == 0 && !near.SameTitle(text, c.place.Body) {
					return true
				}
				return add(text, key)
			})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return a.key.Compare(b.key) })
	return found
}

// isCommon reports whether too many pages with different texts share the page's title for it to be significant. The
// mutex is held.
func (d *Detector) isCommon(c *Content) bool {
	texts := d.pages.Titled(c.place.Title)
	if texts != near.MaxTitled {
		return texts > near.MaxTitled
	}
	own := false
	d.pages.Title(c.place.Title, func(text uint32, _ near.Key) bool { own = text == c.place.Body; return !own })
	return !own
}

// page returns what is known about a page that is a document, or a copy of the document of. It returns nil if the page
// is neither, or must be read first. The mutex is held.
func (d *Detector) page(s *search, key weburl.Key) (c *Content, of weburl.Key) {
	if c := d.inFlight[key]; c != nil && c.copyOf != (weburl.Key{}) {
		if d.document(s, c.copyOf) == nil {
			return nil, of
		}
		return c, c.copyOf
	}
	if c := d.document(s, key); c != nil || s.lacks != nil {
		return c, of
	}
	r := s.records[key]
	if d.inFlight[key] != nil || r == nil || !IsCopy(r) || r.Signature == "" {
		return nil, of
	}
	of = originalOf(r)
	original := d.document(s, of)
	if original == nil {
		return nil, of
	}
	return contentOf(r, original.source), of
}

// document returns what is known about a document; nil if it is not one, or must be read first. The mutex is held.
func (d *Detector) document(s *search, key weburl.Key) *Content {
	if c := d.inFlight[key]; c != nil {
		if c.copyOf != (weburl.Key{}) {
			return nil
		}
		if d.record(s, key) == nil { // its record reports it
			return nil
		}
		return c
	}
	r := d.record(s, key)
	if r == nil || !r.Indexed || r.DuplicateOf != "" {
		return nil
	}
	return documentOf(r)
}

// originalOf returns the key of the document that a record's page is a copy of, or zero.
func originalOf(r *scheduler.Record) (k weburl.Key) {
	if !IsCopy(r) {
		return k
	}
	if u, ok := weburl.FromCanonical(r.DuplicateOf); ok {
		return u.Key()
	}
	return k
}
