package tree

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/push"
)

// Limits of the chunks of one page.
const (
	maxChunks     = 1000
	maxChunkBytes = 1 << 20 // of all together, with headings
	maxHeading    = 200     // bytes of a heading, and of an anchor
)

// chunker divides a content at its headings, and a longer section at the end of a block or, in a block that is longer
// itself, of a sentence.
type chunker struct {
	ctx   context.Context
	words int // of a chunk, at most
	left  int // bytes
	cut   bool

	all      []push.Chunk
	headings [6]string // that are open, by level
	anchor   string    // of the section
	pending  string    // the last anchor, unless text or a heading came behind it

	text   []byte // of the chunk
	size   int    // words in text
	block  []token
	length int // words in block
	glued  bool
}

// token is a word, or a part of a text without blanks.
type token struct {
	text  string
	words int
	glued bool // no blank before it
	ends  bool // a sentence
}

// chunks returns those of the page, or of its main content if that is the document's text.
func (p *page) chunks(words int) (all []push.Chunk, cut bool) {
	c := chunker{ctx: p.ctx, words: words, left: maxChunkBytes}
	if root := p.part(ofDocument); root != nil {
		c.inside(root)
	}
	c.endChunk()
	return c.all, c.cut
}

// ChunksOf returns the chunks of a text without headings.
func ChunksOf(text string, words int) (all []push.Chunk, cut bool) {
	c := chunker{ctx: context.Background(), words: words, left: maxChunkBytes}
	for line := range strings.Lines(text) {
		c.write(line)
		c.endBlock()
	}
	c.endChunk()
	return c.all, c.cut
}

// inside reads the content of a node. The parser bounds its depth.
func (c *chunker) inside(from *html.Node) {
	for n := from.FirstChild; n != nil && !c.cut; n = n.NextSibling {
		switch {
		case n.Type == html.TextNode:
			c.write(n.Data)
		case n.Type != html.ElementNode || dropped(n.Data):
		case len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6':
			c.heading(n)
		default:
			c.mark(n)
			around := spaceAround(n.Data)
			c.apart(around)
			c.inside(n)
			c.apart(around)
		}
	}
	c.cut = c.cut || c.ctx.Err() != nil
}

// apart separates the text of an element from the text around it.
func (c *chunker) apart(by space) {
	switch {
	case by >= line:
		c.endBlock()
	case by != joined:
		c.glued = false
	}
}

// mark remembers the anchor of an element.
func (c *chunker) mark(n *html.Node) {
	if id := anchorOf(n); id != "" {
		c.pending = id
	}
}

func anchorOf(n *html.Node) string {
	id := valueOf(n, "id")
	if id == "" && n.Data == "a" {
		id = valueOf(n, "name")
	}
	unfit := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	if len(id) > maxHeading || strings.ContainsFunc(id, unfit) {
		return ""
	}
	return strings.ToValidUTF8(id, "")
}

// heading begins a section. Its anchor is its own, one inside, or the last before it.
func (c *chunker) heading(n *html.Node) {
	c.endChunk()
	c.mark(n)
	if anchorOf(n) == "" {
		for inner := range n.Descendants() {
			if id := anchorOf(inner); id != "" {
				c.pending = id
				break
			}
		}
	}
	level := int(n.Data[1] - '1')
	var b strings.Builder
	appendText(&b, n)
	c.headings[level] = extract.Collapse(b.String(), maxHeading)
	clear(c.headings[level+1:])
	c.anchor, c.pending = c.pending, ""
}

// write adds text to the block.
func (c *chunker) write(s string) {
	for len(s) > 0 && !c.cut {
		r, size := utf8.DecodeRuneInString(s)
		if unicode.IsSpace(r) {
			c.glued, s = false, s[size:]
			continue
		}
		end := endOfToken(s)
		t := newToken(s[:end], c.glued)
		if c.left -= len(t.text) + 1; c.left < 0 {
			c.cut = true
			return
		}
		c.block, c.length = append(c.block, t), c.length+t.words
		c.glued, c.pending, s = true, "", s[end:]
	}
}

// wide is the first character of scripts that are written without blanks.
const wide = 0x2E80

// endOfToken returns the length of the word at the beginning of s. A text without blanks ends after punctuation.
func endOfToken(s string) int {
	for i, r := range s {
		switch {
		case unicode.IsSpace(r) || i >= maxHeading && utf8.RuneStart(s[i]):
			return i
		case r >= wide && unicode.IsPunct(r):
			return i + utf8.RuneLen(r)
		}
	}
	return len(s)
}

// newToken counts the words of a token: two characters are a word where there are no blanks.
func newToken(s string, glued bool) token {
	t := token{text: strings.ToValidUTF8(s, "\uFFFD"), words: 1, glued: glued}
	if glued {
		t.words = 0
	}
	characters := 0
	for _, r := range s {
		if r >= wide {
			characters++
		}
	}
	t.words = max(t.words, characters/2)
	last, _ := utf8.DecodeLastRuneInString(s)
	t.ends = strings.ContainsRune(".!?\u3002\uFF01\uFF1F", last)
	return t
}

// endBlock adds the block to the chunk, or to a new one if it does not fit.
func (c *chunker) endBlock() {
	if len(c.block) == 0 {
		c.glued = false
		return
	}
	if c.size > 0 && c.size+c.length > c.words {
		c.flush()
	}
	for len(c.block) > 0 {
		n := c.fitting()
		if len(c.text) > 0 {
			c.text = append(c.text, '\n')
		}
		for i, t := range c.block[:n] {
			if i > 0 && !t.glued {
				c.text = append(c.text, ' ')
			}
			c.text = append(c.text, t.text...)
			c.size += t.words
		}
		if c.block = c.block[n:]; len(c.block) > 0 {
			c.flush()
		}
	}
	c.block, c.length, c.glued = nil, 0, false
}

// fitting returns how many tokens of the block fit into a chunk: up to the last sentence that ends in its second half.
func (c *chunker) fitting() int {
	words, sentence := 0, 0
	for i, t := range c.block {
		if words += t.words; words > c.words && i > 0 {
			if sentence > 0 {
				return sentence
			}
			return i
		}
		if t.ends && words > c.words/2 {
			sentence = i + 1
		}
	}
	return len(c.block)
}

func (c *chunker) endChunk() {
	c.endBlock()
	c.flush()
}

// flush ends the chunk. The next one has the same headings.
func (c *chunker) flush() {
	if c.size == 0 {
		return
	}
	made := push.Chunk{Anchor: c.anchor, Text: string(c.text)}
	for _, h := range c.headings {
		if h != "" {
			made.Headings = append(made.Headings, h)
			c.left -= len(h)
		}
	}
	c.left -= len(made.Anchor) + len(`{"headings":[],"anchor":"","text":""},`)
	if c.cut = c.cut || c.left < 0 || len(c.all) == maxChunks; len(c.all) < maxChunks {
		c.all = append(c.all, made)
	}
	c.text, c.size = c.text[:0], 0
}
