package feeds

import (
	"cmp"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"
)

// Item is one item of an RSS feed or entry of an Atom feed.
type Item struct {
	// Link is the item's page as written, "" if the item has none; Base is the base of a relative Link, if not the
	// file's own URL (xml:base).
	Link, Base string
	Title      string // text
	// Content is the text, or HTML if HTML is set: the whole content if the feed has it, else the summary.
	Content    string
	HTML       bool
	Date       time.Time // published or, without that, updated; zero if unknown
	Author     string
	Language   string
	Categories []string
	Enclosures []string // URLs as written
}

// Reference returns Link resolved against Base, "" if the item has no page.
func (i *Item) Reference() string {
	if i.Link == "" {
		return ""
	}
	return join(i.Base, i.Link)
}

// Feed reads RSS or Atom and calls fn for each item, in order. Errors are those of
// Sitemap.
func Feed(r io.Reader, o Options, fn func(Item) error) (Summary, error) {
	in, err := open(r, o)
	if err != nil {
		return Summary{}, err
	}
	const wanted = "an RSS or Atom feed"
	w := newWalker(in.Reader)
	var n int
	f := newFeed(w, func(i Item) error {
		if o.MaxEntries > 0 && n == o.MaxEntries {
			return errEnough
		}
		n++
		return fn(i)
	})
	root, err := w.root()
	switch {
	case err != nil:
	case root.kind == endOfFile:
		err = w.fault(1, 1, "the file has no element, so it is not %s", wanted)
	default:
		err = f.read(&root, wanted)
	}
	f.Entries = n
	return f.Summary, f.end(in, err)
}

// feed is one reading.
type feed struct {
	*walker
	Summary
	fn   func(Item) error
	base string
}

func newFeed(w *walker, fn func(Item) error) *feed { return &feed{walker: w, fn: fn} }

// read reads a feed after its root; want names the expected format in errors.
func (f *feed) read(root *token, want string) error {
	item := "item"
	switch f.Format = formatOf(root.name); f.Format {
	case RSS:
	case RDF:
		f.own = f.rssPrefix
	case Atom:
		item = "entry"
	case Unknown, URLSet, Index, URLList:
		f.Format = Unknown
		return f.wrongRoot(root, want)
	}
	f.base, f.Language = root.attr("xml:base"), root.attr("xml:lang")
	for {
		t, err := f.next()
		switch {
		case err != nil:
			return err
		case t.kind == endOfFile:
			return nil
		case t.kind != startTag:
			continue
		}
		switch name := f.known(t.name); {
		case name == item:
			err = f.item(&t)
		case name == "channel":
			f.base = join(f.base, t.attr("xml:base"))
		case name == "title" && f.Title == "":
			f.Title, err = f.words(maxField)
		case name == "language" && f.Language == "":
			f.Language, err = f.words(maxField)
		default:
			err = f.skip()
		}
		if err != nil {
			return err
		}
	}
}

// join resolves an inner base against an outer one.
func join(outer, inner string) string {
	if inner == "" || outer == "" {
		return outer + inner
	}
	base, err := url.Parse(outer)
	if err != nil {
		return inner
	}
	joined, err := base.Parse(inner)
	if err != nil {
		return outer
	}
	return joined.String()
}

// entry is an item being read.
type entry struct {
	Item
	summary     string
	summaryHTML bool
	guid        string // a link, if there is no other one
	updated     time.Time
	preferred   bool // Link is an HTML alternate
}

// item reads an item after its start tag, and passes it on.
func (f *feed) item(start *token) error {
	e := entry{Item: Item{Base: join(f.base, start.attr("xml:base")), Language: start.attr("xml:lang")}}
	if about := start.attr("rdf:about"); f.Format == RDF && isAbsolute(about) {
		e.guid = about
	}
	for depth := len(f.open); f.within(depth); {
		t, err := f.next()
		if err == nil && t.kind == startTag {
			err = f.field(&t, &e)
		}
		if err != nil {
			return errors.Join(f.give(&e), err) // it may be complete except for its end
		}
		if t.kind == endOfFile {
			break
		}
	}
	return f.give(&e)
}

// give completes an item and passes it to fn.
func (f *feed) give(e *entry) error {
	if e.Link == "" {
		e.Link = e.guid
	}
	if e.Content == "" {
		e.Content, e.HTML = e.summary, e.summaryHTML
	}
	if e.Date.IsZero() {
		e.Date = e.updated
	}
	if e.Language == "" {
		e.Language = f.Language
	}
	if e.Link == "" && e.Title == "" && e.Content == "" {
		return nil
	}
	return f.fn(e.Item)
}

