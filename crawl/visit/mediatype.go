package visit

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
)

// refuse discards the body of a response whose MIME type is excluded. A response with an uninformative type, which may
// be a listed one, is judged after the body was read.
func (v *visit) refuse(status int, header http.Header) bool {
	contentType := header.Get("Content-Type")
	if status != http.StatusOK || v.policy.Settings.Space.MIME != nil && v.policy.Settings.Space.MIME.Include && isUnspecific(mediaType(contentType)) {
		return false
	}
	return !v.mime(contentType).Allowed
}

func (v *visit) mime(contentType string) crawlspace.Verdict {
	return v.policy.Space.JudgeMIME(policy.Recorded(v.lease.URL, &v.lease.Record), contentType)
}

// sniff sets the type of a response from its body if the declared type is uninformative, or is text although the body
// clearly is not (WHATWG MIME Sniffing). It reports whether the resulting type has a reader.
func (v *visit) sniff(r *fetcher.Response) crawlspace.Verdict {
	declared := mediaType(r.Header.Get("Content-Type"))
	shown := ""
	switch {
	case isUnspecific(declared):
		shown = signature(r.Body)
	case isText(declared) && !beginsAsText(r.Body):
		if shown = signature(r.Body); strings.HasPrefix(shown, "text/") || shown == "application/octet-stream" {
			shown = "" // another charset, or a text with a fault
		}
	}
	if shown == "" || mediaType(shown) == declared {
		return crawlspace.Verdict{Allowed: true} // as it was judged before the body was read
	}
	r.Header.Set("Content-Type", shown)
	return v.mime(shown)
}

// mediaTypeBytes is the maximum length of a type (RFC 6838): records store it.
const mediaTypeBytes = 255

// mediaType returns the type without its parameters, in lower case, or "" if it is not valid; it ignores invalid
// parameters.
func mediaType(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		t, _, _ = strings.Cut(contentType, ";")
		t, _, _ = mime.ParseMediaType(t) // "" with an error
	}
	if len(t) > mediaTypeBytes {
		return ""
	}
	return t
}

// isUnspecific reports whether a type is one that servers send for unknown content.
func isUnspecific(t string) bool {
	switch t {
	case "", "*/*", "unknown/unknown", "application/unknown", "application/octet-stream", "binary/octet-stream",
		"application/binary", "application/force-download", "application/x-download", "application/download":
		return true
	}
	return false
}

func isText(t string) bool {
	return strings.HasPrefix(t, "text/") || t == "application/xhtml+xml" || t == "application/xml"
}

// beginsAsText is a quick look that is true of nearly all pages.
func beginsAsText(body []byte) bool {
	for _, c := range body[:min(len(body), 8)] {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' || c >= utf8.RuneSelf {
			return false
		}
	}
	return !bytes.HasPrefix(body, []byte("%PDF-")) && !bytes.HasPrefix(body, []byte("PK")) && !bytes.HasPrefix(body, []byte(`{\rtf`)) &&
		!bytes.HasPrefix(body, []byte("GIF8")) && !bytes.HasPrefix(body, []byte("RIFF"))
}

// signature returns the type that a body's first bytes show. Besides the signatures of the standard it recognises those
// of documents.
func signature(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte(`{\rtf`)):
		return "application/rtf"
	case bytes.HasPrefix(body, []byte("PK\x03\x04")):
		return zipType(body)
	case bytes.HasPrefix(body, []byte("\xd0\xcf\x11\xe0")):
		return compoundType(body)
	}
	return http.DetectContentType(body)
}

// compoundType returns the type of a compound file, the container of old binary formats.
func compoundType(body []byte) string {
	switch kind, _ := documents.KindOf("", body); kind {
	case "doc":
		return "application/msword"
	case "xls":
		return "application/vnd.ms-excel"
	case "ppt":
		return "application/vnd.ms-powerpoint"
	case documents.PDF:
	}
	return "application/octet-stream"
}

// zipType returns the type of a ZIP file, by the same test as its reader.
func zipType(body []byte) string {
	const (
		openDocument = "mimetypeapplication/vnd.oasis.opendocument."
		office       = "application/vnd.openxmlformats-officedocument."
	)
	head := body[:min(len(body), 4096)]
	if len(head) > 30 && bytes.HasPrefix(head[30:], []byte(openDocument)) {
		rest := head[30+len("mimetype"):]
		end := bytes.IndexFunc(rest, func(c rune) bool { return c != '/' && c != '.' && c != '-' && (c < 'a' || c > 'z') })
		if end > 0 {
			return string(rest[:end])
		}
	}
	switch kind, _ := documents.KindOf("", body); kind {
	case "docx":
		return office + "wordprocessingml.document"
	case "xlsx":
		return office + "spreadsheetml.sheet"
	case "pptx":
		return office + "presentationml.presentation"
	case documents.PDF:
	}
	return "application/zip"
}
