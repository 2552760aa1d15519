package extract

import (
	"strings"
	"time"
)

// Converter is an external program that reads the bodies of a media type.
type Converter struct {
	// MediaType is in lower case, such as image/tiff, or image/* for all with this prefix.
	MediaType string
	// Command is the absolute path of the program, and its arguments. ConverterFile in an argument stands for the file
	// with the body; without it the body is the standard input.
	Command []string
	// Timeout is the limit for one body.
	Timeout time.Duration
	// MaxMemory bounds the memory of each of its processes, MaxOutput the output that is read, in bytes.
	MaxMemory, MaxOutput int64
	// HTML is set if it writes HTML, not text.
	HTML bool
	// OnlyWithoutText limits it to bodies in which no other reader finds text.
	OnlyWithoutText bool
}

// ConverterFile in an argument stands for the path of the file with the body.
const ConverterFile = "{file}"

// matches reports whether the converter is for a media type, which is in lower case and without parameters.
func (c *Converter) matches(mediaType string) bool {
	if top, all := strings.CutSuffix(c.MediaType, "*"); all {
		return strings.HasPrefix(mediaType, top)
	}
	return mediaType == c.MediaType
}

// ConverterOf returns the first converter for a media type, nil if there is none.
func ConverterOf(list []Converter, mediaType string) *Converter {
	for i := range list {
		if list[i].matches(mediaType) {
			return &list[i]
		}
	}
	return nil
}

// Converted returns the page for a converter's output. The output describes the document only: its HTML redirects
// nowhere, and is not a copy of another URL.
func (c *Converter) Converted(output []byte) (p Page, err error) {
	if c.HTML {
		p, err = HTML(output, "text/html; charset=utf-8", Options{})
		p = Page{Title: p.Title, Text: p.Text, Language: p.Language, Charset: p.Charset, Base: p.Base, Metas: p.Metas, Links: p.Links, LinksCut: p.LinksCut, Robots: p.Robots}
	} else {
		p, err = Text(output, "text/plain; charset=utf-8")
	}
	p.Converter = c.Command[0]
	return p, err
}
