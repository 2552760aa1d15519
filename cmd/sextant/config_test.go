package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// settingsOf are those of one Crawler with these attributes and elements.
func settingsOf(t *testing.T, attributes, elements string) crawl.Settings {
	t.Helper()
	text := `<CrawlConfig><Crawler name="a" ` + attributes + `><Root url="http://a.example/" group="news"/>` + elements + `</Crawler></CrawlConfig>`
	parsed, report := config.Parse("CrawlConfig.xml", []byte(text), config.Lookups{})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return crawlSettings(parsed.Crawlers[0])
}

// TestPaceReachesTheCrawl: what the configuration says of pace, brake and refresh is
// what the crawl obeys.
func TestPaceReachesTheCrawl(t *testing.T) {
	s := settingsOf(t, `perAddress="true" maxRequestsPerS="5" maxBytesPerS="6" minimumAgedS="7" deletionBrakeMin="8" sitemapHints="false" sleepAfterLoadMS="1"`,
		`<Throttle throttleTimeMS="10" hours="22-6"><Host val="night.example"/></Throttle>
		<Throttle throttleTimeMS="0" maxConnectionsPerHost="1"><Path val="/static/"/></Throttle>
		<Refresh schedule="0  3 * * *" group="news"/>`)
	f := s.Frontier
	if !f.PerAddress || s.MaxRequestsPerS != 5 || s.MaxBytesPerS != 6 || f.MinimumAged != 7*time.Second || f.SitemapHints {
		t.Errorf("limits %+v", s)
	}
	if diff := cmp.Diff(scheduler.Brake{On: true, Min: 8, Percent: 20, Window: time.Hour, Host: true}, f.Brake); diff != "" {
		t.Errorf("brake (-want +got):\n%s", diff)
	}
	var throttles []scheduler.Throttle
	for _, th := range f.Throttles {
		th.Match = nil
		throttles = append(throttles, th)
	}
	want := []scheduler.Throttle{
		{WholeHost: true, Pause: 11 * time.Millisecond, HasPause: true, Hours: []scheduler.Hours{{From: 1320, To: 360}}},
		{Pause: time.Millisecond, HasPause: true, Connections: 1},
	}
	if diff := cmp.Diff(want, throttles); diff != "" {
		t.Errorf("throttles (-want +got):\n%s", diff)
	}
	for raw, matches := range map[string][2]bool{
		"http://night.example/":         {true, false},
		"http://night.example/static/a": {true, true},
		"http://a.example/static/a":     {false, true},
	} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{f.Throttles[0].Match(u), f.Throttles[1].Match(u)}; got != matches {
			t.Errorf("%s matches %v, want %v", raw, got, matches)
		}
	}
	if r := s.Refreshes; len(r) != 1 || r[0].Spec != "0 3 * * *" || r[0].Group != "news" || r[0].Schedule == nil {
		t.Errorf("refreshes %+v", r)
	}
}

// TestBrakeOff: deletionBrake="off" sends every deletion, those of failing hosts too.
func TestBrakeOff(t *testing.T) {
	if b := settingsOf(t, `deletionBrake="off"`, "").Frontier.Brake; b.On || b.Host {
		t.Errorf("brake %+v", b)
	}
	if b := settingsOf(t, `hostBrake="false"`, "").Frontier.Brake; !b.On || b.Host {
		t.Errorf("brake %+v", b)
	}
}
