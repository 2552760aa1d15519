package copysites

import "fmt"

// Forms returns sites whose pages are distinct although they look alike: none is a copy.
func Forms(seed uint64) map[string][]Page {
	forms := map[string][]Page{
		"20 staff pages":            staff(seed, 20, 500, 0, false),
		"20 staff pages, one title": staff(seed+1, 20, 500, 0, true),
		"a section of forms":        staff(seed+2, 60, 200, 150, false),
		"a section, one title":      staff(seed+3, 60, 200, 150, true),
		"30 pages of 15 words":      Site(Layout{Host: "short.example", Frame: 300, Own: 15, Pages: 30, Seed: seed + 4}),
	}
	for name, change := range map[string]func(w *writer, i int, own string) string{
		"one digit": func(_ *writer, i int, own string) string { return replace(own, 60, 1, fmt.Sprint(400+i)) },
		"one name":  func(w *writer, _ int, own string) string { return replace(own, 60, 1, w.name()) },
		"one table row": func(w *writer, i int, own string) string {
			return replace(own, 60, 4, fmt.Sprint(w.name(), " ", w.name(), " ", i, " ", w.IntN(900)))
		},
	} {
		forms[name+" and the title"] = family(seed+5, 40, change, false)
		forms[name+", one title"] = family(seed+6, 40, change, true)
	}
	return forms
}

// staff returns pages with four facts each, and a number of words, outside the frame, that all of them share. If the
// host has other pages, they are of another kind, so that these words are not part of the frame.
func staff(seed uint64, n, frame, shared int, oneTitle bool) []Page {
	s := &site{writer: newWriter(seed), Layout: Layout{Host: fmt.Sprintf("staff%d.example", seed), Frame: frame, Own: shared + 8}}
	s.name, s.head, s.foot = s.siteName(), s.text(frame/2), s.text(frame-frame/2)
	section := s.text(shared)
	var pages []Page
	for i := range n {
		who := s.writer.name() + " " + s.writer.name()
		title := who
		if oneTitle {
			title = "Staff"
		}
		own := fmt.Sprintf("%s\nroom %d\nphone %d\noffice %s\n%s", who, 1+s.IntN(400), 1000+s.IntN(9000), s.writer.name(), section)
		pages = append(pages, Page{Host: s.Host, Path: fmt.Sprintf("/staff/%d", i), Title: title + " | " + s.name, Text: s.head + "\n" + own + "\n" + s.foot, Of: -1, Kind: "form", Own: shared + 8})
	}
	if shared > 0 {
		l := s.Layout
		for i := range 4 * n {
			title := s.title()
			pages = append(pages, Page{Host: l.Host, Path: fmt.Sprintf("/other/%d", i), Title: title + " | " + s.name, Text: s.head + "\n" + title + "\n" + s.text(200) + "\n" + s.foot, Of: -1, Kind: "page", Own: 200})
		}
	}
	return pages
}

// family returns pages that differ in one place, among others of the host.
func family(seed uint64, n int, change func(w *writer, i int, own string) string, oneTitle bool) []Page {
	s := &site{writer: newWriter(seed), Layout: Layout{Host: fmt.Sprintf("family%d.example", seed), Frame: 200, Own: 150}}
	s.name, s.head, s.foot = s.siteName(), s.text(100), s.text(100)
	own := s.text(150)
	var pages []Page
	for i := range 5 * n {
		title, text := s.title(), s.text(150)
		if i < n {
			text = change(s.writer, i, own)
			if oneTitle {
				title = "Report"
			} else {
				title = "Report " + s.writer.name()
			}
		}
		pages = append(pages, Page{Host: s.Host, Path: fmt.Sprintf("/%d", i), Title: title + " | " + s.name, Text: s.head + "\n" + text + "\n" + s.foot, Of: -1, Kind: "page", Own: 150})
	}
	return pages
}
