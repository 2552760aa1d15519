package office

import (
	"errors"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// Types of records of PowerPoint 97 to 2003 (MS-PPT section 2.13.24).
const (
	pptUserEdit         = 0x0ff5
	pptPersistDirectory = 0x1772
	pptDocument         = 0x03e8
	pptSlide            = 0x03ee
	pptNotes            = 0x03f0
	pptMainMaster       = 0x03f8
	pptHandout          = 0x0fc9
	pptSlideList        = 0x0ff0
	pptSlidePersist     = 0x03f3
	pptTextChars        = 0x0fa0
	pptTextBytes        = 0x0fa8
	pptString           = 0x0fba
	pptHyperlink        = 0x0fd7
	pptEncrypted        = 0xf3d1c4df // the token of Current User
)

const (
	maxPPTDepth = 64      // nesting of records
	maxPersist  = 100_000 // parts of a presentation
	maxEdits    = 10_000  // saves
)

// pptReader reads one presentation.
type pptReader struct {
	*legacyReader
	stream []byte
	parts  map[uint32]int64 // position of the newest version of each part
	done   map[int64]bool   // parts already read
	n      int
}

// ppt reads a presentation: each slide in order, with its text in the outline, then the notes. Parts of earlier saves
// and masters are skipped.
func (r *legacyReader) ppt(c *compound) error {
	p := &pptReader{legacyReader: r, stream: c.stream("PowerPoint Document"), parts: map[uint32]int64{}, done: map[int64]bool{}}
	user := c.stream("Current User")
	if le32(user, 12) == pptEncrypted {
		return extract.ErrEncrypted
	}
	document, ok := p.directory(int64(le32(user, 16)))
	if !ok {
		// Without its directory, everything is read in the order of the file.
		return p.walk(p.stream, 0, p.anything)
	}
	if err := p.walk(document, 0, p.outline(0)); err != nil {
		return err
	}
	if err := p.walk(document, 0, p.outline(2)); err != nil {
		return err
	}
	return p.walk(document, 0, p.links)
}

// record is a record of a stream.
type record struct {
	kind, instance int
	container      bool
	body           []byte
}

// recordAt returns the record at a position, and where the next one begins; 0 if there is none.
func recordAt(b []byte, at int64) (r record, next int64) {
	const head = 8
	if at < 0 || at+head > int64(len(b)) {
		return r, 0
	}
	version, length := le16(b, int(at)), int64(le32(b, int(at)+4))
	r = record{kind: le16(b, int(at)+2), instance: version >> 4, container: version&0xf == 0xf}
	r.body = part(b, at+head, length)
	return r, at + head + length
}

// directory finds the newest version of each part, going from the newest save to the oldest, and returns the document's
// part.
func (p *pptReader) directory(at int64) (document []byte, ok bool) {
	var id uint32
	for range maxEdits {
		edit, _ := recordAt(p.stream, at)
		if edit.kind != pptUserEdit || len(edit.body) < 20 {
			break
		}
		if id == 0 {
			id = le32(edit.body, 16)
		}
		p.persist(int64(le32(edit.body, 12)))
		before := int64(le32(edit.body, 8))
		if before == 0 || before >= at { // saves are appended
			break
		}
		at = before
	}
	where, known := p.parts[id]
	if !known {
		return nil, false
	}
	r, _ := recordAt(p.stream, where)
	return r.body, r.kind == pptDocument
}

// persist reads one directory: runs of parts with consecutive numbers.
func (p *pptReader) persist(at int64) {
	r, _ := recordAt(p.stream, at)
	if r.kind != pptPersistDirectory {
		return
	}
	for b := r.body; len(b) >= 8; {
		first, n := le32(b, 0)&0xfffff, int(le32(b, 0)>>20)
		b = b[4:]
		for i := range min(n, len(b)/4) {
			id := first + uint32(i) //nolint:gosec // of at most 4,095
			if _, newer := p.parts[id]; !newer && len(p.parts) < maxPersist {
				p.parts[id] = int64(le32(b, 4*i))
			}
		}
		b = b[4*min(n, len(b)/4):]
	}
}

// walk reads the records of a container. It enters a record if visit returns true.
func (p *pptReader) walk(b []byte, depth int, visit func(record) (bool, error)) error {
	for at := int64(0); ; {
		r, next := recordAt(b, at)
		if next == 0 {
			return nil
		}
		if p.n++; p.n%tokensPerLook == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		if p.b.Full() {
			p.b.Cut()
			return nil
		}
		inside, err := visit(r)
		if err == nil && inside && r.container {
			if depth == maxPPTDepth {
				return errors.New("its records are nested too deeply")
			}
			err = p.walk(r.body, depth+1, visit)
		}
		if err != nil {
			return err
		}
		at = next
	}
}

// outline reads a list of slides: the text of each in the outline, and the slide itself.
func (p *pptReader) outline(instance int) func(record) (bool, error) {
	return func(list record) (bool, error) {
		if list.kind != pptSlideList || list.instance != instance {
			return false, nil
		}
		var slide int64
		end := func() error {
			at := slide
			if slide = 0; at == 0 || p.done[at] {
				return nil
			}
			p.done[at] = true
			r, _ := recordAt(p.stream, at)
			if r.kind != pptSlide && r.kind != pptNotes {
				return nil
			}
			p.b.Break()
			return p.walk(r.body, 1, p.text)
		}
		err := p.walk(list.body, 1, func(r record) (bool, error) {
			if r.kind != pptSlidePersist {
				return p.text(r)
			}
			err := end()
			slide = p.parts[le32(r.body, 0)]
			p.b.Break()
			return false, err
		})
		return false, errors.Join(err, end())
	}
}

// text writes the text of a text record.
func (p *pptReader) text(r record) (bool, error) {
	switch r.kind {
	case pptTextChars:
		p.lines(utf16Text(r.body))
	case pptTextBytes:
		p.lines(latin(r.body))
	}
	return true, nil
}

// lines writes a text in which lines separate words.
func (p *pptReader) lines(text string) {
	p.b.Break()
	p.b.Write([]byte(strings.Map(func(c rune) rune {
		if c == '\v' || c == '\r' {
			return '\n'
		}
		return c
	}, text)))
	p.b.Break()
}

// links adds the targets of hyperlinks.
func (p *pptReader) links(r record) (bool, error) {
	if r.kind == pptHyperlink {
		return false, p.walk(r.body, 1, func(s record) (bool, error) {
			if s.kind == pptString && s.instance == 1 {
				p.b.Link(utf16Text(s.body))
			}
			return false, nil
		})
	}
	return r.kind != pptSlideList, nil
}

// anything writes all text except that of masters.
func (p *pptReader) anything(r record) (bool, error) {
	if r.kind == pptMainMaster || r.kind == pptHandout {
		return false, nil
	}
	return p.text(r)
}
