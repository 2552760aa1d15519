package testsite

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Path returns the path of page i of the link graph: "/" for 0, else "/p/I.html". Page
// i links to pages 2i+1 and 2i+2, so that all are reachable from the home page,
// to page 7i+3 modulo their number, and back to the home page.
func Path(i int) string {
	if i == 0 {
		return "/"
	}
	return fmt.Sprintf("/p/%d.html", i)
}

// Documents returns the URLs, sorted, of the pages of the link graph that exist now,
// on all hosts: what is in the index after a crawl that obeys robots.txt and
// noindex, follows links and redirects, and stays on the site's hosts. It knows
// of pages that Set changed to something else than a 200, and of removed ones,
// but not of what their loss makes unreachable.
func (s *Site) Documents() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var urls []string
	for path, page := range s.pages {
		if path != "/" && !strings.HasPrefix(path, "/p/") || page.Status != 0 && page.Status != 200 {
			continue
		}
		for _, origin := range s.origins {
			urls = append(urls, origin+path)
		}
	}
	slices.Sort(urls)
	return urls
}

// Modified returns the Last-Modified time of the pages that New makes.
func Modified() time.Time { return time.Date(2024, time.March, 5, 9, 30, 0, 0, time.UTC) }

// HTML returns a page with a title, a paragraph of text and links.
func HTML(title, text string, links ...string) Page {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><title>%s</title></head>\n<body><h1>%s</h1>\n<p>%s</p>\n<ul>\n",
		title, title, text)
	for _, l := range links {
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a></li>\n", l, l)
	}
	b.WriteString("</ul></body></html>\n")
	return Page{Body: b.String(), LastModified: Modified()}
}

func (s *Site) fill(o Options) {
	for i := range o.Pages {
		var links []string
		for _, to := range []int{2*i + 1, 2*i + 2, (7*i + 3) % o.Pages, 0} {
			if to < o.Pages && to != i {
				links = append(links, Path(to))
			}
		}
		if i == 0 {
			links = append(links, "/moved", "/noindex.html", "/private/secret.html", "/missing.html")
			for _, origin := range s.origins[1:] {
				links = append(links, origin+"/")
			}
		}
		s.Set(Path(i), HTML(fmt.Sprintf("Page %d", i), prose(i), links...))
	}
	target := Path(min(1, o.Pages-1))
	s.Set("/moved", Page{Status: 301, Header: map[string]string{"Location": target}})
	secret := HTML("Secret", "A page for nobody who reads robots.txt.")
	s.Set("/private/secret.html", secret)
	hidden := HTML("Not for the index", "This page has links but does not want to be found.", target)
	hidden.Body = strings.Replace(hidden.Body, "</head>", `<meta name="robots" content="noindex"></head>`, 1)
	s.Set("/noindex.html", hidden)
	robots := "User-agent: *\nDisallow:\n"
	for _, prefix := range o.Disallow {
		robots += "Disallow: " + prefix + "\n"
	}
	s.Set("/robots.txt", Page{Body: robots, ContentType: "text/plain; charset=utf-8", NoETag: true})
}

// prose is text of 60 words that differs from page to page so much that no
// near-duplicate index takes two of them for one.
func prose(page int) string {
	words := strings.Fields(`amber anchor basin beacon birch bridge canal candle cedar chart cliff cloud
		compass copper coral crane delta drift ember estuary falcon ferry flint fog garnet glacier granite
		harbour hazel heron inlet iron island ivory jetty juniper kelp lagoon lantern larch ledger linen
		lock marble marsh meadow mill mist moor oak orchard otter pebble pier pine quarry quay raven reed
		reef river rowan sail salt sand shale silver slate spruce stone storm tide timber tower valley
		vane walnut wave weir willow`)
	text := make([]string, 60)
	state := uint64(page)*0x9E3779B97F4A7C15 + 1
	for i := range text {
		state = state*6364136223846793005 + 1442695040888963407
		text[i] = words[(state>>33)%uint64(len(words))]
	}
	return strings.Join(text, " ") + "."
}
