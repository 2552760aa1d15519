package site

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// page is a page of the content files, in the form for page.html.
type page struct {
	Path, Title, Description, Author string
	Date                             string // 2025-03-31
	Lang                             string // of the text; "en" by default
	Robots, Canonical                string
	Redirect                         string // the page is only a redirect to this path
	Status                           int    // status in place of the page; 0: the page
	Guest                            string // the name of the site, for sites other than the sample site
	Image                            *image
	Alternate                        *alternate
	Body                             template.HTML
	Children                         []*page // listed below the body
	modified                         time.Time
}

type image struct{ File, Alt string }

type alternate struct{ Lang, Path string }

// parse reads a content file. A page begins with a line "=== /path", then come
// fields ("name: value"), an empty line, and blocks of text between empty lines:
//
//	## heading
//	- list, an item a line
//	= name | value, a table row a line
//	~ paragraph that asks not to be indexed
//	+ paragraph that is there only once the site has changed
//	paragraph with [links](/path)
func parse(name, text string, changed bool) ([]*page, error) {
	chunks := strings.Split("\n"+text, "\n=== ")
	if strings.TrimSpace(chunks[0]) != "" {
		return nil, fmt.Errorf("%s: text before the first page", name)
	}
	var pages []*page
	for _, chunk := range chunks[1:] {
		head, blocks, _ := strings.Cut(strings.TrimSpace(chunk), "\n\n")
		fields := strings.Split(head, "\n")
		p := &page{Path: fields[0], Lang: "en"}
		for _, field := range fields[1:] {
			if err := p.setField(field, changed); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, p.Path, err)
			}
		}
		var body strings.Builder
		for block := range strings.SplitSeq(blocks, "\n\n") {
			if rest, only := strings.CutPrefix(block, "+ "); changed || !only {
				writeBlock(&body, strings.Split(rest, "\n"))
			}
		}
		p.Body = template.HTML(body.String()) //nolint:gosec // writeBlock escapes
		pages = append(pages, p)
	}
	return pages, nil
}

func (p *page) setField(line string, changed bool) error {
	name, value, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("%q is not a field: write name: value", line)
	}
	first, second, _ := strings.Cut(value, " | ")
	var err error
	switch name {
	case "title":
		p.Title = value
	case "description":
		p.Description = value
	case "author":
		p.Author = value
	case "date":
		p.Date = value
		p.modified, err = time.Parse(time.DateOnly, value)
	case "lang":
		p.Lang = value
	case "robots":
		p.Robots = value
	case "canonical":
		p.Canonical = value
	case "status":
		p.Status, err = strconv.Atoi(value)
	case "then": // the status after the change
		if changed {
			p.Status, err = strconv.Atoi(value)
		}
	case "redirect":
		p.Redirect = value
	case "image":
		p.Image = &image{File: first, Alt: second}
	case "alternate":
		p.Alternate = &alternate{Lang: first, Path: second}
	default:
		err = fmt.Errorf("unknown field %q", name)
	}
	return err
}

// writeBlock writes a block of lines as HTML.
func writeBlock(b *strings.Builder, block []string) {
	mark, rest, _ := strings.Cut(block[0], " ")
	switch mark {
	case "##":
		fmt.Fprintf(b, "<h2>%s</h2>\n", inline(rest))
	case "~":
		fmt.Fprintf(b, "<!--noindex--><p>%s</p><!--endnoindex-->\n", inline(rest))
	case "-":
		b.WriteString("<ul>\n")
		for _, item := range block {
			fmt.Fprintf(b, "<li>%s</li>\n", inline(strings.TrimPrefix(item, "- ")))
		}
		b.WriteString("</ul>\n")
	case "=":
		b.WriteString("<table>\n")
		for _, row := range block {
			name, value, _ := strings.Cut(strings.TrimPrefix(row, "= "), " | ")
			fmt.Fprintf(b, "<tr><th>%s</th><td>%s</td></tr>\n", inline(name), inline(value))
		}
		b.WriteString("</table>\n")
	default:
		fmt.Fprintf(b, "<p>%s</p>\n", inline(strings.Join(block, "\n")))
	}
}

// inline escapes text and turns [words](/path) into links.
func inline(text string) string {
	link := regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)
	return link.ReplaceAllString(html.EscapeString(text), `<a href="$2">$1</a>`)
}
