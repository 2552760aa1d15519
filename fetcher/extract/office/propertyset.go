package office

import (
	"strconv"
	"strings"
	"time"
)

// property is a value of a property set: a text, or a time.
type property struct {
	text string
	at   time.Time
}

// maxProperties bounds the properties of a set.
const maxProperties = 1000

// utf16Page is the code page of a set with UTF-16 strings.
const utf16Page = 1200

// Types of values in a property set (MS-OLEPS section 2.15).
const (
	typeInt16    = 0x02
	typeInt32    = 0x03
	typeString   = 0x1e
	typeWide     = 0x1f
	typeFileTime = 0x40
)

// propertySet returns the properties in the first set of a stream that have a name in names.
func propertySet(stream []byte, names map[uint32]string) map[string]property {
	const head, set = 28, 20 // sizes of the header, and of the entry that locates the first set
	out := map[string]property{}
	if len(stream) < head+set || le16(stream, 0) != 0xfffe {
		return out
	}
	s := part(stream, int64(le32(stream, head+16)), int64(len(stream)))
	n := min(int(le32(s, 4)), maxProperties, len(s)/8)
	page := 1252
	for i := range n {
		if v := part(s, int64(le32(s, 8+8*i+4)), 8); le32(s, 8+8*i) == 1 && le32(v, 0) == typeInt16 {
			page = le16(v, 4)
		}
	}
	for i := range n {
		if name := names[le32(s, 8+8*i)]; name != "" {
			out[name] = propertyValue(part(s, int64(le32(s, 8+8*i+4)), int64(len(s))), page)
		}
	}
	return out
}

// propertyValue decodes a value; page is the set's code page.
func propertyValue(v []byte, page int) (p property) {
	switch le32(v, 0) {
	case typeInt32:
		if n := int32(le32(v, 4)); n > 0 { //nolint:gosec // signed in the file
			p.text = strconv.Itoa(int(n))
		}
	case typeString:
		text := part(v, 8, min(int64(le32(v, 4)), maxProperty))
		if page == utf16Page {
			p.text = utf16Text(text)
		} else {
			p.text = decodePage(codePage(page), text)
		}
	case typeWide:
		p.text = utf16Text(part(v, 8, min(2*int64(le32(v, 4)), maxProperty)))
	case typeFileTime:
		p.at = fileTime(uint64(le32(v, 4)) | uint64(le32(v, 8))<<32)
	}
	p.text, _, _ = strings.Cut(p.text, "\x00")
	return p
}

// fileTime converts a time in units of 100 ns since 1601; 0 gives the zero time.
func fileTime(t uint64) time.Time {
	const from1601, perSecond = 11644473600, 10_000_000
	if t == 0 || t/perSecond < from1601 || t/perSecond > from1601+1<<34 {
		return time.Time{}
	}
	return time.Unix(int64(t/perSecond)-from1601, 0).UTC() //nolint:gosec // bounded above
}
