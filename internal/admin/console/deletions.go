package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// deletionFilter selects deletions, also by a part of their URLs.
type deletionFilter struct {
	admin.DeletionQuery
	URL string
}

// readDeletionFilter parses a query or a form.
func readDeletionFilter(values url.Values, urlName string) (f deletionFilter, err error) {
	trimmed := url.Values{}
	for _, name := range []string{"host", "reason", "edit", "up_to"} {
		trimmed.Set(name, strings.TrimSpace(values.Get(name)))
	}
	f.URL = strings.TrimSpace(values.Get(urlName))
	f.DeletionQuery, err = admin.ParseDeletionQuery(trimmed)
	return f, err
}

func (f *deletionFilter) query() url.Values {
	q := f.Values()
	if f.URL != "" {
		q.Set("url", f.URL)
	}
	return q
}

// back returns the query of the filter's page.
func (f *deletionFilter) back() url.Values {
	q := f.query()
	q.Del("up_to")
	return q
}

// Narrowed reports whether the filter excludes anything.
func (f *deletionFilter) Narrowed() bool {
	return f.URL != "" || f.Host != "" || f.Reason != "" || f.Edit != 0
}

// EditWord returns the number of the edit, empty for none.
func (f *deletionFilter) EditWord() string { return f.Values().Get("edit") }

// deletionsData is a page of deletions.
type deletionsData struct {
	Filter deletionFilter
	Wrong  string               // error in the filter
	Counts admin.DeletionCounts // of the filtered ones
	// Groups are the counts by host, reason, class and edit. They are set if no filter is set.
	Groups []grouping
	Losing []admin.LosingHost // their hosts, the worst first
	Items  []admin.Deletion
	Next   string
}

// grouping is a count of the deletions by one property.
type grouping struct {
	By, Name string
	Rows     []groupRow
	More     int // smaller groups
}

// groupRow is a group, and its selection.
type groupRow struct {
	admin.DeletionGroup
	UpTo uint64
}

// EditWord returns the number of the edit, empty for none.
func (g groupRow) EditWord() string {
	if g.Edit == 0 {
		return ""
	}
	return strconv.FormatUint(g.Edit, 10)
}

// Named reports whether a link or a form can select the group.
func (g groupRow) Named() bool { return g.Class == "" && len(g.Host)+len(g.Reason) <= maxLinked }

// groupsShown is the most hosts and reasons that are listed.
const groupsShown = 10

func deletions(v *visit) (any, error) {
	filter, err := readDeletionFilter(v.r.URL.Query(), "url")
	if err != nil {
		return nil, err
	}
	d := &deletionsData{Filter: filter}
	err = v.get("/deletions/counts", filter.query(), &d.Counts)
	if p, ok := errors.AsType[*admin.Problem](err); ok && p.Status == http.StatusBadRequest {
		d.Wrong = p.Detail
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if !filter.Narrowed() && d.Counts.Pending > 0 {
		if err := d.group(v); err != nil {
			return nil, err
		}
	}
	d.Items, _, d.Next, err = paged[admin.Deletion](v, "/deletions", filter.query(), "/deletions", filter.query())
	return d, err
}

// group counts the deletions, and describes their hosts.
func (d *deletionsData) group(v *visit) error {
	status, err := statusOf(v)
	if err != nil {
		return err
	}
	d.Losing = status.Losing
	for _, g := range []grouping{{By: "host", Name: "Host"}, {By: "reason", Name: "Reason"}, {By: "class", Name: "Class"}, {By: "edit", Name: "Edit of the rules"}} {
		ask := d.Filter.query()
		ask.Set("by", g.By)
		ask.Set("limit", strconv.Itoa(admin.MaxLimit))
		var counts admin.DeletionCounts
		if err := v.get("/deletions/counts", ask, &counts); err != nil {
			return err
		}
		for _, row := range counts.Items {
			if g.By == "edit" && row.Edit == 0 {
				continue
			}
			if len(g.Rows) == groupsShown {
				g.More++
				continue
			}
			g.Rows = append(g.Rows, groupRow{row, d.Counts.UpTo})
		}
		if len(g.Rows) > 0 {
			d.Groups = append(d.Groups, g)
		}
	}
	return nil
}

// statusOf returns the status of the selected Crawler.
func statusOf(v *visit) (*admin.Status, error) {
	all, err := v.api.Status(v.r.Context())
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}
