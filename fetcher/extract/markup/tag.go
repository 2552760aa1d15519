package markup

// Tag is an element that a reader of pages must know by name; Other is any other.
type Tag uint8

// The elements, in order of their names.
const (
	Other Tag = iota
	A
	Address
	Area
	Article
	Aside
	Audio
	Base
	Blockquote
	Body
	Br
	Button
	Canvas
	Caption
	Center
	Col
	Colgroup
	Dd
	Details
	Dialog
	Dir
	Div
	Dl
	Dt
	Embed
	Fieldset
	Figcaption
	Figure
	Footer
	Form
	Frame
	Frameset
	H1
	H2
	H3
	H4
	H5
	H6
	Head
	Header
	Hgroup
	Hr
	HTML
	Iframe
	Img
	Input
	Legend
	Li
	Link
	Listing
	Main
	Math
	Menu
	Meta
	Meter
	Nav
	Noembed
	Noframes
	Noscript
	Object
	Ol
	Optgroup
	Option
	P
	Param
	Plaintext
	Pre
	Progress
	Script
	Search
	Section
	Select
	Source
	Style
	Summary
	Svg
	Table
	Tbody
	Td
	Template
	Textarea
	Tfoot
	Th
	Thead
	Title
	Tr
	Track
	Ul
	Video
	Wbr
	Xmp
	tags // how many there are
)

// Properties of elements.
type properties uint8

const (
	isRaw     properties = 1 << iota // its content is no markup
	isVoid                           // no content and no end tag
	isBlock                          // displayed as a block or a part of a table
	separates                        // stands between words though it is no block
	inHead                           // may stand in the head
)

// element is what is known of a Tag.
type element struct {
	name string
	properties
}

// elements is constant: names and properties by Tag (WHATWG HTML, "void elements",
// "parsing", and the suggested style sheet of section 15.3).
var elements = [tags]element{
	A:          {"a", 0},
	Address:    {"address", isBlock},
	Area:       {"area", isVoid},
	Article:    {"article", isBlock},
	Aside:      {"aside", isBlock},
	Audio:      {"audio", separates},
	Base:       {"base", isVoid | inHead},
	Blockquote: {"blockquote", isBlock},
	Body:       {"body", isBlock},
	Br:         {"br", isVoid | separates},
	Button:     {"button", separates},
	Canvas:     {"canvas", separates},
	Caption:    {"caption", isBlock},
	Center:     {"center", isBlock},
	Col:        {"col", isVoid},
	Colgroup:   {"colgroup", isBlock},
	Dd:         {"dd", isBlock},
	Details:    {"details", isBlock},
	Dialog:     {"dialog", isBlock},
	Dir:        {"dir", isBlock},
	Div:        {"div", isBlock},
	Dl:         {"dl", isBlock},
	Dt:         {"dt", isBlock},
	Embed:      {"embed", isVoid | separates},
	Fieldset:   {"fieldset", isBlock},
	Figcaption: {"figcaption", isBlock},
	Figure:     {"figure", isBlock},
	Footer:     {"footer", isBlock},
	Form:       {"form", isBlock},
	Frame:      {"frame", isVoid | isBlock},
	Frameset:   {"frameset", isBlock},
	H1:         {"h1", isBlock},
	H2:         {"h2", isBlock},
	H3:         {"h3", isBlock},
	H4:         {"h4", isBlock},
	H5:         {"h5", isBlock},
	H6:         {"h6", isBlock},
	Head:       {"head", separates | inHead},
	Header:     {"header", isBlock},
	Hgroup:     {"hgroup", isBlock},
	Hr:         {"hr", isVoid | separates},
	HTML:       {"html", isBlock | inHead},
	Iframe:     {"iframe", isRaw | separates},
	Img:        {"img", isVoid | separates},
	Input:      {"input", isVoid | separates},
	Legend:     {"legend", isBlock},
	Li:         {"li", isBlock},
	Link:       {"link", isVoid | inHead},
	Listing:    {"listing", isBlock},
	Main:       {"main", isBlock},
	Math:       {"math", separates},
	Menu:       {"menu", isBlock},
	Meta:       {"meta", isVoid | inHead},
	Meter:      {"meter", separates},
	Nav:        {"nav", isBlock},
	Noembed:    {"noembed", isRaw},
	Noframes:   {"noframes", isRaw},
	Noscript:   {"noscript", isRaw | inHead},
	Object:     {"object", separates},
	Ol:         {"ol", isBlock},
	Optgroup:   {"optgroup", separates},
	Option:     {"option", separates},
	P:          {"p", isBlock},
	Param:      {"param", isVoid},
	Plaintext:  {"plaintext", isRaw | isBlock},
	Pre:        {"pre", isBlock},
	Progress:   {"progress", separates},
	Script:     {"script", isRaw | inHead},
	Search:     {"search", isBlock},
	Section:    {"section", isBlock},
	Select:     {"select", separates},
	Source:     {"source", isVoid},
	Style:      {"style", isRaw | inHead},
	Summary:    {"summary", isBlock},
	Svg:        {"svg", separates},
	Table:      {"table", isBlock},
	Tbody:      {"tbody", isBlock},
	Td:         {"td", isBlock},
	Template:   {"template", inHead},
	Textarea:   {"textarea", isRaw | separates},
	Tfoot:      {"tfoot", isBlock},
	Th:         {"th", isBlock},
	Thead:      {"thead", isBlock},
	Title:      {"title", isRaw | separates | inHead},
	Tr:         {"tr", isBlock},
	Track:      {"track", isVoid},
	Ul:         {"ul", isBlock},
	Video:      {"video", separates},
	Wbr:        {"wbr", isVoid},
	Xmp:        {"xmp", isRaw | isBlock},
}

func (t Tag) is(p properties) bool { return elements[t].properties&p != 0 }

// String is the element's name in lower case, empty for Other.
func (t Tag) String() string { return elements[t].name }

// IsVoid says that an element has no content and no end tag.
func (t Tag) IsVoid() bool { return t.is(isVoid) }

// IsBlock says that an element is a block or a part of a table; the start of most
// of them ends a paragraph.
func (t Tag) IsBlock() bool { return t.is(isBlock) }

// Separates says that an element's tags stand between words: all that is not
// displayed inline, and what is replaced by something else.
func (t Tag) Separates() bool { return t.is(isBlock | separates) }

// InHead says that an element may stand in the head.
func (t Tag) InHead() bool { return t.is(inHead) }

// longestName is that of blockquote and figcaption.
const longestName = 10

// lookup finds the element of a name in any case.
func lookup(name []byte) Tag {
	if len(name) > longestName {
		return Other
	}
	var key uint64
	var folded [longestName]byte
	for i, c := range name {
		if c-'A' <= 'Z'-'A' {
			c |= 0x20
		}
		folded[i] = c
		key = key*hashFactor + uint64(c)
	}
	t := byHash[key%hashSize]
	if elements[t].name == string(folded[:len(name)]) {
		return t
	}
	return Other
}

// The hash of names is perfect for those of the elements; a test sees to it.
const (
	hashFactor = 117
	hashSize   = 1024
)

// byHash is constant: elements by the hash of their names.
var byHash = func() (t [hashSize]Tag) {
	for tag := Other + 1; tag < tags; tag++ {
		var key uint64
		for _, c := range []byte(elements[tag].name) {
			key = key*hashFactor + uint64(c)
		}
		t[key%hashSize] = tag
	}
	return t
}()
