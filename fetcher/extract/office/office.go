// Package office reads the documents of word processors, spreadsheets and presentations: Office Open XML (ECMA-376),
// OpenDocument (ISO/IEC 26300), RTF 1.9.1, and the binary formats of Office 97 to 2003 (MS-DOC, MS-XLS, MS-PPT). It
// reads text, properties and links, unpacks no more than it needs, executes nothing, and opens nothing outside the
// body.
package office

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// Format is a kind of document.
type Format string

// The formats, which include their templates and documents with macros.
const (
	DOCX Format = "docx"
	XLSX Format = "xlsx"
	PPTX Format = "pptx"
	ODT  Format = "odt"
	ODS  Format = "ods"
	ODP  Format = "odp"
	RTF  Format = "rtf"
	DOC  Format = "doc"
	XLS  Format = "xls"
	PPT  Format = "ppt"
)

// Read reads a document. If a part of it is damaged or too large, or ctx ends, the page contains the part that was
// read, and has the meta truncated; if that is empty, Read returns an error: extract.ErrEncrypted, extract.ErrTooLarge
// or another.
func Read(ctx context.Context, format Format, body []byte) (extract.Page, error) {
	b := &extract.Builder{}
	var err error
	switch format {
	case RTF:
		err = readRTF(ctx, body, b)
	case DOC, XLS, PPT:
		err = readLegacy(ctx, format, body, b)
	case DOCX, XLSX, PPTX, ODT, ODS, ODP:
		err = readPackage(ctx, format, body, b)
	}
	if err != nil {
		if !b.HasText() {
			return extract.Page{}, err
		}
		b.Cut()
	}
	return b.Page(), nil
}

func readPackage(ctx context.Context, format Format, body []byte, b *extract.Builder) error {
	if IsCompound(body) {
		return compoundError(body)
	}
	a, err := openArchive(ctx, body)
	if err != nil {
		return err
	}
	switch format {
	case DOCX:
		return readDOCX(a, b)
	case XLSX:
		return readXLSX(a, b)
	case PPTX:
		return readPPTX(a, b)
	case ODT, ODS, ODP:
		return readODF(a, b)
	case RTF, DOC, XLS, PPT: // not archives: handled above
	}
	return fmt.Errorf("%q is not a supported format", format)
}

func compoundError(body []byte) error {
	if bytes.Contains(body, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")) {
		return extract.ErrEncrypted
	}
	return errors.New("it has an old binary format, but is declared as a new one")
}
