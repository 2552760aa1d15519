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

// maxFound bounds the sections in a search result of the manual.
const maxFound = 20

// manualData is a page of the manual, or a search result.
type manualData struct {
	Contents []docs.Part
	Page     *docs.Page
	Body     template.HTML
	Query    string
	Found    []docs.Found
}

// manual serves a page, a page's file, or a search result.
func manual(v *visit) error {
	at := strings.TrimPrefix(v.r.URL.Path, docs.Root)
	if content, media, ok := docs.File(at); ok {
		v.w.Header().Set("Content-Type", media)
		_, _ = v.w.Write(content) // a client that has gone is not an error
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

// manualLink matches a link between pages, with its section.
var manualLink = regexp.MustCompile(`href="(` + docs.Root + `[^"#]*)`)

// keepCrawler adds the selected Crawler to the links of a page of the manual.
func (v *visit) keepCrawler(body template.HTML) template.HTML {
	if len(v.console.settings.Crawlers) < 2 {
		return body
	}
	kept := strings.ReplaceAll(template.HTMLEscapeString(v.link("", nil)), "$", "$$")
	return template.HTML(manualLink.ReplaceAllString(string(body), `href="${1}`+kept)) //nolint:gosec // both parts are escaped
}
