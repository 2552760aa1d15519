package office

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

const (
	// maxEntries bounds the entries of an archive; a document has some for each sheet or picture.
	maxEntries = 65_535
	// maxUnpacked bounds the unpacked bytes of all parts of an archive together.
	maxUnpacked = 64 << 20
	// tokensPerLook is the number of tokens read between checks of the context.
	tokensPerLook = 4096
)

var errNoPart = errors.New("no such part")

// archive is the zip file of a document. Its names are only compared, and never used as file names.
type archive struct {
	ctx   context.Context
	parts map[string]*zip.File // by name in lower case, without a leading slash
	left  int64                // bytes that may still be unpacked
}

func openArchive(ctx context.Context, body []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, err
	}
	if len(z.File) > maxEntries {
		return nil, fmt.Errorf("its archive has %d entries", len(z.File))
	}
	a := &archive{ctx: ctx, parts: make(map[string]*zip.File, len(z.File)), left: maxUnpacked}
	for _, f := range z.File {
		name := partName(f.Name)
		if _, ok := a.parts[name]; !ok {
			a.parts[name] = f
		}
	}
	return a, nil
}

// partName returns the normalized name of a part: OPC ignores case, and some writers use backslashes.
func partName(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(name, `\`, "/")), "/")
}

// visitor handles the content of a part. Names are without prefixes: no two elements that are read have the same local
// name.
type visitor interface {
	// start begins an element; if skip is true, the element and its content are skipped.
	start(e *xml.StartElement) (skip bool)
	end(name string)
	text(t []byte)
}

// walk reads an XML part once. Entities that the part declares are unknown to the reader, and nothing outside of the
// part is read.
func (a *archive) walk(name string, v visitor) error {
	f := a.parts[partName(name)]
	if f == nil {
		return fmt.Errorf("%w: %s", errNoPart, name)
	}
	packed, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer packed.Close()
	d := xml.NewDecoder(transform.NewReader(&meter{packed, a}, unicode.BOMOverride(transform.Nop)))
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return in, nil // the byte order mark has decided already
		}
		return charset.NewReaderLabel(label, in)
	}
	if err := a.tokens(d, v); err != nil && !errors.Is(err, io.EOF) {
		if errors.Is(err, extract.ErrTooLarge) || a.ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (a *archive) tokens(d *xml.Decoder, v visitor) error {
	depth, skipped := 0, 0 // skipped: depth of the element that is left out
	for n := 1; ; n++ {
		if n%tokensPerLook == 0 && a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		// RawToken keeps nothing of open elements, however many.
		token, err := d.RawToken()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			if skipped == 0 && v.start(&t) {
				skipped = depth
			}
		case xml.EndElement:
			if skipped == 0 {
				v.end(t.Name.Local)
			}
			if skipped == depth {
				skipped = 0
			}
			depth = max(depth-1, 0)
		case xml.CharData:
			if skipped == 0 {
				v.text(t)
			}
		}
	}
}

// meter counts the unpacked bytes.
type meter struct {
	r io.Reader
	a *archive
}

func (m *meter) Read(p []byte) (int, error) {
	if m.a.left <= 0 {
		return 0, extract.ErrTooLarge
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.a.left)])
	m.a.left -= int64(n)
	return n, err
}

// attribute returns the value of the attribute with a local name, "" if there is none.
func attribute(e *xml.StartElement, name string) string {
	for i := range e.Attr {
		if e.Attr[i].Name.Local == name {
			return e.Attr[i].Value
		}
	}
	return ""
}

// relation relates a part to another, or to an external target (ECMA-376 part 2, section 6.5).
type relation struct {
	kind, target string // kind: the last segment of the type's URI
	external     bool
}

type relations struct {
	base string // folder of the part
	all  []relation
	ids  map[string]string // names of parts inside
}

// relationsOf returns the relations of a part, "" for the package. If they cannot be read it returns none, since they
// are optional.
func (a *archive) relationsOf(part string) relations {
	r := relations{base: path.Dir(part), ids: map[string]string{}}
	_ = a.walk(path.Join(path.Dir(part), "_rels", path.Base(part)+".rels"), &r)
	return r
}

func (r *relations) start(e *xml.StartElement) bool {
	if e.Name.Local != "Relationship" {
		return false
	}
	other := relation{
		kind: path.Base(attribute(e, "Type")), target: attribute(e, "Target"),
		external: attribute(e, "TargetMode") == "External",
	}
	r.all = append(r.all, other)
	if id := attribute(e, "Id"); !other.external && r.ids[id] == "" {
		r.ids[id] = r.resolve(other.target)
	}
	return false
}

func (*relations) end(string)  {}
func (*relations) text([]byte) {}

// parts returns the names of related parts of a kind, in order.
func (r *relations) parts(kind string) []string {
	var names []string
	for _, other := range r.all {
		if other.kind == kind && !other.external {
			names = append(names, r.resolve(other.target))
		}
	}
	return names
}

// byID returns the name of the part with a relation's id, "" if there is none.
func (r *relations) byID(id string) string { return r.ids[id] }

// resolve returns a part's name; path.Join never leads out of the archive.
func (r *relations) resolve(target string) string {
	if strings.HasPrefix(target, "/") {
		return path.Clean(target)[1:]
	}
	return path.Join(r.base, target)
}

// links adds the targets of hyperlinks.
func (r *relations) links(b *extract.Builder) {
	for _, other := range r.all {
		if other.kind == "hyperlink" && other.external {
			b.Link(other.target)
		}
	}
}
