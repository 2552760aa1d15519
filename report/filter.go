package report

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Filter selects stored URLs; zero fields select all.
type Filter struct {
	Status *int // HTTP code, 760, 761, or 0 for never answered
	Class  *scheduler.Class
	Fifo   *scheduler.Source
	Host   string // a host name, host:port, or an origin as in https://example.com:8443; in canonical form
	// From is the least key that is looked at; keys are in the order of their bytes.
	From weburl.Key
}

func (f *Filter) selects(r *scheduler.Record) bool {
	return (f.Status == nil || *f.Status == r.Status) && (f.Class == nil || *f.Class == r.Class) &&
		(f.Fifo == nil || *f.Fifo == fifoNow(r)) && isOn(f.Host, r.Origin, r.URL)
}

// isOn reports whether a URL of an origin is on a host, named as in Filter.Host.
func isOn(host, origin, url string) bool {
	if host == "" || host == origin {
		return true
	}
	if _, authority, _ := strings.Cut(origin, "://"); authority == host {
		return true
	}
	u, ok := weburl.FromCanonical(url)
	return ok && u.Host() == host
}

// ParseFilter reads a filter of stored URLs: status (HTTP code), class, fifo,
// host (a host name, or scheme://host:port).
func ParseFilter(q url.Values) (Filter, error) {
	var f Filter
	if v := q.Get("status"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > 999 {
			return f, fmt.Errorf("status %q is no HTTP code: write for example 404, 760", v)
		}
		f.Status = &n
	}
	if v := q.Get("class"); v != "" {
		c, ok := parseClass(v)
		if !ok {
			return f, fmt.Errorf("class %q is none of ok, redirect, ignored, temporary, permanent, pending", v)
		}
		f.Class = &c
	}
	if v := q.Get("fifo"); v != "" {
		s, err := scheduler.ParseSource(v)
		if err != nil {
			return f, err
		}
		f.Fifo = &s
	}
	var err error
	f.Host, err = parseHost(q.Get("host"))
	return f, err
}

// parseHost gives a host name, host:port or origin the form that URLs have in the store.
// Of a whole URL it takes the origin.
func parseHost(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if strings.Contains(text, "://") {
		u, err := weburl.Parse(text)
		if err != nil {
			return "", fmt.Errorf("host %q: %w", text, err)
		}
		return u.Origin(), nil
	}
	u, err := weburl.Parse("http://" + text)
	if err != nil || u.PathAndQuery() != "/" {
		return "", fmt.Errorf("%q is no host: write for example www.example.com, www.example.com:8443 or https://www.example.com", text)
	}
	return strings.TrimPrefix(u.Origin(), "http://"), nil
}

// parseClass reads the operator's word for a class.
func parseClass(word string) (scheduler.Class, bool) {
	for c := scheduler.Pending; c <= scheduler.Permanent; c++ {
		if c.String() == word {
			return c, true
		}
	}
	return 0, false
}
