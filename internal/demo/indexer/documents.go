package indexer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// document is a document in the index. The JSON names are the index's fields.
type document struct {
	Connector   string   `json:"connector"`
	URL         string   `json:"url"`
	Stamp       string   `json:"stamp"`
	Title       string   `json:"title"`
	Text        string   `json:"text"`
	Source      string   `json:"source"`
	ContentType string   `json:"content_type"`
	Metas       string   `json:"metas"` // JSON of name to list
	MetaValues  []string `json:"meta_values"`
}

// size returns about the memory of d, in bytes.
func (d *document) size() int64 {
	n := len(d.Connector) + len(d.URL) + len(d.Stamp) + len(d.Title) + len(d.Text) + len(d.Source) + len(d.ContentType) + len(d.Metas)
	for _, v := range d.MetaValues {
		n += len(v) + 16
	}
	return int64(n)
}

// draft is a document of a request that is being read.
type draft struct {
	uri, stamp  string
	hasURI      bool
	metas       map[string][]string
	body        []byte
	hasBody     bool
	contentType string
	directives  map[string]string
	stamped     bool
}

// readDocuments reads the body of add_documents, in the order of the first parts of its ids. It keeps as many requests
// in memory as fit into MaxRequestBytes.
func (s *Server) readDocuments(r *http.Request) ([]*document, error) {
	limit := s.settings.MaxRequestBytes
	room := r.ContentLength
	if room > limit {
		return nil, tooLarge(limit)
	}
	if room < 0 {
		room = limit
	}
	if err := s.reading.Acquire(r.Context(), room); err != nil {
		return nil, err
	}
	defer s.reading.Release(room)

	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, badRequest("Content-Type %s: send multipart/form-data with a boundary", quote(r.Header.Get("Content-Type")))
	}
	body := &io.LimitedReader{R: r.Body, N: limit + 1}
	docs, err := parseDocuments(body, params["boundary"], s.settings.MaxParts)
	if body.N <= 0 {
		return nil, tooLarge(limit)
	}
	return docs, err
}

func tooLarge(limit int64) error {
	return badRequest("the request is larger than %d bytes: send fewer documents at once", limit)
}

// parseDocuments parses a whole multipart body.
func parseDocuments(body io.Reader, boundary string, maxParts int) ([]*document, error) {
	whole := &tailReader{r: body, last: make([]byte, 0, len(boundary)+tailRoom)}
	drafts, err := readParts(multipart.NewReader(whole, boundary), maxParts)
	if err != nil {
		return nil, err
	}
	if err := whole.complete(boundary); err != nil {
		return nil, err
	}
	if len(drafts) == 0 {
		return nil, badRequest("the request contains no document")
	}
	docs := make([]*document, len(drafts))
	for i, d := range drafts {
		if docs[i], err = d.document(); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// tailReader keeps the last bytes that it read, because multipart.Reader accepts a body that is cut off between two
// parts.
type tailReader struct {
	r    io.Reader
	last []byte // the last cap(last) bytes
}

// tailRoom is for the dashes and the white space after the last boundary.
const tailRoom = 64

func (t *tailReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	news := p[:n]
	if over := len(t.last) + n - cap(t.last); over > 0 {
		t.last = t.last[:copy(t.last, t.last[min(over, len(t.last)):])]
		news = news[max(0, n-cap(t.last)):]
	}
	t.last = append(t.last, news...)
	return n, err
}

// complete reads to the end and checks that the last boundary is there.
func (t *tailReader) complete(boundary string) error {
	_, err := io.Copy(io.Discard, t)
	if err != nil || !bytes.HasSuffix(bytes.TrimRight(t.last, " \t\r\n"), []byte("--"+boundary+"--")) {
		return badRequest("multipart body: it does not end with its last boundary, so it was cut off")
	}
	return nil
}

// readParts sorts the parts into documents, in the order of their first parts.
func readParts(parts *multipart.Reader, maxParts int) ([]*draft, error) {
	drafts := map[string]*draft{}
	var order []*draft
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break // or cut off: see complete
		}
		if err != nil {
			return nil, badRequest("multipart body: part %d: %v", n+1, err)
		}
		if n == maxParts {
			return nil, badRequest("more than %d parts: send fewer documents at once", maxParts)
		}
		name := part.FormName()
		id, field, ok := splitPartName(name)
		if !ok {
			return nil, badRequest("unknown part %s: names are PAPI_<id>:uri, stamp, meta:<name>, part_bytes:master, "+
				"part_directive:master:encoding, filename or mimeHint, directive:datamodel_class", quote(name))
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, badRequest("part %s: %v", quote(name), err)
		}
		d, ok := drafts[id]
		if !ok {
			d = &draft{metas: map[string][]string{}, directives: map[string]string{}}
			drafts[id] = d
			order = append(order, d)
		}
		if err := d.take(field, content, part.Header.Get("Content-Type")); err != nil {
			return nil, badRequest("part %s: %v", quote(name), err)
		}
	}
	return order, nil
}

