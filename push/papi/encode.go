package papi

import (
	"bytes"
	"maps"
	"mime/multipart"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// form is the frame of multipart/form-data bodies: documents that were encoded for
// one can be put together in any number.
type form struct{ boundary string }

func newForm() form { return form{multipart.NewWriter(nil).Boundary()} }

func (f form) contentType() string { return "multipart/form-data; boundary=" + f.boundary }

// body returns the body of a request with these documents.
func (f form) body(items []wire.Item) []byte {
	return append(wire.Join(items), "--"+f.boundary+"--\r\n"...)
}

// document encodes a document under a separate id. An error means that e cannot be encoded.
func (f form) document(id int, e push.Entry, s *Settings) ([]byte, error) {
	d, err := wire.Document(e)
	if err != nil {
		return nil, err
	}
	p := parts{boundary: f.boundary, prefix: "PAPI_" + strconv.Itoa(id) + ":"}
	p.buf.Grow(len(d.Text) + len(d.Content) + 2048)
	p.field("uri", e.URL)
	p.field(s.StampPart, stamp(e, d, s.Stamp))
	if s.Class != "" {
		p.unnamedFile(s.ClassPart, "", s.Class)
	}
	p.metas(d)
	p.master(d)
	return p.buf.Bytes(), nil
}

// parts returns the parts of one document.
type parts struct {
	boundary, prefix string
	buf              bytes.Buffer
}

func stamp(e push.Entry, d *push.Document, kind Stamp) string {
	if kind == StampSeq || d.Hash == "" {
		return strconv.FormatUint(e.Seq, 10)
	}
	return d.Hash
}

// ownMeta is a meta that the target derives from a document.
type ownMeta struct{ name, value string }

func ownMetas(d *push.Document) [7]ownMeta {
	return [...]ownMeta{
		{"title", d.Title},
		{"lastmodifieddate", d.LastModified},
		{"publicUrl", d.URL},
		{"language", d.Language},
		{"file_name", fileName(d.URL)},
		{"file_size", fileSize(d.Content)},
		{"source", d.Source},
	}
}

// OwnMetas are the names of metas that the target derives from a document. A document's own meta of such a name is used
// only if the target cannot derive one.
func OwnMetas() []string {
	var names []string
	for _, m := range ownMetas(&push.Document{}) {
		names = append(names, m.name)
	}
	return names
}

func (p *parts) metas(d *push.Document) {
	own := ownMetas(d)
	taken := make(map[string]bool, len(own))
	for _, m := range own {
		if m.value != "" {
			taken[m.name] = true
			p.unnamedFile("meta:"+m.name, "", m.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Metas)) {
		part := wire.Plain(name)
		if taken[part] || part == "" {
			continue
		}
		for _, v := range d.Metas[name] {
			p.unnamedFile("meta:"+part, "", v)
		}
	}
}

func (p *parts) master(d *push.Document) {
	const directive, bytesPart = "part_directive:master:", "part_bytes:master"
	if len(d.Content) == 0 {
		p.unnamedFile(bytesPart, "text/plain;charset=UTF-8", d.Text)
		p.unnamedFile(directive+"encoding", "", "UTF-8")
		p.unnamedFile(directive+"mimeHint", "", "text/plain")
		return
	}
	kind := d.ContentType
	if !headerSafe(kind) {
		kind = "application/octet-stream"
	}
	p.unnamedFile(bytesPart, kind, string(d.Content))
	for _, m := range [...]struct{ name, value string }{
		{"encoding", d.Charset}, {"filename", fileName(d.URL)}, {"mimeHint", mediaType(kind)},
	} {
		if m.value != "" {
			p.unnamedFile(directive+m.name, "", m.value)
		}
	}
}

// field writes a part with a name only, and unnamedFile one with filename="".
func (p *parts) field(name, value string) {
	disposition := multipart.FileContentDisposition(p.prefix+name, "")
	p.part(strings.TrimSuffix(disposition, `; filename=""`), "", value)
}

func (p *parts) unnamedFile(name, contentType, value string) {
	p.part(multipart.FileContentDisposition(p.prefix+name, ""), contentType, value)
}

// part writes a part. The boundary is random enough never to occur in a value.
func (p *parts) part(disposition, contentType, value string) {
	b := &p.buf
	b.WriteString("--")
	b.WriteString(p.boundary)
	b.WriteString("\r\nContent-Disposition: ")
	b.WriteString(disposition)
	if contentType != "" {
		b.WriteString("\r\nContent-Type: ")
		b.WriteString(contentType)
	}
	b.WriteString("\r\n\r\n")
	b.WriteString(value)
	b.WriteString("\r\n")
}

// headerSafe reports whether s, which came from the web, is valid in a header.
func headerSafe(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

// mediaType is a Content-Type without its parameters.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.TrimSpace(s)
}

// fileName is the last segment of a URL's path, empty for a directory.
func fileName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" || strings.HasSuffix(u.Path, "/") {
		return ""
	}
	return path.Base(u.Path)
}

func fileSize(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	return strconv.Itoa(len(content))
}
