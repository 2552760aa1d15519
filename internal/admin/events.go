package admin

import (
	"context"
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
	all, err := ListEvents(c.r.Context(), c.crawler.Reports(), c.query.Get("kind"))
	if err != nil {
		return nil, err
	}
	return list(s, c, "listing events", func(fn func(any, string) error) error {
		for _, e := range all {
			if from > 0 && e.Number > from {
				continue
			}
			if err := fn(e, strconv.FormatUint(e.Number, 10)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ListEvents lists the events of a store, the latest first: those of some kinds, separated by commas, or all.
func ListEvents(ctx context.Context, s events.Reader, kinds string) ([]events.Event, error) {
	all, err := events.List(ctx, s)
	if kinds == "" {
		return all, err
	}
	wanted := strings.Split(kinds, ",")
	return slices.DeleteFunc(all, func(e events.Event) bool {
		return !slices.ContainsFunc(wanted, func(kind string) bool { return strings.TrimSpace(kind) == e.Kind })
	}), err
}
