package sicksite

import (
	"fmt"
	"strings"
)

// Len is how many pages there are.
func (s *Site) Len() int { return s.options.Documents }

// Path is that of page i: the home page is 0, the index pages follow, then the documents,
// each tenth in /annex/ and each twentieth in /section/.
func (s *Site) Path(i int) string {
	nth := i - s.lists
	switch {
	case i == 0:
		return "/"
	case nth <= 0:
		return fmt.Sprintf("/list/%d.html", i)
	case nth%10 == 0:
		return fmt.Sprintf("/annex/%d.html", i)
	case nth%20 == 5:
		return fmt.Sprintf("/section/%d.html", i)
	}
	return fmt.Sprintf("/doc/%d.html", i)
}

// URL is that of page i.
func (s *Site) URL(i int) string { return s.options.Origin + s.Path(i) }

// Section are the pages in /section/, a twentieth of all.
func (s *Site) Section() []int {
	var pages []int
	for i := range s.Len() {
		if strings.HasPrefix(s.Path(i), "/section/") {
			pages = append(pages, i)
		}
	}
	return pages
}

// Title is that of page i when it is well.
func (s *Site) Title(i int) string { return fmt.Sprintf("Page %d about %s", i, words(i, 3)) }

// page is the number of a path's page.
func (s *Site) page(path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	name := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".html")
	var i int
	if _, err := fmt.Sscanf(name, "%d", &i); err != nil || i <= 0 || i >= s.Len() || s.Path(i) != path {
		return 0, false
	}
	return i, true
}

// links are the pages that page i leads to: the home page to the index pages, each of
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
	var b strings.Builder
	title := s.Title(i)
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><title>%s</title>%s</head>\n<body><h1>%s</h1>\n<p>%s.</p>\n<ul>\n", title, head, title, words(i, 60))
	for _, to := range s.links(i) {
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a></li>\n", s.Path(to), words(to, 3))
	}
	b.WriteString("</ul></body></html>\n")
	return b.String()
}

// notice is a page that says but one thing.
func notice(title, text string) string {
	return fmt.Sprintf("<!DOCTYPE html>\n<html lang=\"en\"><head><title>%s</title></head><body><h1>%s</h1><p>%s</p></body></html>\n", title, title, text)
}

// words are n made-up words that no other seed has in this order. There are so many that
// two texts hardly share any.
func words(seed, n int) string {
	syllables := [...]string{
		"ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su", "ta", "ve", "wi", "xo", "zu",
		"bra", "cle", "dri", "flo", "gru", "pla", "sne", "tri", "slo", "spu", "an", "er", "il", "on", "us", "ar", "es", "in", "or", "um",
	}
	var b strings.Builder
	state := uint64(seed)*0x9E3779B97F4A7C15 + 0x1234567
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		for range 3 {
			state = state*6364136223846793005 + 1442695040888963407
			b.WriteString(syllables[(state>>33)%uint64(len(syllables))])
		}
	}
	return b.String()
}
