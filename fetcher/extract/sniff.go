package extract

import (
	"bytes"
	"net/http"
	"strings"
)

// IsHTML reports whether HTML should read a body: by its Content-Type or, if that is missing or unspecific, by its
// first bytes (WHATWG MIME Sniffing). XML with the root html is XHTML, whatever kind of XML the header declares.
func IsHTML(contentType string, body []byte) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		return true
	case "", "*/*", "unknown/unknown", "application/unknown":
		return strings.HasPrefix(http.DetectContentType(body), "text/html") || rootIsHTML(body)
	case "text/xml", "application/xml":
		return rootIsHTML(body)
	}
	return false
}

// rootIsHTML checks the first tag that is not a declaration or comment.
func rootIsHTML(body []byte) bool {
	body = bytes.TrimPrefix(body[:min(len(body), 4096)], []byte("\ufeff"))
	for {
		start := bytes.IndexByte(body, '<')
		if start < 0 || start+1 == len(body) {
			return false
		}
		body = body[start+1:]
		end := []byte(">")
		switch {
		case bytes.HasPrefix(body, []byte("!--")):
			end = []byte("-->")
		case body[0] == '?' || body[0] == '!':
		default:
			return len(body) > 4 && bytes.EqualFold(body[:4], []byte("html")) && bytes.IndexByte([]byte(" \t\r\n>/"), body[4]) >= 0
		}
		var ok bool
		if _, body, ok = bytes.Cut(body, end); !ok {
			return false
		}
	}
}
