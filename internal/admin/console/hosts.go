package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	visiting "github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

const (
	// hostsShown is the number of hosts on a page, hostsListed the number that can be paged through.
	hostsShown  = 100
	hostsListed = 1000
)

// hostsData is a part of a list of hosts.
type hostsData struct {
	Show string // all, waiting, resting or ill
	// All are rows of show=all, sorted by Sort.
	All     []report.HostRow
	Columns []report.Column
	Sort    string
	Known   int // total
	Hosts   []admin.HostStatus
	Ill     []scheduler.IllHost // of show=ill
	First   int                 // the number of the first, from 1
	Next    string
	// Later is the address of the list if the page loads it afterwards, since it counts all stored URLs.
	Later string
	// Whole is set if the list ends at its limit.
	Whole bool
}

func hosts(v *visit) (any, error) {
	query := v.r.URL.Query()
	if host := strings.TrimSpace(query.Get("host")); host != "" {
		return nil, v.redirect("/hosts/"+url.PathEscape(host), nil, "")
	}
	from, err := strconv.Atoi(cmp.Or(query.Get("from"), "0"))
	if err != nil || from < 0 || from >= hostsListed {
		return nil, &admin.Problem{Title: "Bad request", Status: http.StatusBadRequest, Detail: "from is a number below " + strconv.Itoa(hostsListed)}
	}
	d := hostsData{Show: query.Get("show"), First: from + 1}
	if d.Show != "ill" && d.Show != "resting" && d.Show != "waiting" {
		if whole, err := mayRead(v); err != nil || whole || d.Show == "all" {
			d.Show = "all"
			return d, errors.Join(err, d.all(v, from))
		}
		d.Show = "waiting"
	}
	n := 0
	if d.Show == "ill" {
		if err := v.get("/hosts/ill", nil, &d.Ill); err != nil {
			return nil, err
		}
		n = len(d.Ill)
		d.Ill = part(d.Ill, from)
	} else {
		var all []admin.HostStatus // of both orders, as far as the page needs them
		if err := v.get("/hosts", url.Values{"n": {strconv.Itoa(min(from+hostsShown+1, hostsListed))}}, &all); err != nil {
			return nil, err
		}
		d.choose(all)
		n = len(d.Hosts)
		d.Hosts = part(d.Hosts, from)
	}
	d.setNext(v, n)
	d.Known = n
	if n > hostsShown { // perhaps not all are listed
		status, err := statusOf(v)
		if err != nil {
			return nil, err
		}
		d.Known = max(n, map[string]int{
			"waiting": status.Hosts.WithWork, "ill": status.IllHosts,
			"resting": status.Hosts.Closed - status.ClosedFor[scheduler.ByThrottle.String()],
		}[d.Show])
	}
	return d, nil
}

// setNext sets Next if more of the n hosts follow this page, or Whole if no more are listed.
func (d *hostsData) setNext(v *visit, n int) {
	to := d.First - 1 + hostsShown
	if d.Whole = n > to && to >= hostsListed; n > to && !d.Whole {
		d.Next = v.link("/hosts", admin.Query("show", d.Show, "sort", d.Sort, "from", strconv.Itoa(to)))
	}
}

// manyURLs is the number of stored URLs above which an unsorted page does not read them all.
const manyURLs = 300_000

// mayRead reports whether the store is small enough for a page to read all of it.
func mayRead(v *visit) (bool, error) {
	status, err := statusOf(v)
	return err == nil && status.Known <= manyURLs, err
}

// all lists the hosts of all stored URLs, or sets Later if no order is chosen yet.
func (d *hostsData) all(v *visit, from int) error {
	if d.Sort = v.r.URL.Query().Get("sort"); d.Sort == "" {
		d.Later = v.link("/hosts", admin.Query("show", d.Show, "sort", "-urls"))
		return nil
	}
	d.Columns = report.HostColumns()
	var page report.HostsPage
	ask := url.Values{"sort": {d.Sort}, "from": {strconv.Itoa(from)}, "limit": {strconv.Itoa(hostsShown)}}
	if err := v.get("/hosts/all", ask, &page); err != nil {
		return err
	}
	d.All, d.Known = page.Hosts, page.Known
	d.setNext(v, page.Known)
	return nil
}

// HostCells returns the cells of a host; its counts link to its URLs.
func (v *view) HostCells(h report.HostRow) (row []tableCell) {
	values := report.HostCells(&h)
	row = v.row(report.HostColumns(), values, func(report.Column) bool { return true })
	for i := range row {
		ask, cell := url.Values{"host": {h.Host}}, &row[i]
		switch cell.Name {
		case "urls":
		case "mean_ms":
			if h.MeanMS == 0 {
				cell.HTML = ""
			}
			continue
		case "documents":
			ask.Set("fate", scheduler.FateIndexed.String())
		default:
			ask.Set("class", cell.Name)
		}
		if _, ok := values[i].(int); ok && len(h.Host) <= maxLinked {
			v.linkCount(cell, ask)
		}
	}
	return row
}

// choose selects the resting hosts, longest first, or those with work, the longest queue first.
func (d *hostsData) choose(all []admin.HostStatus) {
	if d.Show == "resting" {
		d.Hosts = slices.DeleteFunc(all, func(h admin.HostStatus) bool {
			return h.ClosedUntil == nil || h.ClosedBy == scheduler.ByThrottle.String()
		})
		slices.SortStableFunc(d.Hosts, func(a, b admin.HostStatus) int { return b.ClosedUntil.Compare(*a.ClosedUntil) })
		return
	}
	d.Hosts = slices.DeleteFunc(all, func(h admin.HostStatus) bool { return h.Waiting == 0 })
	slices.SortStableFunc(d.Hosts, func(a, b admin.HostStatus) int { return cmp.Compare(b.Waiting, a.Waiting) })
}

// part returns the part of a list that is on a page.
func part[T any](list []T, from int) []T {
	return list[min(from, len(list)):min(from+hostsShown, len(list))]
}

// hostData is one host.
type hostData struct {
	admin.HostDetails
	// LogIns are the log-ins for its pages.
	LogIns []visiting.SessionStatus
	// Row counts the host's URLs by class, nil if none is stored.
	Row *report.HostRow
}

// count counts the host's stored URLs, if that is quick.
func (d *hostData) count(v *visit) error {
	whole, err := mayRead(v)
	if err != nil || !whole {
		return err
	}
	var page report.HostsPage
	if err := v.get("/hosts/all", url.Values{"host": {d.Host}, "limit": {"1"}}, &page); err != nil {
		return err
	}
	if len(page.Hosts) > 0 {
		d.Row = &page.Hosts[0]
	}
	return nil
}

func oneHost(v *visit) (any, error) {
	origin := v.r.PathValue("host")
	var d hostData
	if err := v.get("/host", url.Values{"host": {origin}}, &d.HostDetails); err != nil {
		return nil, err
	}
	if err := d.count(v); err != nil {
		return nil, err
	}
	if d.Pages != nil && len(d.Pages.LogIns) > 0 {
		status, err := statusOf(v)
		if err != nil {
			return nil, err
		}
		d.LogIns = logInsOf(status, d.Pages.LogIns...)
	}
	return d, nil
}

// logInsOf returns the states of the named log-ins.
func logInsOf(s *admin.Status, names ...string) []visiting.SessionStatus {
	return slices.DeleteFunc(slices.Clone(s.Sessions), func(l visiting.SessionStatus) bool { return !slices.Contains(names, l.Name) })
}
