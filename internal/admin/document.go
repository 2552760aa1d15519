package admin

import (
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
)

// Sent describes the document of a URL.
type Sent struct {
	URL    string            `json:"url"`
	Stored *report.StoredURL `json:"stored"` // null where the URL is not known
	// Order is the newest order of the outbox about the URL, null if all targets have it.
	Order *push.Listed `json:"order"`
	// Document is the document as it is sent; null for a deletion, or if its body is no longer stored.
	Document *push.Document `json:"document"`
}

func (s *Server) document(c *call) (any, error) {
	u, err := oneURL(c.query)
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	out := Sent{URL: u.String()}
	stored, ok, err := report.LookUp(ctx, c.crawler.Reports(), u)
	if err != nil {
		return nil, err
	}
	if ok {
		out.Stored = &stored
	}
	if out.Order, out.Document, err = c.crawler.Sent(ctx, u.String()); err != nil {
		return nil, err
	}
	if !ok && out.Order == nil {
		return nil, notKnown(u)
	}
	return out, nil
}
