package admin

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/crawl/events"
)

// events lists events, the latest first: a cursor is the number of the next.
func (s *Server) events(c *call) (any, error) {
	from, err := parseSeq(c.query.Get("cursor"))
	if err != nil {
		return nil, err
	}
	all, err := events.List(c.r.Context(), c.crawler.Reports())
	if err != nil {
		return nil, err
	}
	written := c.query.Get("kind") // some, with commas between
	wanted := func(kind string) bool {
		return written == "" || slices.ContainsFunc(strings.Split(written, ","), func(one string) bool { return strings.TrimSpace(one) == kind })
	}
	all = slices.DeleteFunc(all, func(e events.Event) bool { return !wanted(e.Kind) })
	return list(s, c, "listing events", func(fn func(any, string) error) error {
		for _, e := range all {
			var item any
			if from == 0 || e.Number <= from {
				item = e
			}
			if err := fn(item, strconv.FormatUint(e.Number, 10)); err != nil {
				return err
			}
		}
		return nil
	})
}
