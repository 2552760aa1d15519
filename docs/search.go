package docs

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// section is what stands under one heading.
type section struct {
	heading Heading
	text    string
	folded  string // for the search
}

// Found is a section in which a search found all its words.
type Found struct {
	Page    *Page
	Heading Heading
	// Text is what stands around the first of the words.
	Text string
}

// sectionsOf cuts a page at its headings.
func sectionsOf(doc ast.Node, source []byte) []section {
	var all []section
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			all = append(all, section{heading: Heading{h.Level, idOf(h), words(h, source)}})
			continue
		}
		if len(all) > 0 {
			all[len(all)-1].text += words(n, source) + " "
		}
	}
	for i := range all {
		all[i].text = strings.Join(strings.Fields(all[i].text), " ")
		all[i].folded = strings.ToLower(all[i].heading.Text + " " + all[i].text)
	}
	return all
}

// Search finds the sections that contain all words of a query, in any case, at most
// limit of them, the entry left out: first those whose heading has the words, then in reading order.
func (m *Manual) Search(query string, limit int) []Found {
	wanted := strings.Fields(strings.ToLower(query))
	if len(wanted) == 0 {
		return nil
	}
	var titled, others []Found
	for _, part := range m.parts {
		for _, page := range part.Pages {
			if page.Path == "" {
				continue // it names what the other pages say
			}
			for i := range page.sections {
				s := &page.sections[i]
				switch {
				case holds(strings.ToLower(s.heading.Text), wanted):
					titled = append(titled, Found{page, s.heading, around80(s.text, wanted[0])})
				case holds(s.folded, wanted):
					others = append(others, Found{page, s.heading, around80(s.text, wanted[0])})
				}
			}
		}
	}
	found := slices.Concat(titled, others)
	return found[:min(limit, len(found))]
}

func holds(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// around80 cuts about 80 characters before and 160 after a word out of text, at
// blanks.
func around80(text, word string) string {
	at := min(max(strings.Index(strings.ToLower(text), word), 0), len(text)) // lower case may be longer
	begin, end := 0, len(text)
	if at > 80 {
		begin = at - 80
		if blank := strings.IndexByte(text[begin:], ' '); blank >= 0 {
			begin += blank + 1
		}
	}
	if end-at > 160 {
		end = at + 160
		if blank := strings.LastIndexByte(text[:end], ' '); blank > begin {
			end = blank
		}
	}
	cut := strings.ToValidUTF8(text[begin:end], "")
	if begin > 0 {
		cut = "… " + cut
	}
	if end < len(text) {
		cut += " …"
	}
	return cut
}
