// Package documents reads documents that are not pages, such as PDF files, in separate processes: a parser that loops,
// crashes or exhausts the memory affects only one document.
//
// A Pool owns the worker processes: it has no goroutine of its own, and one mutex, for the list of idle workers. In a
// worker's process, Serve has two goroutines; Supervise, which runs an external converter, has one besides the
// caller's.
package documents

import (
	"bytes"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract/office"
)

// Kind is a kind of document, as status and metrics show it.
type Kind string

// PDF is the kind that is not one of package office.
const PDF Kind = "pdf"

// page is the kind for Search, which KindOf never returns.
const page Kind = "page"

// Media types as registered with IANA, and others in use for the same.
const (
	ooxml = "application/vnd.openxmlformats-officedocument."
	odf   = "application/vnd.oasis.opendocument."
	macro = ".macroenabled.12"
)

// KindOf decides by the first bytes if the declared type is one of a document or unspecific, and by the declared type
// if the bytes are inconclusive. It trusts any other declared type, such as text/html.
func KindOf(contentType string, body []byte) (Kind, bool) {
	if len(body) == 0 {
		return "", false
	}
	t := mediaType(contentType)
	declared := declaredKind(t)
	legacy, isLegacy := legacyKind(t)
	if declared == "" && !isUnspecific(t) && !isLegacy {
		return "", false
	}
	if kind := sniff(body); kind != "" {
		return kind, true
	}
	if office.IsCompound(body) && isLegacy { // it may be truncated: its reader reports that
		declared = legacy
	}
	return declared, declared != ""
}

// legacyKind returns the kind of a declared type of the old binary formats, "" if that may be several. Servers use
// these types for much else, such as HTML tables, so the bytes must confirm a compound file.
func legacyKind(mediaType string) (kind Kind, ok bool) {
	switch mediaType {
	case "application/msword", "application/vnd.ms-word", "application/x-msword":
		return Kind(office.DOC), true
	case "application/vnd.ms-excel", "application/msexcel", "application/x-msexcel", "application/x-excel":
		return Kind(office.XLS), true
	case "application/vnd.ms-powerpoint", "application/mspowerpoint", "application/x-mspowerpoint":
		return Kind(office.PPT), true
	case "application/x-ole-storage", "application/x-cfb":
		return "", true
	}
	return "", false
}

// isUnspecific reports whether servers send a type for unknown content.
func isUnspecific(mediaType string) bool {
	switch mediaType {
	case "", "*/*", "unknown/unknown", "application/unknown", "application/octet-stream", "binary/octet-stream",
		"application/binary", "application/force-download", "application/x-download", "application/download",
		"application/zip", "application/x-zip-compressed":
		return true
	}
	return false
}

func declaredKind(mediaType string) Kind {
	switch mediaType {
	case "application/pdf", "application/x-pdf", "text/pdf", "application/acrobat":
		return PDF
	case "application/rtf", "text/rtf", "application/x-rtf", "text/richtext":
		return Kind(office.RTF)
	case ooxml + "wordprocessingml.document", ooxml + "wordprocessingml.template",
		"application/vnd.ms-word.document" + macro, "application/vnd.ms-word.template" + macro:
		return Kind(office.DOCX)
	case ooxml + "spreadsheetml.sheet", ooxml + "spreadsheetml.template",
		"application/vnd.ms-excel.sheet" + macro, "application/vnd.ms-excel.template" + macro:
		return Kind(office.XLSX)
	case ooxml + "presentationml.presentation", ooxml + "presentationml.template", ooxml + "presentationml.slideshow",
		"application/vnd.ms-powerpoint.presentation" + macro, "application/vnd.ms-powerpoint.slideshow" + macro:
		return Kind(office.PPTX)
	}
	return odfKind(mediaType)
}

func odfKind(mediaType string) Kind {
	switch strings.TrimSuffix(mediaType, "-template") {
	case odf + "text", odf + "text-master", odf + "text-web":
		return Kind(office.ODT)
	case odf + "spreadsheet":
		return Kind(office.ODS)
	case odf + "presentation":
		return Kind(office.ODP)
	}
	return ""
}

// IsPDF reports whether a Content-Type declares a PDF file.
func IsPDF(contentType string) bool {
	return declaredKind(mediaType(contentType)) == PDF
}

// mediaType returns the type without its parameters, in lower case.
func mediaType(contentType string) string {
	t, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

const (
	// pdfHeaderWithin is how far into a PDF file readers search for its header.
	pdfHeaderWithin = 1024
	// directoryBytes at the end of an archive are searched for the names of parts.
	directoryBytes = 64 << 10
)

// sniff decides by the bytes alone, "" if their kind is unknown.
func sniff(body []byte) Kind {
	start := bytes.TrimLeft(body[:min(len(body), pdfHeaderWithin)], " \t\r\n\ufeff")
	switch {
	case bytes.HasPrefix(start, []byte(`{\rtf`)):
		return Kind(office.RTF)
	case bytes.HasPrefix(body, []byte("PK\x03\x04")):
		return sniffArchive(body)
	case office.IsCompound(body):
		return sniffCompound(body)
	case bytes.Contains(start, []byte("%PDF-")) && !bytes.HasPrefix(start, []byte("<")):
		return PDF
	}
	return ""
}

// sniffArchive looks for the required parts of each kind: OpenDocument begins with its type, Office Open XML has parts
// with fixed names. Nothing is unpacked.
func sniffArchive(body []byte) Kind {
	head := body[:min(len(body), 256)]
	if at := bytes.Index(head, []byte("mimetype"+odf)); at >= 0 {
		mediaType := string(head[at+len("mimetype"):])
		for i, c := range mediaType {
			if (c < 'a' || c > 'z') && c != '.' && c != '-' && c != '/' {
				mediaType = mediaType[:i]
				break
			}
		}
		return odfKind(mediaType)
	}
	for _, part := range []struct {
		name string
		kind office.Format
	}{
		{"word/document", office.DOCX}, {"xl/workbook.xml", office.XLSX}, {"ppt/presentation.xml", office.PPTX},
	} {
		if bytes.Contains(body[max(len(body)-directoryBytes, 0):], []byte(part.name)) ||
			bytes.Contains(body[:min(len(body), directoryBytes)], []byte(part.name)) {
			return Kind(part.kind)
		}
	}
	return ""
}

// sniffCompound looks for the required stream of each old format, by its name in the directory: with embedded
// documents, the document's own stream comes first. The envelope of an encrypted new document has the declared kind.
func sniffCompound(body []byte) Kind {
	var kind Kind
	first := len(body)
	for _, stream := range []struct {
		name string
		kind office.Format
	}{
		{"PowerPoint Document", office.PPT}, {"WordDocument", office.DOC}, {"Workbook", office.XLS}, {"Book", office.XLS},
	} {
		if at := bytes.Index(body[:first], directoryName(stream.name)); at >= 0 {
			kind, first = Kind(stream.kind), at
		}
	}
	return kind
}

// directoryName returns a name in the form of a compound file's directory: in UTF-16, zero-terminated.
func directoryName(name string) []byte {
	b := make([]byte, 0, 2*len(name)+2)
	for _, c := range []byte(name) {
		b = append(b, c, 0)
	}
	return append(b, 0, 0)
}