// splitPartName splits PAPI_<id>:<field>, for known fields.
func splitPartName(name string) (id, field string, ok bool) {
	rest, ok := strings.CutPrefix(name, "PAPI_")
	if !ok {
		return "", "", false
	}
	id, field, ok = strings.Cut(rest, ":")
	if !ok || id == "" || !isPlain(name) {
		return "", "", false
	}
	switch field {
	case "uri", "stamp", "part_bytes:master", "part_directive:master:encoding",
		"part_directive:master:filename", "part_directive:master:mimeHint", "directive:datamodel_class":
		return id, field, true
	}
	meta, ok := strings.CutPrefix(field, "meta:")
	return id, field, ok && meta != ""
}

// maxText bounds the searchable text of a document, and a meta's value, in bytes.
const maxText = 1 << 20

func (d *draft) take(field string, content []byte, contentType string) error {
	if field == "part_bytes:master" {
		if d.hasBody {
			return errors.New("given twice: a document has one master part")
		}
		d.body, d.hasBody, d.contentType = content, true, contentType
		return nil
	}
	if !utf8.Valid(content) {
		return errors.New("not UTF-8")
	}
	value := string(content)
	if name, ok := strings.CutPrefix(field, "meta:"); ok {
		if len(value) > maxText {
			return badRequest("longer than %d bytes", maxText)
		}
		d.metas[name] = append(d.metas[name], value)
		return nil
	}
	switch field {
	case "uri":
		if d.hasURI {
			return errors.New("given twice: an id stands for one document")
		}
		d.uri, d.hasURI = value, true
		return checkURI(value)
	case "stamp":
		if d.stamped {
			return errors.New("given twice")
		}
		d.stamped, d.stamp = true, value
		if len(value) > maxURI {
			return badRequest("longer than %d bytes", maxURI)
		}
		return nil
	}
	if _, twice := d.directives[field]; twice {
		return errors.New("given twice")
	}
	d.directives[field] = value
	return nil
}

// document completes a draft with the text of the master part.
func (d *draft) document() (*document, error) {
	if !d.hasURI {
		return nil, badRequest("a document has no uri part: each id requires PAPI_<id>:uri")
	}
	contentType := d.contentType
	if contentType == "" {
		contentType = d.directives["part_directive:master:mimeHint"]
	}
	title, text := extract(d.body, contentType, d.directives["part_directive:master:encoding"])
	if given := d.metas["title"]; len(given) > 0 {
		title = given[0]
	}
	out := &document{URL: d.uri, Stamp: d.stamp, Title: title, Text: text, ContentType: contentType}
	if source := d.metas["source"]; len(source) > 0 {
		out.Source = source[0]
	}
	for name, values := range d.metas {
		if name != "title" {
			out.MetaValues = append(out.MetaValues, values...)
		}
	}
	slices.Sort(out.MetaValues)
	encoded, err := json.Marshal(d.metas)
	out.Metas = string(encoded)
	return out, err
}
