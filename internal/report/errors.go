package report

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Errors are the errors of a crawl by host and class. The names of the JSON are a
// contract.
type Errors struct {
	URLs int `json:"urls"` // with an error
	// Forgotten counts URLs that are not known any more since an error was final.
	Forgotten int          `json:"forgotten"`
	Hosts     int          `json:"hosts"` // that have one
	Classes   []ErrorCount `json:"classes"`
	ByHost    []HostErrors `json:"by_host"` // hosts with the most errors first
}

// HostErrors are the errors of one host.
type HostErrors struct {
	Host      string       `json:"host"` // as in http://www.example.com
	URLs      int          `json:"urls"`
	Forgotten int          `json:"forgotten"`
	Classes   []ErrorCount `json:"classes"`
}

// ErrorCount is one class of errors, with the URL that was visited last as an example.
type ErrorCount struct {
	Class     string    `json:"class"` // one of ErrorClasses
	URLs      int       `json:"urls"`
	Forgotten int       `json:"forgotten"`
	First     time.Time `json:"first"` // when the first of them began
	Last      time.Time `json:"last"`  // when one was visited last
	Example   string    `json:"example"`
	Words     string    `json:"words"`
}

var errorColumns = []column[ErrorCount]{
	{Column{Name: "class", Title: "Kind", Shows: Word, Key: true}, func(c *ErrorCount) any { return c.Class }},
	{Column{Name: "urls", Title: "URLs", Shows: Count}, func(c *ErrorCount) any { return c.URLs }},
	{Column{Name: "forgotten", Title: "Forgotten", Shows: Count}, func(c *ErrorCount) any { return c.Forgotten }},
	{Column{Name: "first", Title: "First", Shows: Time}, func(c *ErrorCount) any { return c.First }},
	{Column{Name: "last", Title: "Last", Shows: Time}, func(c *ErrorCount) any { return c.Last }},
	{Column{Name: "example", Title: "Example", Shows: Link}, func(c *ErrorCount) any { return c.Example }},
	{Column{Name: "words", Title: "Message"}, func(c *ErrorCount) any { return c.Words }},
}

// Tables returns the table of all hosts, then one for each listed host.
func (e *Errors) Tables() []Table {
	list := []Table{e.All()}
	for i := range e.ByHost {
		list = append(list, e.ByHost[i].Table())
	}
	return list
}

// All is the table of all hosts.
func (e *Errors) All() Table { return tableOf("", errorColumns, e.Classes) }

// Table returns the table of the host.
func (h *HostErrors) Table() Table { return tableOf(h.Host, errorColumns, h.Classes) }

// failing is a URL with an error.
type failing struct {
	host        weburl.HostKey
	url, words  string
	class       string
	since, last time.Time
	forgotten   bool
}

// CountErrors counts errors. It goes over all stored URLs twice, and holds some 20 bytes
// for each host that has errors, more for those that it names.
func CountErrors(ctx context.Context, store Store, o Options) (*Errors, error) {
	e := &Errors{Classes: []ErrorCount{}, ByHost: []HostErrors{}}
	hosts, classes := map[weburl.HostKey]uint32{}, map[string]*ErrorCount{}
	err := eachFailing(ctx, store, o, func(f *failing) error {
		hosts[f.host]++
		f.count(classes)
		return nil
	})
	if err != nil {
		return nil, err
	}
	e.Hosts, e.Classes = len(hosts), inOrder(classes)
	for _, c := range e.Classes {
		e.URLs, e.Forgotten = e.URLs+c.URLs, e.Forgotten+c.Forgotten
	}
	named := map[weburl.HostKey]*hostErrors{}
	for _, h := range most(hosts, o.Top, func(n uint32) uint32 { return n }) {
		named[h] = &hostErrors{classes: map[string]*ErrorCount{}}
	}
	err = eachFailing(ctx, store, o, func(f *failing) error {
		if h := named[f.host]; h != nil {
			h.add(f)
		}
		return nil
	})
	for _, h := range named {
		if h.Classes = inOrder(h.classes); h.Host != "" {
			e.ByHost = append(e.ByHost, h.HostErrors)
		}
	}
	slices.SortFunc(e.ByHost, func(a, b HostErrors) int {
		return cmp.Or(cmp.Compare(b.URLs+b.Forgotten, a.URLs+a.Forgotten), cmp.Compare(a.Host, b.Host))
	})
	return e, err
}

type hostErrors struct {
	HostErrors
	classes map[string]*ErrorCount
}

func (h *hostErrors) add(f *failing) {
	if h.Host == "" {
		if u, ok := weburl.FromCanonical(f.url); ok {
			h.Host = u.Origin()
		}
	}
	if f.forgotten {
		h.Forgotten++
	} else {
		h.URLs++
	}
	f.count(h.classes)
}

// count adds a URL to its class.
func (f *failing) count(classes map[string]*ErrorCount) {
	c := classes[f.class]
	if c == nil {
		c = &ErrorCount{Class: f.class, First: f.since}
		classes[f.class] = c
	}
	if f.forgotten {
		c.Forgotten++
	} else {
		c.URLs++
	}
	if f.since.Before(c.First) {
		c.First = f.since
	}
	if c.Example == "" || f.last.After(c.Last) {
		c.Last, c.Example, c.Words = f.last, f.url, f.words
	}
}

// inOrder lists the classes that occur, in the order of ErrorClasses.
func inOrder(classes map[string]*ErrorCount) []ErrorCount {
	list := []ErrorCount{}
	for _, name := range ErrorClasses() {
		if c := classes[name]; c != nil {
			list = append(list, *c)
		}
	}
	return list
}

// most returns the n hosts with the highest counts, or all if n is 0.
func most[C any](hosts map[weburl.HostKey]C, n int, count func(C) uint32) []weburl.HostKey {
	keys := slices.SortedFunc(maps.Keys(hosts), func(a, b weburl.HostKey) int {
		return cmp.Or(cmp.Compare(count(hosts[b]), count(hosts[a])), slices.Compare(a[:], b[:]))
	})
	if n > 0 {
		keys = keys[:min(n, len(keys))]
	}
	return keys
}

// eachFailing calls fn for each URL with an error that o selects.
func eachFailing(ctx context.Context, store Store, o Options, fn func(*failing) error) error {
	c := newChains(store)
	err := eachRecord(ctx, store, func(r *scheduler.Record) bool {
		return (errorClass(r) != "" || redirects(r)) && isOn(o.Host, r.Origin, r.URL) && !lastVisit(r).Before(o.Since)
	}, func(_ weburl.Key, r *scheduler.Record) error {
		if err := c.follow(ctx, r); err != nil || errorClass(r) == "" {
			return err
		}
		return fn(&failing{
			host: r.Host, url: r.URL, words: r.LastError, class: errorClass(r),
			since: errorSince(r).Truncate(time.Second), last: lastVisit(r),
		})
	})
	if err != nil {
		return err
	}
	return eachGone(ctx, store, o.Host, func(g *scheduler.Gone) bool { return !g.At.Before(o.Since) }, func(g *goneURL) error {
		return fn(&failing{
			host: g.host, url: g.URL, words: g.Words, class: failureClass(g.Reason),
			since: g.Since.UTC().Truncate(time.Second), last: g.At.UTC(), forgotten: true,
		})
	})
}

// lastVisit returns the time of a URL's last visit, as far as known.
func lastVisit(r *scheduler.Record) time.Time {
	return cmp.Or(r.FetchedAt, r.ClassAt, r.FoundAt).UTC().Truncate(time.Second)
}
