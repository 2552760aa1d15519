package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// told is a store of which reports read what a test put there.
type told struct {
	scheduler.Store
	records map[weburl.Key]scheduler.Record
	links   map[weburl.Key]scheduler.LinkPrints
	gone    map[weburl.Key]scheduler.Gone
	orders  []push.Listed
	lookup  error // of every Lookup, if it is set
	longest int   // the most entries that one walk went over
	lookups int   // how many records were looked up
}

func newTold() *told {
	return &told{records: map[weburl.Key]scheduler.Record{}, links: map[weburl.Key]scheduler.LinkPrints{}, gone: map[weburl.Key]scheduler.Gone{}}
}

// put stores a record with links.
func (s *told) put(r scheduler.Record, links ...string) {
	u := urlOf(r.URL)
	r.Host, r.Origin, r.Linked = u.HostKey(), u.Origin(), len(links) > 0
	if r.Reason == scheduler.NoReason {
		r.Reason = reasonOf(&r)
	}
	s.records[u.Key()] = r
	for _, l := range links {
		s.links[u.Key()] = s.links[u.Key()].AppendPrint(urlOf(l).Key())
	}
}

// reasonOf is the reason that a record of these tests has if they give none.
func reasonOf(r *scheduler.Record) scheduler.Reason {
	switch {
	case r.Class == scheduler.OK && r.Kind.IsSource():
		return scheduler.ReasonSource
	case r.Class == scheduler.Redirect:
		return scheduler.ReasonRedirect
	case r.Class == scheduler.Ignored:
		return map[int]scheduler.Reason{0: scheduler.ReasonAddress, 760: scheduler.ReasonCrawlSpace, 761: scheduler.ReasonElsewhere}[r.Status]
	case r.Class != scheduler.Temporary && r.Class != scheduler.Permanent:
		return scheduler.NoReason
	case r.Fault == fault.Timeout:
		return scheduler.ReasonTimeout
	case r.Status == 404:
		return scheduler.ReasonNotFound
	case r.Status >= 500:
		return scheduler.ReasonServerError
	}
	return scheduler.ReasonOtherStatus
}

func urlOf(s string) weburl.URL {
	u, err := weburl.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// from gives what a map holds from a key on, in order.
func from[V any](s *told, m map[weburl.Key]V, k weburl.Key, fn func(weburl.Key, V) error) error {
	walked := 0
	defer func() { s.longest = max(s.longest, walked) }()
	for _, at := range slices.SortedFunc(maps.Keys(m), func(a, b weburl.Key) int { return bytes.Compare(a[:], b[:]) }) {
		if bytes.Compare(at[:], k[:]) >= 0 {
			walked++
			if err := fn(at, m[at]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *told) Inspect(_ context.Context, f scheduler.Filter, fn func(weburl.Key, scheduler.Record) error) error {
	return from(s, s.records, f.From, func(k weburl.Key, r scheduler.Record) error {
		if f.Class != nil && *f.Class != r.Class {
			return nil
		}
		return fn(k, r)
	})
}

func (s *told) Lookup(_ context.Context, k weburl.Key) (scheduler.Record, error) {
	s.lookups++
	if r, ok := s.records[k]; ok && s.lookup == nil {
		return r, nil
	}
	return scheduler.Record{}, cmp.Or(s.lookup, scheduler.ErrNotFound)
}

func (s *told) Outlinks(_ context.Context, k weburl.Key, fn func(weburl.Key, scheduler.LinkPrints) error) error {
	return from(s, s.links, k, fn)
}

func (s *told) Gone(_ context.Context, k weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error {
	return from(s, s.gone, k, fn)
}

func (s *told) Orders(_ context.Context, _ push.Selection, fn func(push.Listed) error) error {
	for _, o := range s.orders {
		if err := fn(o); err != nil {
			return err
		}
	}
	return nil
}

// TestBoundedWalks asks for what next to nothing in a large store is: however little a walk
// finds, the store must be let go after so many entries.
func TestBoundedWalks(t *testing.T) {
	s := newTold()
	for i := range scheduler.WalkRead + 10 {
		k := weburl.Key{byte(i >> 16), byte(i >> 8), byte(i)}
		s.records[k] = scheduler.Record{Class: scheduler.OK}
		s.gone[k] = scheduler.Gone{URL: "http://a.test/"}
	}
	s.put(scheduler.Record{URL: "http://a.test/404", Class: scheduler.Permanent, Status: 404})
	s.put(scheduler.Record{URL: "http://a.test/moved", Class: scheduler.Redirect, RedirectTo: "http://a.test/404"})
	s.put(scheduler.Record{URL: "http://a.test/page", Class: scheduler.OK}, "http://a.test/moved")
	if got := brokenOf(t, s, Options{Since: time.Unix(0, 0)}); len(got) != 0 {
		t.Errorf("since 1970: %+v", got)
	}
	clear(s.gone)
	if got := brokenOf(t, s, Options{}); len(got) != 1 || len(got[0].LinkedFrom) != 1 || got[0].LinkedFrom[0].Redirect != "http://a.test/moved" {
		t.Errorf("%+v", got)
	}
	var urls []string
	class := scheduler.Permanent
	err := EachURL(t.Context(), s, Filter{Class: &class}, func(u StoredURL) error { urls = append(urls, u.URL); return nil })
	if err != nil || !slices.Equal(urls, []string{"http://a.test/404"}) {
		t.Errorf("%v, %v", urls, err)
	}
	if s.longest > scheduler.WalkRead+1 {
		t.Errorf("one walk went over %d entries, want at most %d", s.longest, scheduler.WalkRead+1)
	}
}

// TestReportsTellOfTheStore gives reports a store that fails while hosts and URLs are named.
func TestReportsTellOfTheStore(t *testing.T) {
	s := newTold()
	s.put(scheduler.Record{URL: "http://a.test/", Class: scheduler.Permanent, Status: 404})
	s.lookup = scheduler.ErrNotFound // it was removed meanwhile
	if got, err := CountDocuments(t.Context(), s, Options{}); err != nil || got.Hosts != 1 || len(got.ByHost) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	s.lookup = scheduler.ErrDamaged
	if _, err := CountDocuments(t.Context(), s, Options{}); !errors.Is(err, scheduler.ErrDamaged) {
		t.Errorf("documents: %v", err)
	}
}
