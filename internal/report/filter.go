package report

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Filter selects stored URLs; zero fields select all.
type Filter struct {
	Status *Statuses
	Class  *scheduler.Class
	Reason *scheduler.Reason
	Fate   *scheduler.Fate
	Fifo   *scheduler.Source
	Error  string                // one of ErrorClasses
	Host   string                // a host name, host:port, or an origin as in https://example.com:8443; in canonical form
	Source string                // that its document is, or was, pushed under
	Text   string                // a part of the URL, in lower case
	Match  func(weburl.URL) bool // nil: any
	// From is the least key that is looked at; keys are in the order of their bytes.
	From weburl.Key
}

// Statuses is a range of HTTP codes; 760 and 761 mean excluded by rules, 0 no response yet.
type Statuses struct{ First, Last int }

// FilterNames are the parameters that ParseFilter reads.
func FilterNames() []string {
	return []string{"status", "class", "reason", "fate", "fifo", "error", "host", "source", "text"}
}

// Selects reports whether the filter selects a record; it ignores From.
func (f *Filter) Selects(r *scheduler.Record) bool {
	return (f.Status == nil || f.Status.First <= r.Status && r.Status <= f.Status.Last) && (f.Class == nil || *f.Class == r.Class) &&
		(f.Fifo == nil || *f.Fifo == fifoNow(r)) && (f.Source == "" || f.Source == r.PushedSource) &&
		(f.Error == "" || f.Error == errorClass(r)) && f.fated(r) &&
		(f.Text == "" || strings.Contains(strings.ToLower(r.URL), f.Text)) && isOn(f.Host, r.Origin, r.URL) && f.matches(r.URL)
}

// may reports whether the filter may select a record once its redirects are followed.
func (f *Filter) may(r *scheduler.Record) bool {
	if !redirects(r) || f.Error == "" && f.Reason == nil {
		return f.Selects(r)
	}
	wide := *f
	wide.Error, wide.Reason = "", nil
	return wide.Selects(r)
}

// fated reports whether the URL has the selected fate.
func (f *Filter) fated(r *scheduler.Record) bool {
	if f.Fate == nil && f.Reason == nil {
		return true
	}
	fate, reason := r.Fate()
	return (f.Fate == nil || *f.Fate == fate) && (f.Reason == nil || *f.Reason == reason)
}

func (f *Filter) matches(raw string) bool {
	if f.Match == nil {
		return true
	}
	u, ok := weburl.FromCanonical(raw)
	return ok && f.Match(u)
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

// ParseFilter reads a filter of stored URLs: FilterNames. status is an HTTP code or, as in
// 4xx, a hundred of them; host is a host name, or scheme://host:port.
func ParseFilter(q url.Values) (f Filter, err error) {
	f.Source, f.Text = q.Get("source"), strings.ToLower(strings.TrimSpace(q.Get("text")))
	if f.Error = q.Get("error"); f.Error != "" && !slices.Contains(ErrorClasses(), f.Error) {
		return f, fmt.Errorf("error %q: write one of %s", f.Error, strings.Join(ErrorClasses(), ", "))
	}
	if f.Status, err = parseStatuses(q.Get("status")); err != nil {
		return f, err
	}
	if f.Class, err = parsed(q, "class", scheduler.ParseClass); err != nil {
		return f, err
	}
	if f.Reason, err = parsed(q, "reason", scheduler.ParseReason); err != nil {
		return f, err
	}
	if f.Fate, err = parsed(q, "fate", scheduler.ParseFate); err != nil {
		return f, err
	}
	if f.Fifo, err = parsed(q, "fifo", scheduler.ParseSource); err != nil {
		return f, err
	}
	f.Host, err = parseHost(q.Get("host"))
	return f, err
}

// parsed is the value of a parameter; nil of none.
func parsed[T any](q url.Values, name string, parse func(string) (T, error)) (*T, error) {
	if q.Get(name) == "" {
		return nil, nil //nolint:nilnil // none is asked for
	}
	v, err := parse(q.Get(name))
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return &v, nil
}

// parseStatuses reads a code, or a hundred of them.
func parseStatuses(word string) (*Statuses, error) {
	if word == "" {
		return nil, nil //nolint:nilnil // none is asked for
	}
	if digit, ok := strings.CutSuffix(strings.ToLower(word), "xx"); ok && len(digit) == 1 && digit >= "1" && digit <= "9" {
		first := int(digit[0]-'0') * 100
		return &Statuses{first, first + 99}, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 || n > 999 {
		return nil, fmt.Errorf("status %q is no HTTP code: write for example 404, 4xx, 760", word)
	}
	return &Statuses{n, n}, nil
}

// parseHost converts a host name, host:port, origin or URL into the form of hosts in the store.
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
