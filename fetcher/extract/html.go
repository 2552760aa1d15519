package extract

import (
	"bytes"
	"sync"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
)

// Limits of one page; content beyond them is dropped or cut. They are far above the figures of pages written for
// readers.
const (
	maxLinks       = 50_000
	maxMetas       = 1_000
	maxMetaName    = 256      // bytes
	maxMetaContent = 16 << 10 // bytes
	maxTitle       = 4 << 10  // bytes
	maxLanguage    = 64       // bytes
)

// Options control the reading of a page.
type Options struct {
	// Agent is the crawler's name in robots metas, compared without case; its own
	// metas are obeyed instead of the general ones.
	Agent string
	// MaxLinks limits the links that are kept; 0: 50,000.
	MaxLinks int
	// Removal is the list of elements that are removed from the text; nil for none.
	Removal *Removal
	// Embedded also takes as links the parts of a page, and the targets of its forms: images with their srcset, embed,
	// object, audio, video, source, track, and form with the method GET.
	Embedded bool
	// KeepContent sets Page.Content.
	KeepContent bool
}

// HTML reads an HTML or XHTML body. contentType is the header, for the charset. Markup never causes an error; only
// decoding does.
//
// Links are those of a, area, frame, iframe and of link with rel canonical, next, or alternate with hreflang. Those in
// comments, scripts and templates do not count; those in noscript, hidden or removed elements and noindex regions do,
// though the text there is left out. The target of a meta refresh is only in Refresh, as its delay decides whether it
// is a link or a redirect.
//
// If the charset is a guess, the first meta that declares another one restarts the reading of the page, as in browsers,
// once at most.
//
// Time and memory are proportional to the length of the body, whatever its content. HTML may be called concurrently.
func HTML(body []byte, contentType string, o Options) (Page, error) {
	from, charset, guess := encodingOf(body, contentType)
	text, charset, err := decodeAs(body, from, charset)
	if err != nil {
		return Page{}, err
	}
	if o.MaxLinks <= 0 {
		o.MaxLinks = maxLinks
	}
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.begin(text, o)
	r.guess = guess
	r.read()
	if e, declared := r.declared.encoding(); declared != "" {
		if text, charset, err = decodeAs(body, e, declared); err != nil {
			return Page{}, err
		}
		r.begin(text, o)
		r.read()
	}
	p := r.end()
	p.Charset = charset
	if p.Content != nil {
		p.ContentCharset = charset
		if len(text) > 0 && len(body) > 0 && &text[len(text)-1] != &body[len(body)-1] {
			p.ContentCharset = "utf-8"
		}
	}
	return p, nil
}

// readers holds the working memory of readers.
var readers = sync.Pool{New: func() any { return new(reader) }}

// reader passes once over the tokens of a page.
type reader struct {
	z       markup.Scanner
	page    []byte
	options Options
	found   found
	text    textWriter
	title   textWriter
	robots  robotsSource
	open    openElements
	cut     cutter
	scratch []byte // for the values of one tag

	// foreign contains the open elements of SVG and MathML, and those in them that contain HTML again.
	foreign   []markup.Tag
	isForeign bool // the element of the present start tag
	inBody    bool // past the head
	inTitle   bool // of the page
	hadTitle  bool
	password  bool // seen
	muted     muted
	scripts   int         // number of script elements
	guess     bool        // the page's charset is a guess
	declared  scannedMeta // the meta that declares another charset, which ends the reading
}

// muted are reasons to skip text, besides the regions of openElements.
type muted uint8

const (
	noscript  muted = 1 << iota // or noframes: for browsers without scripts; only links are read
	noindex                     // between noindex and endnoindex comments
	googleoff                   // between googleoff and googleon comments
)

func (r *reader) begin(page []byte, o Options) {
	r.z, r.page, r.options = markup.NewScanner(page), page, o
	r.found.reset()
	r.text = textWriter{b: r.text.b[:0], onePage: true}
	r.title = textWriter{b: r.title.b[:0], limit: maxTitle}
	r.robots, r.cut = robotsSource{}, cutter{page: page, wanted: o.KeepContent}
	r.open.reset()
	r.foreign = r.foreign[:0]
	if o.Removal != nil {
		r.z.ReadClasses()
	}
	r.inBody, r.inTitle, r.hadTitle, r.password, r.muted = false, false, false, false, 0
	r.guess, r.declared, r.scripts = false, scannedMeta{}, 0
}

// maxScratch bounds the memory of each kind that is kept for the next page.
const maxScratch = 1 << 20

// end returns the page, and resets the reader.
func (r *reader) end() Page {
	p := r.found.page()
	p.Text, p.Title, p.Robots, p.Password = r.text.String(), r.title.String(), r.robots.directives(), r.password
	p.Content, p.Shell = r.cut.content(), r.isShell()
	r.z, r.page, r.options, r.cut, r.declared = markup.Scanner{}, nil, Options{}, cutter{}, scannedMeta{}
	r.found.forget()
	for _, b := range [...]*[]byte{&r.text.b, &r.title.b, &r.scratch} {
		if cap(*b) > maxScratch {
			*b = nil
		}
	}
	return p
}

