package illness

import (
	"fmt"
	"strings"
)

// Len returns how many pages there are.
func (s *Site) Len() int { return s.options.Documents }

// Path is that of page i: the home page is 0, the index pages follow, then the documents,
// each tenth in /annex/ and each twentieth in /section/.
func (s *Site) Path(i int) string {
	nth, name := i-s.lists, "html"
	if s.options.PDF && nth > 0 {
		name = "pdf"
	}
	if s.options.Query && nth > 0 {
		name += fmt.Sprintf("?b=%d&a=1", i)
	}
	switch {
	case i == 0:
		return "/"
	case nth <= 0:
		return fmt.Sprintf("/list/%d.html", i)
	case nth%10 == 0:
		return fmt.Sprintf("/annex/%d.%s", i, name)
	case nth%20 == 5:
		return fmt.Sprintf("/section/%d.%s", i, name)
	}
	return fmt.Sprintf("/doc/%d.%s", i, name)
}

// URL is that of page i, at the site's first origin.
func (s *Site) URL(i int) string { return s.options.Origin + s.Path(i) }

// Section returns the pages in /section/, a twentieth of all.
func (s *Site) Section() []int {
	var pages []int
	for i := range s.Len() {
		if strings.HasPrefix(s.Path(i), "/section/") {
			pages = append(pages, i)
		}
	}
	return pages
}

// Title is that of page i when it is well. Of a live page it is that of its latest answer.
func (s *Site) Title(i int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content(i).title
}

// content is what a page says when it is well.
type content struct {
	title, text string
	edition     int  // tells it from the page's other contents
	redesigned  bool // it has the new frame
}

// content is that of now; the caller holds mu.
func (s *Site) content(i int) content {
	edition := s.redesigns
	if n, live := s.live[i]; live {
		edition += n << 8
	}
	seed := i + edition<<16 + s.options.Seed<<40
	return content{fmt.Sprintf("Page %d about %s", i, words(seed, 4)), Text(seed), edition, s.redesigns > 0}
}

// page returns the number of the page at a path without query.
func (s *Site) page(path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".")
	var i int
	if _, err := fmt.Sscanf(name, "%d", &i); err != nil || i <= 0 || i >= s.Len() {
		return 0, false
	}
	own, _, _ := strings.Cut(s.Path(i), "?")
	return i, own == path
}

// links returns the pages that page i leads to: the home page to the index pages, each of
// these to its documents, and all to the home page.
func (s *Site) links(i int) []int {
	var to []int
	first, last, step := 0, -1, 1
	switch {
	case i == 0 && s.lists > 0:
		first, last = 1, s.lists
	case i == 0:
		first, last = 1, s.Len()-1
	case i <= s.lists:
		first, last, step = s.lists+i, s.Len()-1, s.lists
	}
	for j := first; j <= last; j += step {
		to = append(to, j)
	}
	if i > 0 {
		to = append(to, 0)
	}
	return to
}

// body is page i when it is well, with something more in its head.
func (s *Site) body(i int, head string) string {
	s.mu.Lock()
	c := s.content(i)
	s.mu.Unlock()
	if s.isPDF(i) {
		return PDFHead + c.title + "\n" + c.text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<p>%s</p>\n<ul>\n", c.text)
	for _, to := range s.links(i) {
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a></li>\n", strings.ReplaceAll(s.Path(to), "&", "&amp;"), words(to+s.options.Seed<<40, 3))
	}
	b.WriteString("</ul>\n")
	return frame(c.redesigned, c.title, head, b.String())
}

// PDFHead begins the PDF files of a site: a line of the title follows, and the text. Only a
// reader made for tests can read them.
const PDFHead = "%PDF-1.7\n"

func (s *Site) isPDF(i int) bool { return s.options.PDF && i > s.lists }
