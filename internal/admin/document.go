package admin

import (
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
)

// Sent is what is known of the document of a URL.
type Sent struct {
	URL    string            `json:"url"`
	Stored *report.StoredURL `json:"stored"` // null if the URL is unknown
	// Order is the newest order of the outbox about the URL, null if every target has it.
	Order *OutboxOrder `json:"order"`
	// Document is the document in the order; null for a deletion, and if its body is gone.
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
	listed, document, err := c.crawler.Sent(ctx, u.String())
	if err != nil {
		return nil, err
	}
	if listed != nil {
		order := NewOutboxOrder(*listed)
		out.Order, out.Document = &order, document
	}
	if !ok && listed == nil {
		return nil, notKnown(u)
	}
	return out, nil
}
