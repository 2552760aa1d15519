package papi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/push"
)

// addition is a run of documents encoded as one multipart/form-data body, any
// part of which is a body too once it is terminated.
type addition struct {
	boundary string
	buf      bytes.Buffer
	starts   []int // of each document in buf
}

func newAddition() *addition {
	return &addition{boundary: multipart.NewWriter(nil).Boundary()}
}

func (a *addition) contentType() string {
	return "multipart/form-data; boundary=" + a.boundary
}

// body is that of a request with documents i to j-1.
func (a *addition) body(i, j int) []byte {
	end := a.buf.Len()
	if j < len(a.starts) {
		end = a.starts[j]
	}
	return slices.Concat(a.buf.Bytes()[a.starts[i]:end], []byte("--"+a.boundary+"--\r\n"))
}

// add encodes one more document. An error means that e cannot be encoded and is
// left out.
func (a *addition) add(e push.Entry, s *Settings) error {
	var d push.Document
	if err := json.Unmarshal(e.Body, &d); err != nil {
		return fmt.Errorf("the outbox holds no document here: %w", err)
	}
	id := "PAPI_" + strconv.Itoa(len(a.starts)) + ":"
	a.starts = append(a.starts, a.buf.Len())
	a.field(id+"uri", e.URL)
	a.field(id+s.StampPart, stamp(e, &d, s.Stamp))
	if s.Class != "" {
		a.unnamedFile(id+s.ClassPart, "", s.Class)
	}
	a.metas(id+"meta:", &d)
	a.master(id, &d)
	return nil
}

func stamp(e push.Entry, d *push.Document, kind Stamp) string {
	if kind == StampSeq || d.Hash == "" {
		return strconv.FormatUint(e.Seq, 10)
	}
	return d.Hash
}

func (a *addition) metas(prefix string, d *push.Document) {
	own := [...]struct{ name, value string }{
		{"title", d.Title},
		{"lastmodifieddate", d.LastModified},
		{"publicUrl", d.URL},
		{"language", d.Language},
		{"file_name", fileName(d.URL)},
		{"file_size", fileSize(d.Content)},
		{"source", d.Source},
	}
	taken := make(map[string]bool, len(own))
	for _, m := range own {
		if m.value != "" {
			taken[m.name] = true
			a.unnamedFile(prefix+m.name, "", m.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Metas)) {
		part := plain(name)
		if taken[part] || part == "" {
			continue
		}
		for _, v := range d.Metas[name] {
			a.unnamedFile(prefix+part, "", v)
		}
	}
}

func (a *addition) master(id string, d *push.Document) {
	directive := id + "part_directive:master:"
	bytesPart := id + "part_bytes:master"
	if len(d.Content) == 0 {
		a.unnamedFile(bytesPart, "text/plain;charset=UTF-8", d.Text)
		a.unnamedFile(directive+"encoding", "", "UTF-8")
		a.unnamedFile(directive+"mimeHint", "", "text/plain")
		return
	}
	kind := d.ContentType
	if !headerSafe(kind) {
		kind = "application/octet-stream"
	}
	a.unnamedFile(bytesPart, kind, string(d.Content))
	for _, m := range [...]struct{ name, value string }{
		{"encoding", d.Charset}, {"filename", fileName(d.URL)}, {"mimeHint", mediaType(kind)},
	} {
		if m.value != "" {
			a.unnamedFile(directive+m.name, "", m.value)
		}
	}
}

// field writes a part with a name only, and unnamedFile one with filename="".
func (a *addition) field(name, value string) {
	disposition := multipart.FileContentDisposition(name, "")
	a.part(strings.TrimSuffix(disposition, `; filename=""`), "", value)
}

func (a *addition) unnamedFile(name, contentType, value string) {
	a.part(multipart.FileContentDisposition(name, ""), contentType, value)
}

// part writes a part. The boundary is too random to stand in a value.
func (a *addition) part(disposition, contentType, value string) {
	b := &a.buf
	b.WriteString("--")
	b.WriteString(a.boundary)
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

// headerSafe says that s, which came from the web, can stand in a header.
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
