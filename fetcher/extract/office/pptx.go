package office

import (
	"encoding/xml"
	"errors"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// readPPTX reads a presentation: its slides in order, each with its SmartArt, charts and notes.
func readPPTX(a *archive, b *extract.Builder) error {
	root := a.relationsOf("")
	main := mainPart(&root, "ppt/presentation.xml")
	officeProperties(a, b)
	order := identified{element: "sldId"}
	if err := a.walk(main, &order); err != nil {
		return err
	}
	related := a.relationsOf(main)
	for _, slide := range order.found {
		part := related.byID(slide.id)
		if part == "" {
			continue
		}
		b.Break()
		if err := a.walk(part, &words{b: b}); err != nil && !errors.Is(err, errNoPart) {
			return err
		}
		of := a.relationsOf(part)
		of.links(b)
		if err := a.drawn(&of, b, "diagramData", "chart"); err != nil {
			return err
		}
		for _, notes := range of.parts("notesSlide") {
			b.Break()
			if err := a.walk(notes, &words{b: b}); err != nil && !errors.Is(err, errNoPart) {
				return err
			}
		}
	}
	return nil
}

// maxIdentified bounds the parts of one kind.
const maxIdentified = 10_000

// identified collects the elements of a name with their relation, in order.
type identified struct {
	element string
	found   []struct{ id, name string }
}

func (f *identified) start(e *xml.StartElement) bool {
	if e.Name.Local != f.element || len(f.found) >= maxIdentified {
		return false
	}
	var one struct{ id, name string }
	for _, attr := range e.Attr {
		switch {
		case attr.Name.Local == "id" && attr.Name.Space != "":
			one.id = attr.Value // r:id; the one without a prefix has another meaning
		case attr.Name.Local == "name":
			one.name = attr.Value
		}
	}
	f.found = append(f.found, one)
	return false
}

func (*identified) end(string)  {}
func (*identified) text([]byte) {}
