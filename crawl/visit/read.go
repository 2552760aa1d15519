package visit

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

// The faults of a response with status 200, as text.
const (
	tooLong        = "longer than maxBodyBytes or maxPDFBytes: the rest is not read"
	cannotRead     = "the page cannot be read: "
	cannotReadFile = "the document cannot be read: "
)

// extract reads a body by its type. A type without a reader yields a page without text and read false: it is indexed by
// its URL and metas alone.
func (v *visit) extract(ctx context.Context, r *fetcher.Response) (p extract.Page, read bool, err error) {
	contentType := r.Header.Get("Content-Type")
	var converter *extract.Converter
	if all := v.policy.Settings.Converters; len(all) > 0 {
		converter = extract.ConverterOf(all, mediaType(contentType))
	}
	switch {
	case converter != nil && !converter.OnlyWithoutText:
		return v.convert(ctx, converter, r.Body)
	case extract.IsHTML(contentType, r.Body):
		p, err = extract.HTML(r.Body, contentType, extract.Options{
			Agent: v.policy.Settings.RobotsAgent, Removal: v.policy.Removal, KeepContent: v.policy.Settings.PushContent || v.policy.Settings.Inside.WantsKept(v.lease.URL),
			Embedded: v.policy.Settings.EmbeddedLinks,
		})
	case mediaType(contentType) == "text/plain":
		p, err = extract.Text(r.Body, contentType)
	default:
		if p, read = v.feedPage(r); read {
			return p, true, nil
		}
		p, read, err = v.readDocument(ctx, contentType, r.Body, converter != nil)
		if converter != nil && err == nil && p.Text == "" {
			return v.convertTextless(ctx, converter, r.Body, p, read)
		}
		return p, read, err
	}
	return p, true, err
}

// linkHeaders adds the URLs of response headers to the page: the target of Refresh and the canonical URL of Link. They
// override the page's own, and are relative to the requested URL.
func (v *visit) linkHeaders(r *fetcher.Response, p *extract.Page) {
	base := BaseOf(v.lease.URL, extract.Page{})
	if seconds, target := extract.Refresh(r.Header.Get("Refresh")); target != "" {
		if u, err := base.Resolve(target); err == nil {
			p.Refresh, p.RefreshAfter = u.String(), seconds
		}
	}
	if target := extract.CanonicalLink(r.Header.Values("Link")); target != "" {
		if u, err := base.Resolve(target); err == nil {
			p.Canonical = u.String()
		}
	}
}
