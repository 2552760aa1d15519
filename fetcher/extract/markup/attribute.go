package markup

// Name is an attribute that readers of pages need by name.
type Name uint8

// The attributes, in order of their names.
const (
	noName Name = iota
	Action
	Charset
	Class
	Content
	Data
	Hidden
	Href
	Hreflang
	HTTPEquiv
	ID
	Lang
	Method
	NameAttribute
	Poster
	Property
	Rel
	Src
	Srcset
	Type
	XlinkHref
	XMLLang
	names // how many there are
)

// attributeNames is constant: names by Name.
var attributeNames = [names]string{
	Action: "action", Charset: "charset", Class: "class", Content: "content", Data: "data", Hidden: "hidden", Href: "href",
	Hreflang: "hreflang", HTTPEquiv: "http-equiv", ID: "id", Lang: "lang", Method: "method", NameAttribute: "name",
	Poster: "poster", Property: "property", Rel: "rel", Src: "src", Srcset: "srcset", Type: "type", XlinkHref: "xlink:href", XMLLang: "xml:lang",
}

// String returns the attribute's name in lower case.
func (n Name) String() string { return attributeNames[n] }

// attributeTable and attributeLetters are constant.
var (
	attributeTable   = newTable(attributeNames[:])
	attributeLetters = newLetters(" \n\r\t\f/>=")
)

// Has reports whether the present start tag has any of the attributes in a set of
// 1<<Name.
func (s *Scanner) Has(set uint32) bool { return s.has&set != 0 }

// Value returns the value of an attribute of the present start tag, as written, "" if there is none; the first of
// duplicates counts. For elements that are not Attributed, only hidden is reliable, and class and id after ReadClasses.
func (s *Scanner) Value(n Name) []byte {
	from, to := s.ValueSpan(n)
	return s.page[from:to]
}

// ValueSpan returns the position of an attribute's value in the page.
func (s *Scanner) ValueSpan(n Name) (from, to int) {
	if s.has&(1<<n) == 0 {
		return 0, 0
	}
	return s.values[n].from, s.values[n].to
}

// span is a part of a page.
type span struct{ from, to int }

// readAttributes moves from the end of a tag's name to the end of the tag; false if it has none.
func (s *Scanner) readAttributes(i int) bool {
	page, all := s.page, s.tag.Is(Attributed)
	for {
		slash := false
		for i < len(page) && class[page[i]]&betweenAttributes != 0 {
			slash = page[i] == '/'
			i++
		}
		if i >= len(page) {
			return false
		}
		if page[i] == '>' {
			s.pos, s.selfClosing = i+1, slash
			return true
		}
		name, key, value, next := attribute(page, i)
		if next < 0 {
			return false
		}
		i = next
		if length := name.to - name.from; !all && length != len("hidden") && (!s.classes || length != len("class") && length != len("id")) {
			continue
		}
		if n := Name(attributeTable.findIn(attributeNames[:], page, name, key)); n != noName && s.has&(1<<n) == 0 {
			s.has |= 1 << n
			s.values[n] = value
		}
	}
}

// attribute reads the attribute that begins at i; next is negative if the page ends in it. key is the key of its name
// from readName.
func attribute(page []byte, i int) (name span, key uint64, value span, next int) {
	name.from = i
	key, i = readName(page, i, i+1, uint64(tagLetters[page[i]]), &attributeLetters) // the first may be =
	name.to = i
	for i < len(page) && class[page[i]]&isSpace != 0 {
		i++
	}
	if i >= len(page) || page[i] != '=' {
		return name, key, span{i, i}, i
	}
	for i++; i < len(page) && class[page[i]]&isSpace != 0; {
		i++
	}
	if i >= len(page) {
		return name, key, span{}, -1
	}
	switch c := page[i]; c {
	case '>':
		return name, key, span{i, i}, i
	case '"', '\'':
		i++
		end := index(page, i, c)
		if end < 0 {
			return name, key, span{}, -1
		}
		return name, key, span{i, end}, end + 1
	}
	value.from = i
	for i < len(page) && class[page[i]]&endsValue == 0 {
		i++
	}
	value.to = i
	return name, key, value, i
}
