package admin

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// HostStatus is the printed form of a host with work, or of one that rests.
type HostStatus struct {
	Host     string `json:"host"`    // scheme, host and port
	Waiting  uint64 `json:"waiting"` // URLs, in flight ones included
	InFlight int    `json:"in_flight"`
	// ClosedUntil is the time when the host may be contacted again, nil if now. ClosedBy is the word for the reason, a
	// scheduler.Closing.
	ClosedUntil *time.Time `json:"closed_until,omitempty"`
	ClosedBy    string     `json:"closed_by,omitempty"`
	Errors      int        `json:"errors,omitempty"`  // failures in a row
	Ill         bool       `json:"ill,omitempty"`     // its documents mostly fail: none is replaced, or deleted without a release
	Address     string     `json:"address,omitempty"` // with perAddress
}

// NewHostStatus returns the printed form of the frontier's data.
func NewHostStatus(info scheduler.HostInfo) HostStatus {
	h := HostStatus{Host: info.Origin, InFlight: info.InFlight, Errors: info.Errors, Ill: info.Ill}
	for _, n := range info.Waiting {
		h.Waiting += n
	}
	if !info.Until.IsZero() {
		h.ClosedUntil, h.ClosedBy = utc(info.Until), info.Closing.String()
	}
	if info.Address.IsValid() {
		h.Address = info.Address.String()
	}
	return h
}

// allHosts lists the hosts of all stored URLs.
func (s *Server) allHosts(c *call) (any, error) {
	o, err := report.ParseOptions(report.KindDocuments, url.Values{"host": {c.query.Get("host")}, "from": {c.query.Get("from")}}, time.Now())
	if err == nil {
		o.Order, err = report.ParseOrder(c.query.Get("sort"), report.HostColumns())
	}
	if err != nil {
		return nil, wrong("%v", err)
	}
	page, err := report.CountHosts(c.r.Context(), c.crawler.Reports(), c.crawler.HostTime, o.Host, o.Order, o.From, cmp.Or(c.number("limit"), defaultLimit))
	if err != nil {
		return nil, err
	}
	robots := c.crawler.Settings().Robots
	for i := range page.Hosts {
		u, err := weburl.Parse(page.Hosts[i].Host)
		if err != nil {
			continue // it went in the meantime
		}
		said, err := report.Robots(c.r.Context(), c.crawler.Reports(), robots.Agent, robots.Original, u)
		if err != nil {
			return nil, err
		}
		if said != "unknown" {
			page.Hosts[i].Robots = said
		}
	}
	return page, nil
}

// ill lists the ill hosts, the latest first.
func (s *Server) ill(c *call) (any, error) {
	hosts := append([]scheduler.IllHost{}, c.crawler.Ill()...)
	slices.Reverse(hosts)
	c.total(max(len(hosts), c.crawler.Snapshot().IllHosts))
	return hosts, nil
}

// Why describes why the host is closed; empty if it is not.
func (h HostStatus) Why() string {
	return cmp.Or(map[string]string{
		scheduler.ByThrottle.String():   "the pause between two requests",
		scheduler.ByCrawlDelay.String(): "its robots.txt requires a pause",
		scheduler.ByBackoff.String():    "it failed",
		scheduler.ByRetryAfter.String(): "it requested a pause with Retry-After",
		scheduler.ByHours.String():      "outside the hours of its Throttle",
		scheduler.ByAddress.String():    "another host at its address was visited",
		scheduler.ByStore.String():      "the outcome of a visit could not be stored",
	}[h.ClosedBy], h.ClosedBy)
}

// hosts lists the hosts with the longest queues, then some that rest longest. The list
// has no cursor, because its order changes all the time.
func (s *Server) hosts(c *call) (any, error) {
	hosts := []HostStatus{}
	err := c.crawler.Hosts(c.r.Context(), cmp.Or(c.number("n"), defaultLimit), func(info scheduler.HostInfo) error {
		hosts = append(hosts, NewHostStatus(info))
		return nil
	})
	if all := c.crawler.Snapshot().Hosts; all > 0 { // it is 0 if no service runs
		c.total(max(len(hosts), all))
	}
	return hosts, err
}
