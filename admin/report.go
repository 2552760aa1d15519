package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/weburl"
)

// Reporter is what the reports need of a Crawler.
type Reporter interface {
	Reports() crawl.ReportStore
}

// ReportKinds are the reports there are.
func ReportKinds() []string { return []string{"broken", "errors", "documents", "changes"} }

// reportRoutes only read.
func (s *Server) reportRoutes() []route {
	routes := []route{{method: "GET", path: "/api/v1/links", role: Reader, crawler: true, heavy: true, query: "to limit", answer: s.links}}
	for _, kind := range ReportKinds() {
		query := "format host since top pages"
		if kind == "broken" || kind == "changes" {
			query += " limit"
		}
		routes = append(routes, route{
			method: "GET", path: "/api/v1/report/" + kind, role: Reader, crawler: true, heavy: true, query: query,
			answer: func(c *call) (any, error) { return s.report(c, kind) },
		})
	}
	return routes
}

// ReportOptions are what a report is about, and how long.
type ReportOptions struct {
	Host  string
	Since time.Time
	Top   int // hosts that are named, 0: all
	Pages int // of a broken link, 0: all
	// Limit ends the reports of broken links and of changes after so many entries, 0: none.
	Limit int
}

// Query is what ParseReportOptions reads.
func (o ReportOptions) Query() url.Values {
	q := url.Values{"top": {strconv.Itoa(o.Top)}, "pages": {strconv.Itoa(o.Pages)}}
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	if o.Host != "" {
		q.Set("host", o.Host)
	}
	if !o.Since.IsZero() {
		q.Set("since", o.Since.UTC().Format(time.RFC3339))
	}
	return q
}

// TopHosts is how many hosts a report names where nothing else is said.
const TopHosts = 20

// ChangesFor is how far the report of changes goes back where nothing else is said.
const ChangesFor = 24 * time.Hour

// ParseReportOptions reads since (as ParseSince), host, top, pages and limit.
func ParseReportOptions(kind string, q url.Values, now time.Time) (o ReportOptions, err error) {
	o.Top = TopHosts
	if o.Host, err = parseHost(q.Get("host")); err != nil {
		return o, err
	}
	for name, into := range map[string]*int{"top": &o.Top, "pages": &o.Pages, "limit": &o.Limit} {
		if v := q.Get(name); v != "" {
			if *into, err = strconv.Atoi(v); err != nil || *into < 0 {
				return o, fmt.Errorf("%s %q is no number: write 1 or more, or 0 for all", name, v)
			}
		}
	}
	switch v := q.Get("since"); {
	case v != "":
		o.Since, err = ParseSince(v, now)
	case kind == "changes":
		o.Since = now.Add(-ChangesFor)
	}
	return o, err
}

