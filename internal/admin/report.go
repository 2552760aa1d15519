package admin

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/weburl"
)

// TotalHeader is the header with the number of all entries of a list or a report that is sent in part.
const TotalHeader = "Sextant-Total"

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
	o.Counted = c.total
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

// Report requests a report from the service, by the parameters of report.ParseOptions.
func (c *Client) Report(ctx context.Context, kind string, query url.Values, to report.Sink) error {
	each := map[string]func(context.Context, *Client, string, url.Values, report.Sink) error{
		report.KindBroken: reported[report.Broken], report.KindErrors: reported[*report.Errors], report.KindDocuments: reported[*report.Documents],
		report.KindChanges: reported[report.Change], report.KindRounds: reported[report.Round],
	}
	if err := each[kind](ctx, c, "/report/"+kind, query, to); err != nil {
		return err
	}
	return to.End()
}

func reported[E report.Entry](ctx context.Context, c *Client, path string, query url.Values, to report.Sink) error {
	return Each(ctx, c, path, query, func(e E) error { return to.Put(e) })
}
