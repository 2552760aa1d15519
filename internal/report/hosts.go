package report

import (
	"context"
	"errors"
	"slices"
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
	Ill    bool  `json:"ill,omitempty"` // its documents turn bad: none is deleted without a release, or replaced
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
	Known int       `json:"known"` // in all
}

// hostSum counts one host's URLs.
type hostSum struct {
	sample     weburl.Key // of one of its URLs
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

// row is the host for people; of its name and state nothing is known here.
func (h *hostSum) row() HostRow {
	n := func(c scheduler.Class) int { return int(h.classes[c]) }
	row := HostRow{
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

// CountHosts lists hosts that URLs are stored of, in an order, that with the most URLs first
// where it names none: limit of them from one on, only that of a host if one is named. Took
// is how long a host takes to respond, 0 if it is not known. It reads the whole store, and
// holds some 100 bytes for each host.
func CountHosts(ctx context.Context, store Store, took func(weburl.HostKey) time.Duration, host string, o Order, from, limit int) (HostsPage, error) {
	sums := map[weburl.HostKey]*hostSum{}
	err := eachRecord(ctx, store, func(r *scheduler.Record) bool { return isOn(host, r.Origin, r.URL) }, func(k weburl.Key, r *scheduler.Record) error {
		h := sums[r.Host]
		if h == nil {
			h = &hostSum{sample: k}
			sums[r.Host] = h
		}
		h.add(r)
		return nil
	})
	if err != nil {
		return HostsPage{}, err
	}
	rows := make([]keyedHost, 0, len(sums))
	for key, sum := range sums {
		row := keyedHost{sum.row(), key, sum.sample}
		if d := took(key); d > 0 {
			row.MeanMS = max(d.Milliseconds(), 1)
		}
		rows = append(rows, row)
	}
	if o.By == "" {
		o = Order{By: "urls", Desc: true}
	}
	if err := sortHosts(ctx, store, rows, o); err != nil {
		return HostsPage{}, err
	}
	page := HostsPage{Hosts: []HostRow{}, Known: len(rows)}
	for _, r := range rows[min(from, len(rows)):min(from+limit, len(rows))] {
		if err := r.look(ctx, store); err != nil {
			return page, err
		}
		page.Hosts = append(page.Hosts, r.HostRow)
	}
	return page, nil
}

// keyedHost is a row with the key of its host.
type keyedHost struct {
	HostRow
	key    weburl.HostKey
	sample weburl.Key
}

// look adds the name and the state of the host.
func (h *keyedHost) look(ctx context.Context, store Store) error {
	if h.Host == "" {
		r, err := store.Lookup(ctx, h.sample)
		if errors.Is(err, scheduler.ErrNotFound) { // it went meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if u, ok := weburl.FromCanonical(r.URL); ok {
			h.Host = u.Origin()
		}
	}
	state, err := store.Host(ctx, h.key)
	h.Ill = state.Ill
	return err
}

// sortHosts sorts rows; by name only that is looked up for all.
func sortHosts(ctx context.Context, store Store, rows []keyedHost, o Order) error {
	if o.By == "host" {
		for i := range rows {
			if err := rows[i].look(ctx, store); err != nil {
				return err
			}
		}
	}
	i := slices.IndexFunc(hostRowColumns, func(c column[HostRow]) bool { return c.Name == o.By })
	slices.SortFunc(rows, func(a, b keyedHost) int {
		return o.compare(
			Place{sortable(hostRowColumns[i].cell(&a.HostRow)), string(a.key[:])},
			Place{sortable(hostRowColumns[i].cell(&b.HostRow)), string(b.key[:])})
	})
	return nil
}
