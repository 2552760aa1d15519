package indexer

import (
	"bytes"
	"io"
	"mime"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// extract returns title and searchable text of a master part. Text of types other than plain text and HTML is empty.
// encoding overrides the charset of contentType; without either, and for an unknown name, it is UTF-8. Invalid bytes
// become U+FFFD.
func extract(body []byte, contentType, encoding string) (title, text string) {
	kind, params, _ := mime.ParseMediaType(contentType) // an invalid type has no text
	if encoding == "" {
		encoding = params["charset"]
	}
	switch kind {
	case "text/plain":
		plain, _ := io.ReadAll(io.LimitReader(decoded(body, encoding), maxText)) // from memory: no error
		return "", strings.ToValidUTF8(string(plain), "�")
	case "text/html", "application/xhtml+xml":
		return htmlText(decoded(body, encoding))
	}
	return "", ""
}

func decoded(body []byte, encoding string) io.Reader {
	if encoding != "" {
		if e, name := charset.Lookup(encoding); e != nil && name != "utf-8" {
			return e.NewDecoder().Reader(bytes.NewReader(body))
		}
	}
	return bytes.NewReader(body)
}

// maxToken bounds one tag or comment, in bytes; a longer one ends the text.
const maxToken = 4 << 20

// htmlText reads to the end of the page or to maxText.
func htmlText(r io.Reader) (title, text string) {
	tokens := html.NewTokenizer(r)
	tokens.SetMaxBuf(maxToken)
	var out, heading strings.Builder
	skip := atom.Atom(0) // the element whose content is not text
	inTitle := false
	for out.Len() < maxText {
		switch tokens.Next() {
		case html.ErrorToken:
			return squeeze(heading.String()), squeeze(out.String())
		case html.TextToken:
			switch {
			case inTitle && heading.Len() < maxText:
				heading.Write(tokens.Text())
			case skip == 0 && !inTitle:
				out.Write(tokens.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := tokens.TagName()
			tag := atom.Lookup(name)
			if skip == 0 && (tag == atom.Script || tag == atom.Style) {
				skip = tag
			}
			inTitle = inTitle || tag == atom.Title
			separate(&out, tag)
		case html.EndTagToken:
			name, _ := tokens.TagName()
			tag := atom.Lookup(name)
			if tag == skip {
				skip = 0
			}
			inTitle = inTitle && tag != atom.Title
			separate(&out, tag)
		}
	}
	return squeeze(heading.String()), squeeze(out.String())
}

// separate ends a word, except at tags within words.
func separate(out *strings.Builder, tag atom.Atom) {
	switch tag {
	case atom.A, atom.Abbr, atom.B, atom.Code, atom.Em, atom.Font, atom.I, atom.Mark, atom.Small,
		atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.U, atom.Wbr:
	default:
		out.WriteByte(' ')
	}
}

// squeeze collapses white space, and makes v valid and at most about maxText bytes long.
func squeeze(v string) string {
	v = v[:min(len(v), maxText)]
	return strings.Join(strings.Fields(strings.ToValidUTF8(v, "�")), " ")
}
