package crawl

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
)

var (
	errNoLocation   = errors.New("it has no Location")
	errRedirectLoop = errors.New("it leads to itself")
)

// extract reads a body by its type. A type that nothing reads gives a page
// without text and read false: it is indexed by its URL and metas alone.
func (v *visit) extract(ctx context.Context, r *fetcher.Response) (p extract.Page, read bool, err error) {
	contentType := r.Header.Get("Content-Type")
	switch {
	case extract.IsHTML(contentType, r.Body):
		p, err = extract.HTML(r.Body, contentType, extract.Options{
			Agent: v.policy.settings.RobotsAgent, Removal: v.policy.removed, KeepContent: v.policy.settings.PushContent,
			Embedded: v.policy.settings.EmbeddedLinks,
		})
	case mediaType(contentType) == "text/plain":
		p, err = extract.Text(r.Body, contentType)
	default:
		if p, read = v.feedPage(r); read {
			return p, true, nil
		}
		return v.readDocument(ctx, contentType, r.Body)
	}
	return p, true, err
}
