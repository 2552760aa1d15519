package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/hostile"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestHostileHostsAtOnce: beside all hosts of the list a good one is crawled to its end,
// and each URL of theirs is of the class that the list says, by both policies.
func TestHostileHostsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector is so slow with hundreds of servers that time-outs tell of it")
	}
	const pages = 50
	cases := hostile.Read(t, "../testdata/hostile/servers.md")
	for _, politeness := range []scheduler.Policy{scheduler.CloudView, scheduler.Cautious} {
		t.Run(fmt.Sprint("policy ", politeness), func(t *testing.T) {
			t.Parallel()
			servers := hostile.Start(t)
			good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
				for i := range pages - 1 {
					fmt.Fprintf(w, `<a href="/p%d">x</a>`, i)
				}
			}))
			defer good.Close()
			roots := []string{good.URL + "/"}
			for _, c := range cases {
				roots = append(roots, servers.URLs[c.Name])
			}
			b := newBench(t, roots...)
			b.settings.Workers, b.settings.Frontier.Policy, b.settings.IgnoreRobots = 64, politeness, true
			b.settings.Fetches = []policy.Fetch{{
				Fetcher: fetcher.DefaultSettings(),
				Match:   func(u weburl.URL) bool { return strings.HasPrefix(u.String(), good.URL) },
			}}
			patiently(&b.settings, servers, cases)
			b.once()

			documents := 0
			for _, u := range b.indexed() {
				if strings.HasPrefix(u, good.URL) {
					documents++
				}
			}
			if documents != pages {
				t.Errorf("%d documents of the good host, want %d", documents, pages)
			}
			b.read(func(store *store.Store) {
				for _, c := range cases {
					u, err := weburl.Parse(servers.URLs[c.Name])
					if err != nil {
						t.Fatal(err)
					}
					r, _, err := report.LookUp(t.Context(), store, u)
					want := c.CloudView
					if politeness == scheduler.Cautious {
						want = c.Cautious
					}
					if err != nil || !hostile.OneOf(r.Class, want) {
						t.Errorf("%s: class %q (%d %s), %v, want %q", c.Name, r.Class, r.Status, r.LastError, err, want)
					}
				}
			})
		})
	}
}

// patiently has short limits of time for the servers that meet one, and none for the
// others, however busy the machine is.
func patiently(s *policy.Settings, servers *hostile.Servers, cases []hostile.Case) {
	limited := func(d time.Duration) fetcher.Settings {
		f := s.Fetcher
		f.Resolver, f.Roots, f.MaxBodyBytes = servers.Resolver, servers.Roots, 256<<10
		f.ConnectTimeout, f.TLSTimeout, f.FirstByteTimeout, f.IdleTimeout, f.DownloadTimeout = d, d, d, d, d
		return f
	}
	var endless []string
	for _, c := range cases {
		if c.Limit != "none" {
			endless = append(endless, servers.URLs[c.Name])
		}
	}
	s.Fetches = append(s.Fetches, policy.Fetch{
		Fetcher: limited(2 * time.Second),
		Match: func(u weburl.URL) bool {
			return slices.ContainsFunc(endless, func(of string) bool { return strings.HasPrefix(u.String(), of) })
		},
	})
	s.Fetcher = limited(time.Hour)
}

// TestRefusedHostsAreSummedUp: links to any number of hosts whose addresses are refused fill no log.
func TestRefusedHostsAreSummedUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var links []string
		for i := range 15 {
			links = append(links, fmt.Sprintf("http://127.0.0.%d:%d/", i+1, 1000+i))
		}
		w.page(hostA+"/", links...)
		w.settings.Rules.DefaultAccept, w.settings.Rules.DefaultIndex, w.settings.Rules.DefaultFollow = true, true, true
		w.begin()
		w.quiet()
		for _, l := range links {
			if r := w.record(l); r.Reason != scheduler.ReasonAddress {
				t.Errorf("%s: %s, %q", l, r.Reason, r.LastError)
			}
		}
		if log := w.logged.String(); strings.Count(log, "level=WARN") != 1 {
			t.Error(log)
		}
	}, hostA+"/")
}
