package report

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// sick is a store of which one host is ill.
type sick struct {
	*told
	host weburl.HostKey
}

func (s sick) Host(_ context.Context, h weburl.HostKey) (scheduler.HostState, error) {
	return scheduler.HostState{Ill: h == s.host}, nil
}

// TestCountHosts: hosts come with what they answered, in each order, page by page.
func TestCountHosts(t *testing.T) {
	s := manyURLs(20)
	next := time.Unix(2e9, 0)
	s.put(scheduler.Record{URL: "http://b.test/", Class: scheduler.Temporary, Status: 500, State: scheduler.Timed, NextAt: next, FoundAt: time.Unix(1e9, 0)})
	s.put(scheduler.Record{URL: "http://c.test/", Class: scheduler.Pending, FoundAt: time.Unix(1e9, 0)})
	s.put(scheduler.Record{URL: "http://c.test/2", Class: scheduler.Redirect, FoundAt: time.Unix(1e9, 0)})
	store := sick{s, urlOf("http://b.test/").HostKey()}
	took := func(h weburl.HostKey) time.Duration {
		return map[weburl.HostKey]time.Duration{urlOf("http://b.test/").HostKey(): 1500 * time.Millisecond, urlOf("http://c.test/").HostKey(): time.Microsecond}[h]
	}
	names := func(sort string, from, limit int) (got []string) {
		t.Helper()
		o, err := ParseOrder(sort, HostColumns())
		if err != nil {
			t.Fatal(err)
		}
		page, err := CountHosts(t.Context(), store, took, "", o, from, limit)
		if err != nil || page.Known != 3 {
			t.Fatalf("%d hosts, %v", page.Known, err)
		}
		for _, h := range page.Hosts {
			got = append(got, h.Host)
		}
		return got
	}
	for sort, want := range map[string][]string{
		"": {"http://a.test", "http://c.test", "http://b.test"}, "urls": {"http://b.test", "http://c.test", "http://a.test"},
		"-mean_ms": {"http://b.test", "http://c.test", "http://a.test"}, "-host": {"http://c.test", "http://b.test", "http://a.test"}, "host": {"http://a.test", "http://b.test", "http://c.test"},
	} {
		if diff := cmp.Diff(want, names(sort, 0, 10)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", sort, diff)
		}
	}
	for _, c := range HostColumns() {
		all := names(c.Name, 0, 10)
		if diff := cmp.Diff(all, append(names(c.Name, 0, 2), names(c.Name, 2, 2)...)); diff != "" {
			t.Errorf("%s, page by page:\n%s", c.Name, diff)
		}
	}
	page, err := CountHosts(t.Context(), store, took, "b.test", Order{}, 0, 10)
	want := HostsPage{Known: 1, Hosts: []HostRow{{Host: "http://b.test", URLs: 1, Temporary: 1, NextAt: timeOf(next), MeanMS: 1500, Ill: true}}}
	if diff := cmp.Diff(want, page); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
