package report

import (
	"context"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// HostRow summarizes one stored host. The names of the JSON are a contract.
type HostRow struct {
	Host      string `json:"host"` // as in http://www.example.com
	URLs      int    `json:"urls"`
	Documents int    `json:"documents"`
	// The URLs by the class of their last outcome.
	OK        int `json:"ok"`
	Redirect  int `json:"redirect"`
	Ignored   int `json:"ignored"`
	Temporary int `json:"temporary"`
	Permanent int `json:"permanent"`
	Pending   int `json:"pending"`
	// LastAt is the time of the latest visit, NextAt the next due time of a URL that is not queued.
	LastAt *time.Time `json:"last_at,omitempty"`
	NextAt *time.Time `json:"next_at,omitempty"`
	// MeanMS is the mean response time since the service started, in milliseconds.
	MeanMS int64 `json:"mean_ms,omitempty"`
	Ill    bool  `json:"ill,omitempty"` // its documents mostly fail: none is replaced, or deleted without a release
	// Robots is the rule of its robots.txt for the root of the host: allowed, forbidden, or empty if unknown.
	Robots string `json:"robots,omitempty"`
}

var hostRowColumns = []column[HostRow]{
	{Column{Name: "host", Title: "Host", Shows: Origin, Key: true}, func(h *HostRow) any { return h.Host }},
	{Column{Name: "urls", Title: "URLs", Shows: Count}, func(h *HostRow) any { return h.URLs }},
	{Column{Name: "documents", Title: "Documents", Shows: Count}, func(h *HostRow) any { return h.Documents }},
	{Column{Name: "ok", Title: "OK", Shows: Count}, func(h *HostRow) any { return h.OK }},
	{Column{Name: "redirect", Title: "Redirects", Shows: Count}, func(h *HostRow) any { return h.Redirect }},
	{Column{Name: "ignored", Title: "Ignored", Shows: Count}, func(h *HostRow) any { return h.Ignored }},
	{Column{Name: "temporary", Title: "Temporary", Shows: Count}, func(h *HostRow) any { return h.Temporary }},
	{Column{Name: "permanent", Title: "Permanent", Shows: Count}, func(h *HostRow) any { return h.Permanent }},
	{Column{Name: "pending", Title: "Pending", Shows: Count}, func(h *HostRow) any { return h.Pending }},
	{Column{Name: "mean_ms", Title: "Mean ms", Shows: Count}, func(h *HostRow) any { return int(h.MeanMS) }},
	{Column{Name: "last_at", Title: "Crawled", Shows: Time}, func(h *HostRow) any { return orZero(h.LastAt) }},
	{Column{Name: "next_at", Title: "Next visit", Shows: Time}, func(h *HostRow) any { return orZero(h.NextAt) }},
}

// HostColumns are the columns by which the list of hosts can be sorted.
func HostColumns() []Column { return heads(hostRowColumns) }

// HostCells are the cells of a host under HostColumns.
func HostCells(h *HostRow) []any { return cells(hostRowColumns, h) }

// HostsPage is a part of the list of hosts.
type HostsPage struct {
	Hosts []HostRow `json:"hosts"`
	Known int       `json:"known"` // total
}

// hostSum counts one host's URLs.
type hostSum struct {
	origin     string
	classes    [scheduler.Permanent + 1]uint32
	documents  uint32
	last, next int64 // Unix seconds, 0: none
}

func (h *hostSum) add(r *scheduler.Record) {
	h.classes[r.Class]++
	if r.Indexed {
		h.documents++
	}
	if !r.FetchedAt.IsZero() {
		h.last = max(h.last, r.FetchedAt.Unix())
	}
	if at := r.NextAt.Unix(); r.State == scheduler.Timed && (h.next == 0 || at < h.next) {
		h.next = at
	}
}

// row returns the host for display, without its state.
func (h *hostSum) row() HostRow {
	n := func(c scheduler.Class) int { return int(h.classes[c]) }
	row := HostRow{
		Host:      h.origin,
		Documents: int(h.documents), OK: n(scheduler.OK), Redirect: n(scheduler.Redirect), Ignored: n(scheduler.Ignored),
		Temporary: n(scheduler.Temporary), Permanent: n(scheduler.Permanent), Pending: n(scheduler.Pending),
	}
	for _, c := range h.classes {
		row.URLs += int(c)
	}
	if h.last != 0 {
		row.LastAt = timeOf(time.Unix(h.last, 0))
	}
	if h.next != 0 {
		row.NextAt = timeOf(time.Unix(h.next, 0))
	}
	return row
}

// sumHosts counts the stored URLs of each host, or only of the named one.
func sumHosts(ctx context.Context, store Store, host string) (map[weburl.HostKey]*hostSum, error) {
	sums := map[weburl.HostKey]*hostSum{}
	err := eachRecord(ctx, store, func(r *scheduler.Record) bool { return isOn(host, r.Origin, r.URL) }, func(_ weburl.Key, r *scheduler.Record) error {
		h := sums[r.Host]
		if h == nil {
			h = &hostSum{origin: strings.Clone(r.Origin)}
			sums[r.Host] = h
		}
		h.add(r)
		return nil
	})
	return sums, err
}

// CountHosts lists the hosts of stored URLs in the given order, by default those with the most URLs first. It returns
// limit hosts beginning at from, or only the named host. took returns the response time of a host, 0 if unknown. It
// reads the whole store, and keeps some 150 bytes for each host.
func CountHosts(ctx context.Context, store Store, took func(weburl.HostKey) time.Duration, host string, o Order, from, limit int) (HostsPage, error) {
	page := HostsPage{Hosts: []HostRow{}}
	sums, err := sumHosts(ctx, store, host)
	if err != nil {
		return page, err
	}
	if o.By == "" {
		o = Order{By: "urls", Desc: true}
	}
	rows := newSorter(o, from+limit, placer(hostRowColumns, o.By, func(h *HostRow) string { return h.Host }))
	defer rows.close()
	for key, sum := range sums {
		row := sum.row()
		if d := took(key); d > 0 {
			row.MeanMS = max(d.Milliseconds(), 1)
		}
		if err := rows.add(&row); err != nil {
			return page, err
		}
	}
	page.Known = len(sums)
	err = rows.each(func(h *HostRow) error {
		if from > 0 {
			from--
			return nil
		}
		u, err := weburl.Parse(h.Host)
		if err != nil {
			return err
		}
		state, err := store.Host(ctx, u.HostKey())
		h.Ill = state.Ill
		page.Hosts = append(page.Hosts, *h)
		return err
	})
	return page, err
}
