package feeds

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Entry is one URL of a sitemap, an index, or a list.
type Entry struct {
	// Loc is the URL as written, Base the base of a relative one, if not the file's own URL (only feeds have relative
	// URLs).
	Loc, Base string
	// LastMod is zero if missing or invalid. Day is set for a day or longer period; LastMod is its beginning.
	LastMod time.Time
	Day     bool
	// Sitemap is set for a sitemap in an index.
	Sitemap bool
	// Alternates are the URL's versions in other languages (xhtml:link), as written.
	Alternates []string
}

// Reference returns Loc resolved against Base.
func (e *Entry) Reference() string { return join(e.Base, e.Loc) }

// errEnough ends a reading at MaxEntries.
var errEnough = errors.New("enough entries")

// Sitemap reads a sitemap, an index, a list of URLs, or the links of a feed, and calls fn for each entry, in order. An
// error of fn ends the reading and is returned unchanged. An error of the file is a *SyntaxError; entries before it
// count.
func Sitemap(r io.Reader, o Options, fn func(Entry) error) (Summary, error) {
	s := &sitemap{o: o, fn: fn}
	in, err := open(r, o)
	if err != nil {
		return s.Summary, err
	}
	err = s.read(in)
	return s.Summary, s.end(in, err)
}

// sitemap is one reading.
type sitemap struct {
	Summary
	o  Options
	fn func(Entry) error
}

func (s *sitemap) read(in input) error {
	if !isXML(in) {
		s.Format = URLList
		return s.list(in)
	}
	w := newWalker(in.Reader)
	root, err := w.root()
	switch {
	case err != nil:
		return err
	case root.kind == endOfFile:
		return w.fault(1, 1, "the file has no element, so it is not a sitemap")
	}
	switch s.Format = formatOf(root.name); s.Format {
	case URLSet:
		return s.urls(w, "url")
	case Index:
		return s.urls(w, "sitemap")
	case Unknown, URLList, RSS, RDF, Atom:
	}
	f := newFeed(w, func(i Item) error {
		if i.Link == "" {
			return nil
		}
		return s.give(Entry{Loc: i.Link, Base: i.Base, LastMod: i.Date})
	})
	err = f.read(&root, "a sitemap, an index of sitemaps or a feed")
	s.Title, s.Language = f.Title, f.Language
	return err
}

// isXML reports whether the first non-blank character begins a tag.
func isXML(in input) bool {
	head, _ := in.Peek(4096)
	head = bytes.TrimLeft(head, " \t\r\n\f\x00")
	return len(head) > 0 && head[0] == '<'
}

// give passes an entry to fn.
func (s *sitemap) give(e Entry) error {
	if s.o.MaxEntries > 0 && s.Entries == s.o.MaxEntries {
		return errEnough
	}
	s.Entries++
	e.Sitemap = s.Format == Index
	return s.fn(e)
}

// end sets how a reading ended.
func (s *Summary) end(in input, err error) error {
	var syntax *SyntaxError
	switch {
	case errors.Is(err, errEnough):
		s.Cut = fmt.Sprintf("it has more than %d entries", s.Entries)
		return nil
	case in.limit.cut:
		s.Cut = "it is larger than its limit"
		if errors.As(err, &syntax) {
			return nil
		}
	}
	return err
}

// urls reads the entries of a urlset or an index.
func (s *sitemap) urls(w *walker, name string) error {
	for {
		t, err := w.next()
		switch {
		case err != nil:
			return err
		case t.kind == endOfFile:
			return nil
		case t.kind == startTag && w.known(t.name) == name:
			if err := s.url(w, name); err != nil {
				return err
			}
		}
	}
}

// url reads one entry. Its URL is its loc, or the text of the entry itself. An entry that begins inside another one is
// separate.
func (s *sitemap) url(w *walker, name string) error {
	var e Entry
	var bare strings.Builder
	for depth := len(w.open); w.within(depth); {
		w.most = max(maxField-bare.Len(), 0)
		t, err := w.next()
		w.most = 0
		switch {
		case err != nil: // the entry may be complete except for its end; its own text may not be
			return errors.Join(s.entry(&e, ""), err)
		case t.kind == characters:
			if bare.Len() > 0 || strings.TrimSpace(t.text) != "" {
				bare.WriteString(t.text)
			}
		case t.kind == endOfFile:
			return s.entry(&e, bare.String())
		case t.kind == startTag && w.known(t.name) == name:
			if err := s.entry(&e, bare.String()); err != nil {
				return err
			}
			e = Entry{}
			bare.Reset()
		case t.kind == startTag:
			if err := s.field(w, &t, &e); err != nil {
				return err
			}
		}
	}
	return s.entry(&e, bare.String())
}

// entry passes an entry to fn if it has a URL.
func (s *sitemap) entry(e *Entry, bare string) error {
	if e.Loc == "" {
		e.Loc = strings.TrimSpace(bare)
	}
	if e.Loc == "" {
		return nil
	}
	return s.give(*e)
}

func (s *sitemap) field(w *walker, t *token, e *Entry) error {
	var err error
	switch known := w.known(t.name); known {
	case "loc":
		var loc string
		if loc, err = w.text(maxField); err == nil && e.Loc == "" {
			e.Loc = loc
		}
	case "lastmod":
		var text string
		text, err = w.text(maxField)
		e.LastMod, e.Day, _ = ParseTime(text)
	default:
		if known == "link" || strings.HasSuffix(known, ":link") {
			href := t.attr("href")
			if strings.EqualFold(t.attr("rel"), "alternate") && href != "" && len(e.Alternates) < maxList {
				e.Alternates = append(e.Alternates, href)
			}
		}
		err = w.skip()
	}
	return err
}

// list reads one URL a line; it skips other lines. A file without any in its first lines is not a list.
func (s *sitemap) list(in input) error {
	const tries = 100
	for line := 1; ; line++ {
		text, err := in.ReadSlice('\n')
		loc := strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))
		for errors.Is(err, bufio.ErrBufferFull) {
			loc = "" // too long for a URL
			_, err = in.ReadSlice('\n')
		}
		whole := err == nil || errors.Is(err, io.EOF) && !in.limit.cut
		if whole && isAbsolute(loc) {
			if err := s.give(Entry{Loc: loc}); err != nil {
				return err
			}
		}
		switch {
		case s.Entries == 0 && (line == tries || errors.Is(err, io.EOF)):
			return &SyntaxError{Line: 1, Column: 1, Words: "the file is neither XML nor a list of URLs, one per line"}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &SyntaxError{Line: line, Column: 1, Words: "reading stopped in the file: " + err.Error()}
		}
	}
}

func isAbsolute(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}
