package console

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/sextant-crawler/sextant/docs"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// maxFound is how many sections a search in the manual shows.
const maxFound = 20

// manualData is a page of the manual, or what a search in it found.
type manualData struct {
	Contents []docs.Part
	Page     *docs.Page
	Body     template.HTML
	Query    string
	Found    []docs.Found
}

// manual answers with a page, a file that a page shows, or the answer of a search.
func manual(v *visit) error {
	at := strings.TrimPrefix(v.r.URL.Path, docs.Root)
	if content, media, ok := docs.File(at); ok {
		v.w.Header().Set("Content-Type", media)
		_, _ = v.w.Write(content) // a reader that has gone is no fault
		return nil
	}
	all, err := v.console.manual()
	if err != nil {
		return err
	}
	if query := strings.TrimSpace(v.r.URL.Query().Get("q")); query != "" {
		query = cut(query, 100)
		found, err := all.Search(query, maxFound)
		if err != nil {
			return err
		}
		v.console.show(v, http.StatusOK, "manual", "Search in the manual", manualData{
			Contents: all.Contents(), Query: query, Found: found,
		})
		return nil
	}
	page, ok := all.Page(at)
	switch {
	case !ok:
		return &admin.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: fmt.Sprintf("the manual has no page %q: its entry is /docs/", cut(at, maxShown))}
	case page.Address() != v.r.URL.Path:
		return v.redirect(page.Address(), url.Values{}, "")
	}
	v.console.show(v, http.StatusOK, "manual", page.Title, manualData{Contents: all.Contents(), Page: page, Body: v.keepCrawler(page.Body)})
	return nil
}

// manualLink is a link of a page to another one, with its section.
var manualLink = regexp.MustCompile(`href="(` + docs.Root + `[^"#]*)`)

// keepCrawler has the links of a page of the manual keep the chosen Crawler.
func (v *visit) keepCrawler(body template.HTML) template.HTML {
	if len(v.console.settings.Crawlers) < 2 {
		return body
	}
	kept := strings.ReplaceAll(template.HTMLEscapeString(v.link("", nil)), "$", "$$")
	return template.HTML(manualLink.ReplaceAllString(string(body), `href="${1}`+kept)) //nolint:gosec // both parts are escaped
}
