package markup

// Tag is an element that readers of pages need by name; Other is any other.
type Tag uint8

// The elements, in order of their names.
const (
	Other Tag = iota
	A
	Address
	Applet
	Area
	Article
	Aside
	Audio
	B
	Base
	Big
	Blockquote
	Body
	Br
	Button
	Canvas
	Caption
	Center
	Code
	Col
	Colgroup
	Dd
	Desc
	Details
	Dialog
	Dir
	Div
	Dl
	Dt
	Em
	Embed
	Fieldset
	Figcaption
	Figure
	Footer
	ForeignObject
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
	I
	Iframe
	Img
	Input
	Legend
	Li
	Link
	Listing
	Main
	Marquee
	Math
	Menu
	Meta
	Metadata
	Meter
	Nav
	Nobr
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
	Ruby
	S
	Script
	Search
	Section
	Select
	Small
	Source
	Span
	Strike
	Strong
	Style
	Sub
	Summary
	Sup
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
	Tt
	U
	Ul
	Var
	Video
	Wbr
	Xmp
	Tags // how many there are
)

// tagTable and tagLetters are constant.
var (
	tagTable   = newTable(tagNames[:])
	tagLetters = newLetters(" \n\r\t\f/>")
)

// Lookup returns the element of a name in any case, Other if it is not in the list.
func Lookup(name []byte) Tag {
	key, end := readName(name, 0, 0, 0, &tagLetters)
	if end < len(name) {
		return Other
	}
	return Tag(tagTable.findIn(tagNames[:], name, span{0, end}, key))
}

// String returns the element's name in lower case, empty for Other.
func (t Tag) String() string { return tagNames[t] }

// Is reports whether an element has any of some properties.
func (t Tag) Is(p Properties) bool { return tagProperties[t]&p != 0 }