// field reads one element of an item.
func (f *feed) field(t *token, e *entry) (err error) {
	text := func(to *string, most int) {
		var s string
		if s, err = f.words(most); *to == "" {
			*to = s
		}
	}
	date := func(to *time.Time) {
		var s string
		s, err = f.words(maxField)
		if at, _, ok := ParseTime(s); ok && to.IsZero() {
			*to = at
		}
	}
	switch name := f.known(t.name); name {
	case "title", "dc:title":
		text(&e.Title, maxField)
	case "link":
		return f.link(t, e)
	case "guid":
		permalink := !strings.EqualFold(t.attr("ispermalink"), "false")
		var s string
		if s, err = f.text(maxField); err == nil && permalink && isAbsolute(s) {
			e.guid = s
		}
	case "description", "summary":
		e.summaryHTML = f.Format != Atom || t.attr("type") == "html"
		e.summary, err = f.text(maxContent)
	case "content", "content:encoded":
		return f.content(t, e)
	case "pubdate", "published", "dc:date", "issued":
		date(&e.Date)
	case "updated", "modified", "dcterms:modified":
		date(&e.updated)
	case "author":
		return f.author(e)
	case "dc:creator":
		text(&e.Author, maxField)
	case "category", "dc:subject":
		term := t.attr("term")
		if text(&term, maxField); term != "" && len(e.Categories) < maxList {
			e.Categories = append(e.Categories, term)
		}
	case "enclosure":
		e.enclose(t.attr("url"))
		err = f.skip()
	default:
		err = f.skip()
	}
	return err
}

// author reads the author of an item: the text of RSS, or the name of Atom's person, by default its e-mail address (RFC
// 4287 section 3.2).
func (f *feed) author(e *entry) error {
	var all, name, email string
	for depth := len(f.open); f.within(depth); {
		f.most = max(maxField-len(all), 0)
		t, err := f.next()
		f.most = 0
		switch {
		case err != nil || t.kind == endOfFile:
			return err // half a name would be a different one
		case t.kind == characters:
			all += t.text
		case t.kind == startTag:
			part, err := f.words(maxField)
			if err != nil {
				return err
			}
			switch f.known(t.name) {
			case "name":
				name = cmp.Or(name, part)
			case "email":
				email = cmp.Or(email, part)
			case "uri":
			default:
				all += " " + part
			}
		}
	}
	e.Author = cmp.Or(e.Author, name, strings.Join(strings.Fields(all), " "), email)
	return nil
}

func (e *entry) enclose(href string) {
	if href != "" && len(e.Enclosures) < maxList {
		e.Enclosures = append(e.Enclosures, href)
	}
}

// link reads a link of an item: the text of RSS, or the attributes of Atom, where the first alternate counts, HTML
// before others (RFC 4287 section 4.2.7).
func (f *feed) link(t *token, e *entry) error {
	href := t.attr("href")
	text, err := f.text(maxField)
	if err != nil {
		return err // half a URL would be a different one
	}
	if f.Format != Atom && text != "" {
		if e.Link == "" {
			e.Link = text
		}
		return nil
	}
	media, _, _ := strings.Cut(t.attr("type"), ";")
	html := media == "" || strings.EqualFold(media, "text/html") || strings.EqualFold(media, "application/xhtml+xml")
	switch rel := strings.ToLower(t.attr("rel")); {
	case href == "":
	case rel == "enclosure":
		e.enclose(join(t.attr("xml:base"), href))
	case rel != "" && rel != "alternate":
	case e.Link == "" || html && !e.preferred:
		e.Link, e.preferred = join(t.attr("xml:base"), href), html
	}
	return nil
}

// content reads the whole content of an item.
func (f *feed) content(t *token, e *entry) error {
	kind, source := strings.ToLower(t.attr("type")), t.attr("src")
	text, err := f.text(maxContent)
	if source != "" {
		if e.guid == "" {
			e.guid = join(t.attr("xml:base"), source) // the content is elsewhere (RFC 4287 section 4.1.3.2)
		}
		return err
	}
	switch {
	case f.Format != Atom, kind == "html", kind == "text/html":
		e.Content, e.HTML = text, true
	case kind == "", kind == "text", kind == "xhtml", strings.HasPrefix(kind, "text/"):
		e.Content, e.HTML = text, false
	}
	return err
}
