// Package feeds reads files that list URLs and documents for crawlers: sitemaps, sitemap indexes and lists of URLs
// (sitemaps.org), RSS 0.9x, 1.0 and 2.0, Atom (RFC 4287), and elements of any other XML file. It reads from a stream,
// returns the entries one after another, and keeps only one in memory.
//
// It accepts the XML that sites send, which is often not well-formed: it tolerates unknown entities, bare ampersands,
// attributes without quotes, wrong case, missing end tags and anything around the root. The only entities are the five
// of XML and numbers; a DOCTYPE that declares any is refused, and nothing outside the file is ever loaded.
package feeds

import "fmt"

// Limits of the memory for one file.
const (
	maxDepth     = 256      // of elements inside each other
	maxName      = 256      // bytes of a name, the rest is dropped
	maxAttribute = 64 << 10 // bytes of a value, the rest is dropped
	maxAttrs     = 64       // of one element, the rest is dropped
	maxField     = 64 << 10 // bytes of a title, URL or date
	maxContent   = 1 << 20  // bytes of an item's content
	maxList      = 256      // alternates, categories or enclosures of one entry
)

// Format is the format of a file.
type Format uint8

// The formats.
const (
	Unknown Format = iota
	URLSet         // urlset of sitemaps.org
	Index          // sitemapindex of sitemaps.org
	URLList        // one URL a line
	RSS            // 0.9x and 2.0
	RDF            // RSS 0.90 and 1.0
	Atom
)

// String returns the format's name for messages.
func (f Format) String() string {
	words := [...]string{"unknown", "sitemap", "sitemap index", "list of URLs", "RSS feed", "RSS 1.0 feed", "Atom feed"}
	if int(f) >= len(words) {
		return fmt.Sprintf("format %d", uint8(f))
	}
	return words[f]
}

// IsFeed reports whether entries of this format have title and text besides URLs.
func (f Format) IsFeed() bool { return f == RSS || f == RDF || f == Atom }

// Options limit the reading; a zero field means no limit.
type Options struct {
	// ContentType is the header of the response: its charset counts if the file declares none.
	ContentType string
	MaxBytes    int64 // after decompression
	MaxEntries  int
	// Truncated is set if the input is only the beginning of the file.
	Truncated bool
}

// Summary describes a file after reading.
type Summary struct {
	Format  Format
	Entries int
	// Title and Language are those of a feed.
	Title, Language string
	// Cut names the exceeded limit, empty if the file was read to its end.
	Cut string
}

// SyntaxError reports where and why reading a file ended early. Entries before that position are valid.
type SyntaxError struct {
	Line, Column int // from 1, in characters
	Words        string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Words)
}
