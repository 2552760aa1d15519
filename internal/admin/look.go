package admin

import (
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/weburl"
)

func (s *Server) robots(c *call) (any, error) {
	query := c.query
	u, err := oneURL(query)
	if err != nil {
		return nil, err
	}
	settings := c.crawler.Settings()
	agent, original := settings.Robots.Agent, settings.Robots.Original
	if query.Has("agent") {
		agent = query.Get("agent")
	}
	if query.Has("original") {
		original = query.Get("original") == "true"
	}
	return report.Robots(c.r.Context(), c.crawler.Reports(), agent, original, u)
}

func (s *Server) moves(c *call) (any, error) {
	return policy.StoredMoves(c.r.Context(), c.crawler.Reports())
}

// TrapCounts holds the counts of traps.
type TrapCounts struct {
	policy.TrapCounts
	HostURLs int `json:"host_urls,omitempty"` // known URLs of the requested host
}

func (s *Server) traps(c *call) (any, error) {
	counts, err := c.crawler.Traps(c.r.Context())
	out := TrapCounts{TrapCounts: counts}
	if err == nil && c.query.Has("host") {
		u, wrongURL := weburl.Parse(c.query.Get("host"))
		if wrongURL != nil {
			return nil, wrong("%v", wrongURL)
		}
		out.HostURLs, err = c.crawler.HostURLs(c.r.Context(), u)
	}
	return out, err
}

// Copies holds the state of duplicate detection.
type Copies struct {
	Duplicates *copies.Status   `json:"duplicates"` // null if it is off
	Patterns   []copies.Pattern `json:"patterns"`   // including those not learnt yet
}

func (s *Server) duplicates(c *call) (any, error) {
	status, err := c.crawler.Status(c.r.Context())
	if err != nil {
		return nil, err
	}
	patterns, err := copies.StoredPatterns(c.r.Context(), c.crawler.Reports())
	return Copies{status.Duplicates, append([]copies.Pattern{}, patterns...)}, err
}

// Verification is the result of verify.
type Verification struct {
	Crawler string   `json:"crawler"`
	URLs    uint64   `json:"urls"`
	Faults  []string `json:"faults"`
}

func (s *Server) verify(c *call) (any, error) {
	v := Verification{Crawler: c.crawler.Name(), Faults: []string{}}
	urls, err := c.crawler.Verify(c.r.Context(), func(fault string) { v.Faults = append(v.Faults, fault) })
	v.URLs = urls
	return v, err
}

func (s *Server) schema(c *call) (any, error) {
	query := c.query
	text, err := config.SchemaText(query.Get("namespace"), query.Get("part"))
	if err != nil {
		return nil, wrong("%v", err)
	}
	return document{"application/xml", text}, nil
}
