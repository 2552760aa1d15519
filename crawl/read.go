package crawl

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
)

var (
	errNoLocation   = errors.New("it has no Location")
	errRedirectLoop = errors.New("it leads to itself")
)

// extract reads a body by its type. A type that nothing reads yet gives a page
// without text: it is indexed by its URL and metas alone.
func (c *Crawl) extract(r *fetcher.Response) (extract.Page, error) {
	contentType := r.Header.Get("Content-Type")
	switch {
	case extract.IsHTML(contentType, r.Body):
		return extract.HTML(r.Body, contentType, extract.Options{Agent: c.settings.RobotsAgent})
	case strings.HasPrefix(contentType, "text/plain"):
		return extract.Text(r.Body, contentType)
	default:
		return extract.Page{}, nil
	}
}

// count keeps the figures of the crawl's pace.
func (c *Crawl) count(r *fetcher.Response) {
	c.requests.Add(1)
	c.bytes.Add(int64(len(r.Body)))
	if r.Status == http.StatusOK || r.Status == http.StatusNotModified {
		c.pages.Add(1)
	}
}
