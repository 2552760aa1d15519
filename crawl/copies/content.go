package copies

import (
	"math"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

// AliasBytes is the number of bytes at the end of a document's hash that depend on its aliases. They are not content:
// another alias does not make another page.
const AliasBytes = 4

// hashOf returns the part of a document's hash that depends only on its content.
func hashOf(sum [16]byte) [16]byte {
	clear(sum[len(sum)-AliasBytes:])
	return sum
}

// Content holds the parts of a page that are compared.
type Content struct {
	near.Signature // zero if the text is too short to compare

	text   *near.Text // of a page that was just read; nil as well
	place  near.Place
	hash   [16]byte
	source string
	host   weburl.HostKey
	// For a page in flight: its original if it is a copy, whether that original was deleted or changed meanwhile, and the
	// titles to review once the page is stored.
	copyOf weburl.Key
	again  bool
	review []uint32
	titles []uint32 // titles under which it is searched, as known for its host in titled
	titled *near.Frame
}

// titlesBy returns the titles under which originals of the page are searched.
func (c *Content) titlesBy(f *near.Frame) []uint32 {
	if c.titles == nil || c.titled != f {
		c.titles, c.titled = c.Titles(c.source, f), f
	}
	return c.titles
}

// Compare computes the Content of the lease's document, whose hash is sum. The title is the page's own, "" if it has
// none.
func (d *Detector) Compare(l *scheduler.Lease, document *push.Document, title string, host weburl.HostKey, sum [16]byte) *Content {
	c := &Content{hash: hashOf(sum), source: document.Source, host: host}
	switch {
	case d.framed(host, l.Key):
		c.text = near.Read(title, document.Text)
	case hashOf(l.Record.Hash) == c.hash && l.Record.Signature != "": // it has not changed
		c.Signature, _ = near.DecodeSignature([]byte(l.Record.Signature))
	}
	if c.text == nil && c.IsZero() {
		c.text = near.Sign(title, document.Text)
	}
	if c.text != nil {
		c.Signature = c.text.Signature
	}
	c.setPlace()
	return c
}

// Sketch returns the sketch of the page's document.
func (c *Content) Sketch(title, text string) sketch.Sketch {
	if c.text != nil {
		return c.text.Sketch
	}
	return near.SketchOf(title, text)
}

// documentOf returns the document described by a record.
func documentOf(r *scheduler.Record) *Content { return contentOf(r, r.PushedSource) }

// contentOf returns the content of a record's page, which was pushed, or would have been, under a source.
func contentOf(r *scheduler.Record, source string) *Content {
	c := &Content{hash: hashOf(r.Hash), source: source, host: r.Host}
	if r.Signature != "" {
		// A damaged one counts as missing.
		c.Signature, _ = near.DecodeSignature([]byte(r.Signature))
	}
	c.setPlace()
	return c
}

// setPlace sets the place: by the text or, if that is too short, by the whole document.
func (c *Content) setPlace() {
	if c.place = near.PlaceOf(c.hash); !c.IsZero() {
		c.place = c.Place(c.source)
	}
}

// Stored returns the signature in the form of a record.
func (c *Content) Stored() string {
	if c.IsZero() {
		return ""
	}
	var b [near.SignatureSize]byte
	return string(c.Append(b[:0]))
}

// percent converts a share from 0 to 1; only 1 gives 100.
func percent(share float64) uint8 { return uint8(math.Floor(100 * min(max(share, 0), 1))) }
