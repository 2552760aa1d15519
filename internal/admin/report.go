package admin

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/weburl"
)

func (s *Server) report(c *call, kind string) (any, error) {
	query := c.query
	o, err := report.ParseOptions(kind, query, time.Now())
	format := query.Get("format")
	if err == nil && format != "" && format != "json" && format != "csv" {
		err = fmt.Errorf("format %q: write json or csv", format)
	}
	if err != nil {
		return nil, wrong("%v", err)
	}
	switch {
	case format == "csv":
		c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	case report.Streamed(kind):
		c.w.Header().Set("Content-Type", jsonLines)
	default:
		c.w.Header().Set("Content-Type", "application/json")
	}
	return s.stream(c, "a report", func(out io.Writer) error {
		var to report.Sink = report.NewJSON(out)
		if format == "csv" {
			to = report.NewCSV(out, kind)
		}
		return report.Write(c.r.Context(), kind, c.crawler.Reports(), o, to)
	})
}

func (s *Server) links(c *call) (any, error) {
	u, err := weburl.Parse(c.query.Get("to"))
	if err != nil {
		return nil, wrong("%v", err)
	}
	return s.lines(c, "listing links", c.number("limit"), func(fn func(any, string) error) error {
		return report.EachLink(c.r.Context(), c.crawler.Reports(), u, func(l report.LinkedFrom) error { return fn(l, "") })
	})
}

// Report requests a report from the service.
func (c *Client) Report(ctx context.Context, kind string, o report.Options, to report.Sink) error {
	var err error
	switch kind {
	case report.KindBroken:
		err = reported[report.Broken](ctx, c, kind, o, to)
	case report.KindErrors:
		err = reported[*report.Errors](ctx, c, kind, o, to)
	case report.KindDocuments:
		err = reported[*report.Documents](ctx, c, kind, o, to)
	case report.KindRounds:
		err = reported[report.Round](ctx, c, kind, o, to)
	default:
		err = reported[report.Change](ctx, c, kind, o, to)
	}
	if err != nil {
		return err
	}
	return to.End()
}

func reported[E report.Entry](ctx context.Context, c *Client, kind string, o report.Options, to report.Sink) error {
	return Each(ctx, c, "/report/"+kind, o.Query(), func(e E) error { return to.Put(e) })
}
