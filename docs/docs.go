// Package docs is the manual: the pages of this folder, which a program can embed and show. They are Markdown and also
// readable as files; index.md defines their order. The folders decisions and project are for developers and stay in the
// repository.
//
// Nothing in a page can run where it is shown: raw HTML is left out, there are no inline styles, and links that leave
// this folder become plain text, unless they lead to another server.
package docs

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed *.md *.svg *.yaml moving/*.md
var files embed.FS

// Root is the path under which the links of pages expect to be served.
const Root = "/docs/"

// Manual is all pages. It does not change, and may be used at once.
type Manual struct {
	parts  []Part
	byPath map[string]*Page
	// indexed builds the index at the first search.
	indexed func() (*searchable, error)
}

// Part is a heading of index.md with the pages below it.
type Part struct {
	Title string
	Pages []*Page
}

// Page is one page as HTML.
type Page struct {
	// Path is its address below Root: empty for the entry, "rules", "moving/ibm".
	Path string
	// Title is the page's own, Name the short one in index.md.
	Title, Name string
	Body        template.HTML
	// Headings are those of the second and third level, in order.
	Headings []Heading
	// Previous and Next are its neighbours in reading order, nil at the ends.
	Previous, Next *Page

	sections []section
}

// Address returns the address at which the page is served.
func (p *Page) Address() string { return Root + p.Path }

// Heading is a place in a page.
type Heading struct {
	Level    int
	ID, Text string
}

// Open reads and renders all pages. It fails for a manual with a page that index.md
// does not name, or names in vain.
func Open() (*Manual, error) { return open(files) }

func open(from fs.FS) (*Manual, error) {
	m := &Manual{byPath: map[string]*Page{}}
	m.indexed = sync.OnceValues(m.index)
	sources, err := readPages(from)
	if err != nil {
		return nil, err
	}
	for name, source := range sources {
		page, err := render(name, source, sources)
		if err != nil {
			return nil, fmt.Errorf("docs/%s: %w", name, err)
		}
		m.byPath[page.Path] = page
	}
	if err := m.inOrder(sources["index.md"]); err != nil {
		return nil, fmt.Errorf("docs/index.md: %w", err)
	}
	return m, nil
}

// readPages reads the Markdown of all pages by file name.
func readPages(from fs.FS) (map[string][]byte, error) {
	sources := map[string][]byte{}
	err := fs.WalkDir(from, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		sources[name], err = fs.ReadFile(from, name)
		return err
	})
	return sources, err
}

// inOrder sorts the pages in the order in which index.md names them.
func (m *Manual) inOrder(index []byte) error {
	entry := m.byPath[""]
	if entry == nil {
		return fs.ErrNotExist
	}
	order := []*Page{entry}
	entry.Name = entry.Title
	m.parts = []Part{{Pages: []*Page{entry}}}
	add := func(p *Page) {
		last := &m.parts[len(m.parts)-1]
		last.Pages = append(last.Pages, p)
		order = append(order, p)
	}
	for _, item := range entries(index) {
		if item.page == "" {
			m.parts = append(m.parts, Part{Title: item.text})
			continue
		}
		page := m.byPath[pathOf(item.page)]
		switch {
		case page == nil:
			return fmt.Errorf("names %s, which is not there", item.page)
		case slices.Contains(order, page):
			return fmt.Errorf("names %s twice", item.page)
		}
		page.Name = item.text
		add(page)
	}
	if len(order) != len(m.byPath) {
		for name, page := range m.byPath {
			if !slices.Contains(order, page) {
				return fmt.Errorf("does not name %s.md", name)
			}
		}
	}
	for i, page := range order[1:] {
		page.Previous, order[i].Next = order[i], page
	}
	return nil
}

// Contents returns the parts in reading order; the first has no title and holds the entry.
func (m *Manual) Contents() []Part { return m.parts }

// Page returns the page at a path below Root. A path may end in .md, as in files.
func (m *Manual) Page(at string) (page *Page, ok bool) {
	page, ok = m.byPath[pathOf(at)]
	return page, ok
}

// pathOf returns the address below Root of a file, or of an address itself.
func pathOf(name string) string {
	name = strings.TrimSuffix(name, ".md")
	if name == "index" {
		return ""
	}
	return name
}

// File returns a picture or description that pages link to, with its media type.
func File(name string) (content []byte, media string, ok bool) {
	media = map[string]string{".svg": "image/svg+xml", ".yaml": "text/plain; charset=utf-8"}[path.Ext(name)]
	if media == "" {
		return nil, "", false
	}
	content, err := files.ReadFile(name)
	return content, media, err == nil
}
