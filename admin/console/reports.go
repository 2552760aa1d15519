package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/crawl"
)

// reportPages show the reports, and give them as CSV.
func reportPages() []page {
	return []page{
		{pattern: "GET /reports", role: admin.Reader, nav: "Reports", title: "Reports", template: "reports", data: func(v *visit) (any, error) { return &reportData{}, nil }},
		{pattern: "GET /reports/{kind}", role: admin.Reader, title: "Report", template: "reports", data: report},
	}
}

// entriesShown are how many entries of a report a page shows, pagesShown the pages of a
// broken link.
const (
	entriesShown = 500
	pagesShown   = "5"
)

// reportData is a report.
type reportData struct {
	Kind, Host, Since string
	// CSV is where all of it is.
	CSV       string
	Broken    []crawl.Broken
	Changes   []crawl.Changed
	Errors    *crawl.Errors
	Documents *crawl.Documents
	More      bool // there are other entries
}

// Kinds are the reports there are.
func (d *reportData) Kinds() []string { return admin.ReportKinds() }

// Head names a report for people.
func (d *reportData) Head(kind string) string {
	return map[string]string{"broken": "Broken links", "errors": "Errors", "documents": "Documents", "changes": "Changes"}[kind]
}

// About says what a report tells.
func (d *reportData) About(kind string) string {
	return map[string]string{
		"broken":    "URLs that cannot be had, each with the pages that link to it",
		"errors":    "what goes wrong, by kind and host",
		"documents": "how many URLs and documents there are, by source, outcome, queue, media type and host",
		"changes":   "what came, changed and went, in the last 24 hours or since another time",
	}[kind]
}

// Dated says that the report can begin at a time.
func (d *reportData) Dated() bool { return d.Kind != "documents" }

func report(v *visit) (any, error) {
	q := v.r.URL.Query()
	d := &reportData{Kind: v.r.PathValue("kind"), Host: strings.TrimSpace(q.Get("host")), Since: strings.TrimSpace(q.Get("since"))}
	if !slices.Contains(admin.ReportKinds(), d.Kind) {
		return nil, &admin.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: "there is no such report"}
	}
	ask := url.Values{}
	if d.Host != "" {
		ask.Set("host", d.Host)
	}
	if d.Since != "" && d.Dated() {
		ask.Set("since", d.Since)
	}
	csv := url.Values{"format": {"csv"}, "top": {"0"}, "pages": {"0"}}
	maps.Copy(csv, ask)
	d.CSV = v.link("/api/v1/report/"+d.Kind, csv)
	path := "/report/" + d.Kind
	var err error
	switch d.Kind {
	case "broken":
		ask.Set("pages", pagesShown)
		d.Broken, d.More, err = lines[crawl.Broken](v, path, ask, entriesShown)
	case "changes":
		d.Changes, d.More, err = lines[crawl.Changed](v, path, ask, entriesShown)
	case "errors":
		err = v.get(path, ask, &d.Errors)
	default:
		err = v.get(path, ask, &d.Documents)
	}
	return d, err
}
