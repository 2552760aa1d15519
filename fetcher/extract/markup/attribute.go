package markup

import "bytes"

// Attribute is one of a start tag, as written.
type Attribute struct{ Name, Value []byte }

// Attributes goes over the attributes of a start tag. Of two with one name the
// first counts, which is for the caller to see to.
type Attributes struct {
	tag []byte // from behind the name to before the >
	at  int
}

// Attributes are those of the present start tag.
func (s *Scanner) Attributes() Attributes {
	return Attributes{tag: s.page[s.attributes : s.pos-1]}
}

// skipAttributes goes behind the > of a tag; false if there is none.
func (s *Scanner) skipAttributes() bool {
	page, i := s.page, s.end
	for i < len(page) {
		c := page[i]
		switch {
		case c == '>':
			s.pos = i + 1
			return true
		case class[c]&isSpace != 0 || c == '/':
			i++
			continue
		}
		for i++; i < len(page) && class[page[i]]&endsKey == 0; { // the first may be =
			i++
		}
		i = skipSpace(page, i)
		if i >= len(page) || page[i] != '=' {
			continue
		}
		var ok bool
		if _, _, i, ok = value(page, i+1); !ok {
			return false
		}
	}
	return false
}

// Next gives the next attribute with a name; false after the last.
func (a *Attributes) Next() (Attribute, bool) {
	tag, i := a.tag, a.at
	for i < len(tag) && (class[tag[i]]&isSpace != 0 || tag[i] == '/') {
		i++
	}
	if i >= len(tag) {
		a.at = i
		return Attribute{}, false
	}
	start := i
	for i++; i < len(tag) && class[tag[i]]&endsKey == 0; {
		i++
	}
	got := Attribute{Name: tag[start:i]}
	if i = skipSpace(tag, i); i < len(tag) && tag[i] == '=' {
		var from, to int
		from, to, i, _ = value(tag, i+1)
		got.Value = tag[from:to]
	}
	a.at = i
	return got, true
}

// value reads what follows the = of an attribute; false if the page ends in it.
func value(page []byte, i int) (from, to, next int, ok bool) {
	i = skipSpace(page, i)
	if i >= len(page) {
		return i, i, i, false
	}
	switch c := page[i]; c {
	case '>':
		return i, i, i, true
	case '"', '\'':
		i++
		n := bytes.IndexByte(page[i:], c)
		if n < 0 {
			return i, len(page), len(page), false
		}
		return i, i + n, i + n + 1, true
	}
	from = i
	for i < len(page) && page[i] != '>' && class[page[i]]&isSpace == 0 {
		i++
	}
	return from, i, i, true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && class[b[i]]&isSpace != 0 {
		i++
	}
	return i
}
