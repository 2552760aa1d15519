package office

import (
	"encoding/xml"
	"errors"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// readDOCX reads a WordprocessingML document: the text in order, then chunks in other formats, SmartArt and charts,
// foot- and endnotes, comments, headers and footers. Deleted text and field codes are skipped.
func readDOCX(a *archive, b *extract.Builder) error {
	root := a.relationsOf("")
	main := mainPart(&root, "word/document.xml")
	officeProperties(a, b)
	related := a.relationsOf(main)
	related.links(b)
	w := &words{b: b}
	if err := a.walk(main, w); err != nil {
		return err
	}
	if err := errors.Join(a.chunks(&related, b), a.drawn(&related, b, "diagramData", "chart")); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, kind := range []string{"footnotes", "endnotes", "comments", "header", "footer"} {
		for _, part := range related.parts(kind) {
			if seen[part] {
				continue
			}
			seen[part] = true
			b.Break()
			if err := a.walk(part, &words{b: b}); err != nil && !errors.Is(err, errNoPart) {
				return err
			}
			of := a.relationsOf(part)
			of.links(b)
		}
	}
	return nil
}

// mainPart returns the part that the package's relations name, or its usual name.
func mainPart(root *relations, usual string) string {
	if parts := root.parts("officeDocument"); len(parts) > 0 {
		return parts[0]
	}
	return usual
}

// words extracts the text of a part of WordprocessingML or DrawingML.
type words struct {
	b     *extract.Builder
	in    bool // in an element that holds text
	code  bool // in a field code
	cats  bool // the categories of a chart were read, which each of its series repeats
	field strings.Builder
}

func (w *words) start(e *xml.StartElement) bool {
	switch e.Name.Local {
	case "t", "v": // v is a name in a chart
		w.in = true
	case "instrText":
		w.code = true
	case "fldSimple":
		w.link(attribute(e, "instr"))
	case "fldChar":
		if attribute(e, "fldCharType") != "begin" {
			w.link(w.field.String())
		}
		w.field.Reset()
	case "tab", "br", "cr", "ptab":
		w.b.Break()
	case "noBreakHyphen":
		w.b.Write([]byte("-"))
	case "cat":
		again := w.cats
		w.cats = true
		return again
	case "Fallback", "del", "moveFrom", "numCache", "numLit":
		return true // alternatives to Choice; deleted text; the numbers of a chart
	}
	return false
}

func (w *words) end(name string) {
	switch name {
	case "t":
		w.in = false
	case "v":
		w.in = false
		w.b.Break()
	case "instrText":
		w.code = false
	case "p", "tc":
		w.b.Break()
	}
}

func (w *words) text(t []byte) {
	switch {
	case w.in:
		w.b.Write(t)
	case w.code && w.field.Len() < maxProperty:
		w.field.Write(t)
	}
}

// link extracts the address of a field code such as HYPERLINK "https://host/".
func (w *words) link(code string) {
	if href := hyperlink(code); href != "" {
		w.b.Link(href)
	}
}

// hyperlink returns the address of a field code HYPERLINK, "" for other codes and for links within the document.
func hyperlink(code string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(code), "HYPERLINK")
	if !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		href, _, _ := strings.Cut(quoted, `"`)
		return href
	}
	if strings.HasPrefix(rest, `\`) { // a switch: \l is a bookmark
		return ""
	}
	href, _, _ := strings.Cut(rest, " ")
	return href
}
