// Package copysites generates sites with known copies: pages with frames and own text of all sizes, pages of one form
// that are distinct, and the kinds of copies that servers produce.
package copysites

import (
	"fmt"
	"strings"
)

// Page is one page of a site.
type Page struct {
	Host, Path, Title, Text string
	// Of is the number of the page's original, -1 if it is not a copy.
	Of int
	// Kind is the kind of copy, or of page.
	Kind string
	// Own is the number of words that it has in addition to those of all pages of the host.
	Own int
}

// URL returns the page's URL.
func (p *Page) URL() string { return "http://" + p.Host + p.Path }

// Kinds of copies.
const (
	Tracking      = "tracking parameter" // the same page under another URL
	Mirror        = "mirror"             // the same page on another host
	Print         = "print version"      // without the frame, and without the site in its title
	Sentence      = "one more sentence"
	Date          = "another date"
	Counter       = "a counter"
	Advertisement = "an advertisement"
)

// Kinds returns all kinds of copies.
func Kinds() []string {
	return []string{Tracking, Mirror, Print, Sentence, Date, Counter, Advertisement}
}

// Layout describes a site.
type Layout struct {
	Host   string
	Frame  int // words common to all pages
	Own    int // other words of a page
	Pages  int
	Copied int // number of pages that have one copy, of one kind after the other
	Seed   uint64
}

// draft is a page before layout.
type draft struct {
	title, own   string
	date         string
	counter      int
	ad, sentence string
}

// site lays out pages.
type site struct {
	*writer
	Layout
	name, head, foot string
}

// Site returns a site: pages each with its own title and text, and copies of some of them.
func Site(l Layout) []Page {
	s := &site{writer: newWriter(l.Seed), Layout: l}
	s.name, s.head, s.foot = s.siteName(), s.text(l.Frame*2/3), s.text(l.Frame-l.Frame*2/3)
	var pages []Page
	kinds := Kinds()
	for i := range l.Pages {
		d := s.draft()
		path := fmt.Sprintf("/p%d.html", i)
		pages = append(pages, s.page(path, &d))
		if i < l.Copied {
			pages = append(pages, s.copied(path, d, kinds[i%len(kinds)], len(pages)-1))
		}
	}
	return pages
}

func (s *site) siteName() string { return s.writer.name() + " " + s.writer.name() }

func (s *site) date() string {
	return fmt.Sprintf("%d %s %d", 1+s.IntN(28), strings.Fields("January February March April May June July")[s.IntN(7)], 2019+s.IntN(8))
}

// page lays out a page: head, varying parts, the text, and the foot.
func (s *site) page(path string, d *draft) Page {
	text := s.head + "\n" + d.title + "\nlast changed " + d.date + "\n" + d.own + "\n" + d.sentence + "\nsponsored " + d.ad + "\nread " + fmt.Sprint(d.counter) + " times\n" + s.foot
	return Page{Host: s.Host, Path: path, Title: d.title + " - " + s.name, Text: text, Of: -1, Kind: "page", Own: s.Own}
}

// copied returns a copy of a page.
func (s *site) copied(path string, d draft, kind string, of int) Page {
	switch kind {
	case Sentence:
		d.sentence = s.text(8 + s.IntN(12))
	case Date:
		d.date = s.date()
	case Counter:
		d.counter++
	case Advertisement:
		d.ad = s.text(8)
	}
	p := s.page(path+"?copy="+strings.ReplaceAll(kind, " ", "-"), &d)
	p.Of, p.Kind = of, kind
	switch kind {
	case Mirror:
		p.Host = "mirror." + s.Host
	case Print:
		p.Title, p.Text = d.title, d.title+"\nlast changed "+d.date+"\n"+d.own
	}
	return p
}

// Copied returns a site in which each page has a copy of each kind.
func Copied(seed uint64, pages, own int) (all []Page) {
	s := &site{writer: newWriter(seed), Layout: Layout{Host: "copied.example", Frame: 150, Own: own}}
	s.name, s.head, s.foot = s.siteName(), s.text(100), s.text(50)
	for i := range pages {
		d := s.draft()
		path := fmt.Sprintf("/p%d.html", i)
		of := len(all)
		all = append(all, s.page(path, &d))
		for _, kind := range Kinds() {
			all = append(all, s.copied(path, d, kind, of))
		}
	}
	return all
}

func (s *site) draft() draft {
	return draft{title: s.title(), own: s.text(s.Own), date: s.date(), counter: s.IntN(5000), ad: s.text(8)}
}
