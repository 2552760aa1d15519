package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// settingsOf returns those of one Crawler with these attributes and elements.
func settingsOf(t *testing.T, attributes, elements string) policy.Settings {
	t.Helper()
	text := `<CrawlConfig><Crawler name="a" ` + attributes + `><Root url="http://a.example/" group="news"/>` + elements + `</Crawler></CrawlConfig>`
	parsed, report := config.Parse("CrawlConfig.xml", []byte(text), config.Lookups{})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return crawlSettings(parsed.Crawlers[0])
}

// TestPaceReachesTheCrawl: what the configuration says of pace, deletions and refresh is
// what the crawl obeys.
func TestPaceReachesTheCrawl(t *testing.T) {
	s := settingsOf(t, `perAddress="true" maxRequestsPerS="5" maxBytesPerS="6" minimumAgedS="7" deletionConfirmS="86401" deletionRestS="9" forgetDeleted="true" sitemapHints="false" sleepAfterLoadMS="1"`,
		`<Throttle throttleTimeMS="10" hours="22-6"><Host val="night.example"/></Throttle>
		<Throttle throttleTimeMS="0" maxConnectionsPerHost="1"><Path val="/static/"/></Throttle>
		<Refresh schedule="0  3 * * *" group="news"/>`)
	f := s.Frontier
	if !f.PerAddress || s.MaxRequestsPerS != 5 || s.MaxBytesPerS != 6 || f.MinimumAged != 7*time.Second || f.SitemapHints || !f.ForgetDeleted {
		t.Errorf("limits %+v", s)
	}
	if diff := cmp.Diff(scheduler.Deletions{Rest: 9 * time.Second, Confirm: 86401 * time.Second, Hold: 7 * 24 * time.Hour, Gone: 30 * 24 * time.Hour}, f.Deletions); diff != "" {
		t.Errorf("deletions (-want +got):\n%s", diff)
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

// TestBrakeOff: deletionBrake="off" carries out every deletion at once.
func TestBrakeOff(t *testing.T) {
	if d := settingsOf(t, `deletionBrake="off"`, "").Frontier.Deletions; !d.Off {
		t.Errorf("deletions %+v", d)
	}
	if d := settingsOf(t, `deletionBrake="on" deletionRestS="0"`, "").Frontier.Deletions; d.Off || d.Rest != 0 {
		t.Errorf("deletions %+v", d)
	}
}

// TestLeavesTarget: a document leaves a target that takes one source alone when it is
// pushed under another.
func TestLeavesTarget(t *testing.T) {
	if leaves := settingsOf(t, "", `<Push kind="file" name="all"/>`).Frontier.LeavesTarget; leaves != nil {
		t.Error("a target that takes all is left")
	}
	leaves := settingsOf(t, "", `<Push kind="file" name="all"/><Push kind="file" name="news" dir="news" source="news"/><Push kind="file" name="shop" dir="shop" source="shop"/>`).Frontier.LeavesTarget
	for moved, want := range map[[2]string]bool{
		{"news", "shop"}: true, {"shop", "other"}: true, {"news", ""}: true, {"other", "news"}: false, {"", "news"}: false, {"news", "news"}: false,
	} {
		if got := leaves(moved[0], moved[1]); got != want {
			t.Errorf("from %q to %q: %v", moved[0], moved[1], got)
		}
	}
}

// TestFetchesReachTheCrawl: each Fetch is the Crawler's settings with its own.
func TestFetchesReachTheCrawl(t *testing.T) {
	s := settingsOf(t, `userAgent="Bot/1" enableCookies="true" robots="original" fetcher="rest" ignoreRobotsTxt="true"`,
		`<Addresses private="deny"/>
		<Fetch name="wiki" auth="basic" origins="https://wiki.example" user="u" password="p" ignoreRobotsTxt="false" insecureTLS="true"><Host val="wiki.example"/></Fetch>
		<Fetch auth="ntlm" origins="https://files.example" user="u" password="p"><Host val="files.example"/><Header name="X-A" value="b"/></Fetch>
		<Fetch name="rest" proxy="socks5://proxy.example:1080" proxyUser="u" proxyPassword="p"/>`)
	if !s.EnableCookies || !s.DenyPrivate || !s.Robots.Original || s.Robots.Agent != "Sextant" || !s.IgnoreRobots || len(s.Fetches) != 3 {
		t.Fatalf("settings %+v", s)
	}
	wiki, files, rest := s.Fetches[0], s.Fetches[1], s.Fetches[2]
	for _, f := range s.Fetches {
		if f.Fetcher.UserAgent != "Bot/1" || f.Fetcher.MaxBodyBytes != s.Fetcher.MaxBodyBytes {
			t.Errorf("%s has not the Crawler's settings: %+v", f.Name, f.Fetcher)
		}
	}
	if wiki.Name != "wiki" || *wiki.IgnoreRobots || !wiki.Fetcher.InsecureTLS || wiki.Fetcher.Proxy != nil || wiki.Fetcher.Header != nil ||
		wiki.Login.Name != "wiki" || wiki.Login.Origins[0] != "https://wiki.example" {
		t.Errorf("wiki %+v", wiki)
	}
	if _, ok := wiki.Login.Kind.(auth.Basic); !ok {
		t.Errorf("wiki logs in by %T", wiki.Login.Kind)
	}
	if _, ok := files.Login.Kind.(auth.NTLM); !ok || files.IgnoreRobots != nil || files.Fetcher.Header.Get("X-A") != "b" ||
		files.Name != "at CrawlConfig.xml:3:3" || files.Login.Name != "ntlm at https://files.example" || files.Login.Identity == wiki.Login.Identity {
		t.Errorf("files %+v", files)
	}
	if p := rest.Fetcher.Proxy; p.URL != "socks5://proxy.example:1080" || p.User != "u" || p.Password.Reveal() != "p" || rest.Login != nil || rest.Match != nil {
		t.Errorf("rest %+v", rest)
	}
	u, err := weburl.Parse("http://files.example/a")
	if err != nil || wiki.Match(u) || !files.Match(u) {
		t.Errorf("wiki or files matches wrongly: %v", err)
	}
}

// TestIdentityOfLogins: the session of a Fetch goes on where all that makes it is the same.
func TestIdentityOfLogins(t *testing.T) {
	identity := func(attributes, inside string) [32]byte {
		return settingsOf(t, "", `<Fetch auth="oauth2" tokenURL="https://t.example/" clientId="c" `+attributes+`>`+inside+`</Fetch>`).Fetches[0].Login.Identity
	}
	const same, host = `origins="https://a.example" clientSecret="s"`, `<Host val="a.example"/>`
	first := identity(same, host)
	if first != identity(same+` ignoreRobotsTxt="true" proxy="http://p:1"`, `<Host val="b.example"/>`) {
		t.Error("what makes no session changes the identity")
	}
	for attributes, inside := range map[string]string{
		same:                    host + `<Field name="resource" value="r"/>`,
		same + ` scopes="read"`: host,
		same + ` name="other"`:  host,
		`origins="https://a.example" clientSecret="t"`: host,
		`origins="https://b.example" clientSecret="s"`: host,
	} {
		if first == identity(attributes, inside) {
			t.Errorf("%s %s: the identity is the same", attributes, inside)
		}
	}
}
