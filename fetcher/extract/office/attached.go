package office

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// drawn reads the related parts of the given kinds with text of drawings: SmartArt (diagramData), charts, and the
// drawings of a sheet with their own SmartArt and charts.
func (a *archive) drawn(of *relations, b *extract.Builder, kinds ...string) error {
	for _, kind := range kinds {
		for _, part := range of.parts(kind) {
			b.Break()
			if err := a.walk(part, &words{b: b}); err != nil && !errors.Is(err, errNoPart) {
				return err
			}
			if kind != "drawing" {
				continue
			}
			inner := a.relationsOf(part)
			if err := a.drawn(&inner, b, "diagramData", "chart"); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunks reads the parts in other formats that a document includes (ECMA-376 part 1, section 17.17.2): HTML, a web
// archive, text or RTF. It does not open included Office documents.
func (a *archive) chunks(of *relations, b *extract.Builder) error {
	for _, name := range of.parts("aFChunk") {
		f := a.parts[partName(name)]
		if f == nil {
			continue
		}
		packed, err := f.Open()
		if err != nil {
			return err
		}
		body, err := io.ReadAll(&meter{packed, a})
		_ = packed.Close()
		b.Break()
		switch {
		case err != nil:
			return err
		case bytes.HasPrefix(body, []byte(`{\rtf`)):
			err = readRTF(a.ctx, body, b)
		case !bytes.HasPrefix(body, []byte("PK\x03\x04")):
			err = readHTML(body, b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readHTML adds text and links of a page, or of the page in a web archive (RFC 2557).
func readHTML(body []byte, b *extract.Builder) error {
	contentType := "text/html"
	if m, err := mail.ReadMessage(bytes.NewReader(body)); err == nil && m.Header.Get("MIME-Version") != "" {
		if body, contentType, err = pageIn(m); err != nil {
			return err
		}
	}
	p, err := extract.HTML(body, contentType, extract.Options{})
	if err != nil {
		return err
	}
	b.Write([]byte(p.Text))
	for _, l := range p.Links {
		b.Link(l.Href)
	}
	return nil
}

// pageIn returns the first page of a message, decoded, with its media type.
func pageIn(m *mail.Message) (body []byte, contentType string, err error) {
	_, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return nil, "", err
	}
	r := multipart.NewReader(m.Body, parameters["boundary"])
	for {
		part, err := r.NextPart() // decodes quoted-printable
		if err != nil {
			return nil, "", err
		}
		contentType = part.Header.Get("Content-Type")
		if !extract.IsHTML(contentType, nil) {
			continue
		}
		var in io.Reader = part
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			in = base64.NewDecoder(base64.StdEncoding, part)
		}
		body, err = io.ReadAll(in)
		return body, contentType, err
	}
}