// ParseSince reads a time (RFC 3339, or a day or minute in the process's own zone), or how
// long before now it was, as 90m, 36h, 7d or 2w.
func ParseSince(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	unit, digits := time.Duration(0), ""
	switch {
	case strings.HasSuffix(s, "d"):
		unit, digits = 24*time.Hour, s[:len(s)-1]
	case strings.HasSuffix(s, "w"):
		unit, digits = 7*24*time.Hour, s[:len(s)-1]
	}
	if n, err := strconv.ParseUint(digits, 10, 16); err == nil {
		return now.Add(-time.Duration(n) * unit), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("since %q is no time and no duration: write for example 2026-01-31, 2026-01-31T08:00:00Z, 36h, 7d or 2w", s)
}

// ReportSink takes the entries of a report one by one.
type ReportSink interface {
	Broken(b crawl.Broken) error
	Errors(e *crawl.Errors) error
	Documents(d *crawl.Documents) error
	Changed(c crawl.Changed) error
	// End is called after the last one.
	End() error
}

// WriteReport makes a report of a store.
func WriteReport(ctx context.Context, kind string, store crawl.ReportStore, o ReportOptions, to ReportSink) error {
	var err error
	if o.Limit > 0 {
		to = &limitedSink{ReportSink: to, left: o.Limit}
	}
	switch kind {
	case "broken":
		err = crawl.ReportBroken(ctx, store, crawl.BrokenOptions{Host: o.Host, Since: o.Since, Pages: o.Pages}, to.Broken)
	case "errors":
		var e *crawl.Errors
		if e, err = crawl.ReportErrors(ctx, store, crawl.ErrorsOptions{Host: o.Host, Since: o.Since, Top: o.Top}); err == nil {
			err = to.Errors(e)
		}
	case "documents":
		var d *crawl.Documents
		if d, err = crawl.ReportDocuments(ctx, store, o.Host, o.Top); err == nil {
			err = to.Documents(d)
		}
	case "changes":
		err = crawl.ReportChanges(ctx, store, crawl.ChangesOptions{Host: o.Host, Since: o.Since}, to.Changed)
	default:
		return fmt.Errorf("there is no report %q: write %s", kind, strings.Join(ReportKinds(), ", "))
	}
	if err != nil && !errors.Is(err, errPageFull) {
		return err
	}
	return to.End()
}

// limitedSink ends a report of many entries.
type limitedSink struct {
	ReportSink
	left int
}

// Broken implements ReportSink, as does Changed.
func (l *limitedSink) Broken(b crawl.Broken) error {
	if l.left--; l.left < 0 {
		return errPageFull
	}
	return l.ReportSink.Broken(b)
}

// Changed ends the report after the last one.
func (l *limitedSink) Changed(c crawl.Changed) error {
	if l.left--; l.left < 0 {
		return errPageFull
	}
	return l.ReportSink.Changed(c)
}

func (s *Server) report(c *call, kind string) (any, error) {
	query := c.query
	o, err := ParseReportOptions(kind, query, time.Now())
	format := query.Get("format")
	if err == nil && format != "" && format != "json" && format != "csv" {
		err = fmt.Errorf("format %q is none of json, csv", format)
	}
	if err != nil {
		return nil, wrong("%v", err)
	}
	switch {
	case format == "csv":
		c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	case kind == "broken" || kind == "changes":
		c.w.Header().Set("Content-Type", jsonLines)
	default:
		c.w.Header().Set("Content-Type", "application/json")
	}
	return s.stream(c, "a report", func(out io.Writer) error {
		var to ReportSink = NewReportJSON(out)
		if format == "csv" {
			to = NewReportCSV(out, kind)
		}
		return WriteReport(c.r.Context(), kind, c.crawler.Reports(), o, to)
	})
}

func (s *Server) links(c *call) (any, error) {
	u, err := weburl.Parse(c.query.Get("to"))
	if err != nil {
		return nil, wrong("%v", err)
	}
	limit, err := limitOf(c)
	if err != nil {
		return nil, err
	}
	return s.lines(c, "listing links", limit, func(fn func(any, string) error) error {
		return crawl.ReportLinks(c.r.Context(), c.crawler.Reports(), u, func(l crawl.LinkedFrom) error { return fn(l, "") })
	})
}

// ReportJSON writes entries as JSON Lines.
type ReportJSON struct{ out *json.Encoder }

// NewReportJSON makes one.
func NewReportJSON(w io.Writer) ReportJSON {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return ReportJSON{out}
}

// Broken implements ReportSink, as do the others.
func (j ReportJSON) Broken(b crawl.Broken) error { return j.out.Encode(b) }

// Errors writes one object.
func (j ReportJSON) Errors(e *crawl.Errors) error { return j.out.Encode(e) }

// Documents writes one object.
func (j ReportJSON) Documents(d *crawl.Documents) error { return j.out.Encode(d) }

// Changed writes a line.
func (j ReportJSON) Changed(c crawl.Changed) error { return j.out.Encode(c) }

// End does nothing.
func (j ReportJSON) End() error { return nil }

// Report has the service make a report.
func (c *Client) Report(ctx context.Context, kind string, o ReportOptions, to ReportSink) error {
	path, query := "/api/v1/report/"+kind, o.Query()
	var err error
	switch kind {
	case "broken":
		err = stream(ctx, c, path, query, to.Broken)
	case "changes":
		err = stream(ctx, c, path, query, to.Changed)
	case "errors":
		err = stream(ctx, c, path, query, func(e crawl.Errors) error { return to.Errors(&e) })
	default:
		err = stream(ctx, c, path, query, func(d crawl.Documents) error { return to.Documents(&d) })
	}
	if err != nil {
		return err
	}
	return to.End()
}

// Links calls fn for each page that links to a URL.
func (c *Client) Links(ctx context.Context, to string, fn func(crawl.LinkedFrom) error) error {
	return stream(ctx, c, "/api/v1/links", url.Values{"to": {to}}, fn)
}
