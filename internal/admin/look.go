package admin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// lookRoutes show what is stored and what the service does.
func (s *Server) lookRoutes() []route {
	return []route{
		{method: "GET", path: "/api/v1/openapi.yaml", role: Reader, answer: openAPI},
		{method: "GET", path: "/api/v1/status", role: Reader, answer: s.status},
		{method: "GET", path: "/api/v1/hosts", role: Reader, crawler: true, query: "n", answer: s.hosts},
		{method: "GET", path: "/api/v1/urls", role: Reader, crawler: true, query: strings.Join(report.FilterNames(), " ") + " match sort limit cursor", answer: s.urls},
		{method: "GET", path: "/api/v1/url", role: Reader, crawler: true, query: "url", answer: s.url},
		{method: "GET", path: "/api/v1/document", role: Reader, crawler: true, query: "url", answer: s.document},
		{method: "GET", path: "/api/v1/robots", role: Reader, crawler: true, query: "url agent original", answer: s.robots},
		{method: "GET", path: "/api/v1/moves", role: Reader, crawler: true, answer: s.moves},
		{method: "GET", path: "/api/v1/traps", role: Reader, crawler: true, answer: s.traps},
		{method: "GET", path: "/api/v1/sessions", role: Reader, crawler: true, answer: s.sessions},
		{method: "GET", path: "/api/v1/duplicates", role: Reader, crawler: true, answer: s.duplicates},
		{method: "GET", path: "/api/v1/verify", role: Reader, crawler: true, heavy: true, answer: s.verify},
		{method: "GET", path: "/api/v1/schema", role: Reader, query: "part namespace", answer: s.schema},
	}
}

// maxHosts is how many hosts a request may name: all places are read for it.
const maxHosts = MaxLimit

// hosts lists those with the longest queues, then some that rest longest. It is a list
// of the most, without a cursor: the order is another in a moment.
func (s *Server) hosts(c *call) (any, error) {
	n := defaultLimit
	if written := c.query.Get("n"); written != "" {
		var err error
		if n, err = strconv.Atoi(written); err != nil || n < 1 || n > maxHosts {
			return nil, wrong("n %q is no number from 1 to %d", written, maxHosts)
		}
	}
	hosts := []HostStatus{}
	err := c.crawler.Hosts(c.r.Context(), n, func(info scheduler.HostInfo) error {
		hosts = append(hosts, NewHostStatus(info))
		return nil
	})
	return hosts, err
}

// oneURL reads ?url=.
func oneURL(q url.Values) (weburl.URL, error) {
	if !q.Has("url") {
		return weburl.URL{}, wrong("name a URL: ?url=http%%3A%%2F%%2Fwww.example.com%%2F")
	}
	u, err := weburl.Parse(q.Get("url"))
	if err != nil {
		return u, wrong("%v", err)
	}
	return u, nil
}

// notKnown is the answer about a URL that is not stored.
func notKnown(u weburl.URL) *Problem {
	return newProblem(http.StatusNotFound, codeNotKnown, "not known: %s", u)
}

func (s *Server) url(c *call) (any, error) {
	u, err := oneURL(c.query)
	if err != nil {
		return nil, err
	}
	stored, ok, err := report.LookUp(c.r.Context(), c.crawler.Reports(), u)
	if err == nil && !ok {
		err = notKnown(u)
	}
	return stored, err
}

// Sent is what is known of the document of a URL.
type Sent struct {
	URL    string            `json:"url"`
	Stored *report.StoredURL `json:"stored"` // null where the URL is not known
	// Order is the newest order of the outbox about the URL, null if all targets have
	// what was ordered.
	Order *OutboxOrder `json:"order"`
	// Document is what the order sends, as it is sent; null for a deletion, and where
	// its body has gone.
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

func (s *Server) traps(c *call) (any, error) {
	return policy.StoredTraps(c.r.Context(), c.crawler.Reports())
}

func (s *Server) sessions(c *call) (any, error) {
	status, err := c.crawler.Status(c.r.Context())
	return append([]visit.SessionStatus{}, status.Sessions...), err
}

// Copies is what is known of duplicates.
type Copies struct {
	Duplicates *copies.Status   `json:"duplicates"` // null where they are not looked for
	Patterns   []copies.Pattern `json:"patterns"`   // also what is not learnt yet
}

func (s *Server) duplicates(c *call) (any, error) {
	status, err := c.crawler.Status(c.r.Context())
	if err != nil {
		return nil, err
	}
	patterns, err := copies.StoredPatterns(c.r.Context(), c.crawler.Reports())
	return Copies{status.Duplicates, append([]copies.Pattern{}, patterns...)}, err
}

// Verification is the answer of verify.
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
