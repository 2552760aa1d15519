package report

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options select the content and the length of a report; zero fields select all.
type Options struct {
	Host  string    // a host name, host:port or an origin, as in Filter
	Since time.Time // broken: only URLs that broke then or later; errors: that were visited
	Top   int       // number of hosts that are listed, those with the most; 0 for all
	Pages int       // number of pages named per broken link; 0 for all
	// Limit is the maximum number of entries in the reports of broken links and of changes; 0 for no limit.
	Limit int
	// Order is the order of the entries, or of the rows of tables; From skips the first entries.
	Order Order
	From  int
	// Counted is called with the number of all entries of such a report before the first of them; nil: not called.
	Counted func(total int)
}

// TopHosts is the default number of hosts in a report.
const TopHosts = 20

// ChangesFor is the default period of the report of changes.
const ChangesFor = 24 * time.Hour

// FromMax is the maximum number of skipped entries.
const FromMax = 100_000

// ParseOptions reads since (as ParseSince), host, top, pages, limit, from and sort.
func ParseOptions(kind string, q url.Values, now time.Time) (o Options, err error) {
	o.Top = TopHosts
	if o.Host, err = parseHost(q.Get("host")); err != nil {
		return o, err
	}
	for name, into := range map[string]*int{"top": &o.Top, "pages": &o.Pages, "limit": &o.Limit, "from": &o.From} {
		if v := q.Get(name); v != "" {
			if *into, err = strconv.Atoi(v); err != nil || *into < 0 {
				return o, fmt.Errorf("%s %q is not a number: write 1 or more, or 0 for all", name, v)
			}
		}
	}
	if o.From > FromMax {
		return o, fmt.Errorf("from %d: at most %d entries can be skipped; narrow the report by host or since", o.From, FromMax)
	}
	if o.Order, err = ParseOrder(q.Get("sort"), Columns(kind)); err != nil {
		return o, err
	}
	if o.Order.By == "" {
		o.Order = DefaultOrder(kind)
	}
	switch v := q.Get("since"); {
	case v != "":
		o.Since, err = ParseSince(v, now)
	case kind == KindChanges:
		o.Since = now.Add(-ChangesFor)
	}
	return o, err
}

// ParseSince reads a time (RFC 3339, or a day or minute in the process's own zone), or a duration before now, such as
// 90m, 36h, 7d or 2w.
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
	return time.Time{}, fmt.Errorf("since %q is neither a time nor a duration: write one such as 2026-01-31, 2026-01-31T08:00:00Z, 36h, 7d or 2w", s)
}

// DefaultOrder is the default order of a report: changes latest first, broken links with the most pages first.
func DefaultOrder(kind string) Order {
	switch kind {
	case KindBroken:
		return Order{By: "pages", Desc: true}
	case KindChanges, KindRounds:
		return Order{By: "at", Desc: true}
	}
	return Order{}
}