func (r *reader) read() {
	for {
		switch r.z.Next() {
		case markup.End:
			return
		case markup.Text:
			r.textToken()
		case markup.StartTag:
			r.startTag(r.z.Tag())
			if r.declared.charset != nil || r.declared.content != nil {
				return
			}
		case markup.EndTag:
			r.endTag(r.z.Tag())
		case markup.Comment:
			r.comment(r.z.Data())
		case markup.Doctype:
		}
	}
}

func (r *reader) textToken() {
	to := &r.text
	switch r.z.Content() {
	case markup.Script, markup.Style, markup.Iframe, markup.Noembed:
		return
	case markup.Title:
		if !r.inTitle {
			return
		}
		to = &r.title
	default:
		if r.muted != 0 || r.open.inRegion() {
			return
		}
	}
	how := inText
	if r.z.Literal() {
		how = noReferences
	}
	begin, end := r.z.Span()
	to.writePart(r.page, begin, end, how)
}

func (r *reader) startTag(tag markup.Tag) {
	if simple[tag] && len(r.foreign) == 0 && !r.z.Has(1<<markup.Hidden) && !r.open.inRegion() && !r.removes(tag) {
		r.inBody = r.inBody || r.muted&noscript == 0
		return
	}
	if r.muted&noscript != 0 {
		if r.open.inert == 0 {
			r.element(tag)
		}
		return
	}
	r.isForeign = false
	if len(r.foreign) > 0 || tag == markup.Svg || tag == markup.Math {
		r.foreignStart(tag)
	}
	if nesting[tag] != inline || r.open.inRegion() {
		from, _ := r.z.Token()
		r.leave(r.open.implied(tag), from, tag)
	}
	r.separate(tag)
	if tag == markup.Noscript || tag == markup.Noframes {
		r.z.NotRaw()
		r.muted |= noscript
	}
	if r.open.inert == 0 {
		r.element(tag)
	}
	r.enter(tag)
}

// enter tracks an element, if needed, and begins regions.
func (r *reader) enter(tag markup.Tag) {
	hides, removes := r.hides(tag), r.removes(tag)
	inert := tag == markup.Template || r.isForeign && (tag == markup.Script || tag == markup.Style)
	if !hides && !removes && !inert && nesting[tag] == inline && !r.open.inRegion() {
		return
	}
	from, to := r.z.Token()
	if tag.Is(markup.Void) || r.z.SelfClosing() && r.isForeign {
		if removes {
			r.cut.at(from, true, false)
			r.cutAt(to)
		}
		return
	}
	at := r.open.enter(tag)
	if hides && r.open.hidden == 0 {
		r.open.hidden = at
	}
	if inert && r.open.inert == 0 {
		r.open.inert = at
	}
	if removes && r.open.removed == 0 {
		r.open.removed = at
		r.cutAt(from)
	}
}

// leave closes the element at an index, and all elements inside it, at a position in the page, because of a tag.
func (r *reader) leave(at uint16, position int, tag markup.Tag) {
	if at == 0 {
		return
	}
	r.open.leave(at)
	r.separate(tag)
	r.cutAt(position)
}

// separate begins a new word at a tag that separates words, except in skipped regions.
func (r *reader) separate(tag markup.Tag) {
	if tag.Is(markup.Separates) && !r.open.inRegion() {
		r.text.separate()
	}
}

// cutAt begins or ends a cut at a position, if the regions require it.
func (r *reader) cutAt(position int) {
	r.cut.at(position, r.open.removed != 0 || r.muted&(noindex|googleoff) != 0, r.text.gap)
}

// isPage reports whether no region may begin with the element: a page that hides its whole body shows it by a script.
func isPage(tag markup.Tag) bool {
	return tag == markup.HTML || tag == markup.Head || tag == markup.Body || tag == markup.Frameset
}

// hides reports whether the element is hidden, by the hidden attribute, though not hidden="until-found", which readers
// can find, or because SVG does not draw it.
func (r *reader) hides(tag markup.Tag) bool {
	if r.z.Has(1<<markup.Hidden) && !isPage(tag) {
		return !bytes.EqualFold(bytes.TrimSpace(r.z.Value(markup.Hidden)), []byte("until-found"))
	}
	switch tag {
	case markup.Script, markup.Style, markup.Title, markup.Desc, markup.Metadata:
		return r.isForeign
	}
	return false
}

func (r *reader) removes(tag markup.Tag) bool {
	return r.options.Removal != nil && !isPage(tag) && r.options.Removal.matches(r, tag)
}

func (r *reader) endTag(tag markup.Tag) {
	if simple[tag] && len(r.foreign) == 0 && !r.open.inRegion() {
		return
	}
	if tag == markup.Noscript || tag == markup.Noframes {
		r.muted &^= noscript
	}
	if r.muted&noscript != 0 {
		return
	}
	if len(r.foreign) > 0 {
		r.foreignEnd(tag)
	}
	r.separate(tag)
	switch tag {
	case markup.Title:
		r.inTitle = false
	case markup.Head:
		r.inBody = true
	}
	if nesting[tag] == inline && !r.open.inRegion() {
		return
	}
	if at := r.open.ended(tag); at != 0 {
		position, behind := r.z.Token()
		if at == r.open.removed {
			position = behind
		}
		r.leave(at, position, tag)
	}
}
