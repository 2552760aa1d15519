package admin

import (
	"encoding/hex"
	"net/http"
	"net/url"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/weburl"
)

// ParseURLFilter reads a filter of stored URLs: that of report.ParseFilter, and match, a
// condition in the elements of CrawlConfig.xml.
func ParseURLFilter(q url.Values) (report.Filter, error) {
	f, err := report.ParseFilter(q)
	if written := q.Get("match"); err == nil && written != "" {
		condition, wrong := ParseCondition(written)
		if wrong != nil {
			return f, wrong
		}
		matcher, _ := actionrules.CompileCondition(condition) // compiled before
		f.Match = matcher.Match
	}
	return f, err
}

// urls lists stored URLs in the order of their keys, where a cursor is the key of the next, or sorted by a column,
// which reads all of them for each page.
func (s *Server) urls(c *call) (any, error) {
	f, err := ParseURLFilter(c.query)
	if err != nil {
		return nil, wrong("%v", err)
	}
	o, err := report.ParseOrder(c.query.Get("sort"), report.Columns(report.KindURLs))
	if err != nil {
		return nil, wrong("%v", err)
	}
	limit := c.number("limit")
	if limit == 0 && !wantsLines(c.r) {
		limit = defaultLimit
	}
	if o.By != "" {
		leave, err := s.enter(c)
		if err != nil {
			return nil, err
		}
		defer leave()
		if o.After, err = report.ParsePlace(c.query.Get("cursor")); err != nil {
			return nil, wrong("%v", err)
		}
		return s.sortedURLs(c, f, o, limit)
	}
	if written := c.query.Get("cursor"); written != "" {
		if f.From, err = parseKey(written); err != nil {
			return nil, err
		}
	}
	ctx, store := c.r.Context(), c.crawler.Reports()
	if wantsLines(c.r) {
		return s.lines(c, "listing URLs", limit, func(fn func(any, string) error) error {
			return report.EachURL(ctx, store, f, func(u report.StoredURL) error { return fn(u, "") })
		})
	}
	return report.URLPage(ctx, store, f, limit, 0)
}

// sortedURLs returns a page of the sorted list, or streams it. It finds one URL more than limit, to see whether others
// follow.
func (s *Server) sortedURLs(c *call, f report.Filter, o report.Order, limit int) (any, error) {
	if limit > 0 {
		limit++
	}
	total, before := 0, ""
	answer, err := list(s, c, "listing URLs", func(fn func(any, string) error) (err error) {
		total, err = report.EachURLSorted(c.r.Context(), c.crawler.Reports(), f, o, limit, func(u report.StoredURL, at string) error {
			err := fn(u, before)
			before = at
			return err
		})
		return err
	})
	if page, ok := answer.(Page); ok {
		c.total(total)
		page.Total, answer = total, page
	}
	return answer, err
}

// parseKey parses a cursor.
func parseKey(written string) (k weburl.Key, err error) {
	b, err := hex.DecodeString(written)
	if err != nil || len(b) != len(k) {
		return k, errCursor
	}
	copy(k[:], b)
	return k, nil
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

// notKnown returns the response about an unknown URL.
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
