package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/meter"
	visiting "github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// readingStatus is that of a crawl with fields, main content, rendering and log-ins; text is what others may have
// written.
func readingStatus(text string) admin.Status {
	at := day()
	return admin.Status{Status: crawl.Status{
		Crawler: "a",
		Fields: &meter.FieldsStatus{
			Fields: []meter.FieldStatus{{Name: "price" + text, Pages: 40, Empty: 10, Cut: 3}, {Name: "nowhere" + text, Pages: 25, Empty: 25}, {Name: "rare", Pages: 2, Empty: 2}},
			Main:   &meter.MainStatus{Pages: 8, Empty: 2}, Failed: map[string]int64{"too-slow" + text: 1},
		},
		Rendered: &meter.RenderedStatus{Pages: 6, Failed: 2, TimedOut: 1, NoBrowser: 4, Seconds: 20},
		Browser:  &render.Status{Program: "/usr/bin/chromium" + text, Version: "HeadlessChrome/156.0" + text, Limit: 2, Running: 1, Rendering: 1, Waiting: 3},
		Sessions: []visiting.SessionStatus{{Name: "wiki" + text, Kind: "form" + text, State: "failed", Words: "no form" + text, Until: &at, LogIns: 2, Since: &at}, {Name: "shop", Kind: "basic", State: "good", LogIns: 1}},
	}}
}

// TestOverviewOfReading: how often each field found something, how the browser and the log-ins stand, and what needs a
// person.
func TestOverviewOfReading(t *testing.T) {
	show := func(s admin.Status) (body, text string) {
		t.Helper()
		code, body := visitPage(t, newConsole(t, admin.Reader, answers(t, map[string]any{"GET /status": []admin.Status{s}})), "/")
		if code != http.StatusOK {
			t.Fatalf("%d\n%s", code, body)
		}
		return body, textOf(body)
	}
	body, text := show(readingStatus(""))
	saysAll(t, "the overview", text,
		"price 40 30 75 % 10 3", "nowhere 25 0 0 % 25 0", "main content 8 6 75 % 2", "1 page could not be searched: too-slow", "Pages that lack a field",
		"runs 1 of 2", "1 page in progress, 3 waiting", "6 pages, 2.5 s each", "2 , timed out: 1", "4 visits", "/usr/bin/chromium , HeadlessChrome/156.0",
		"wiki form fails until", "no form", "shop basic good 1",
		"The field nowhere was not found in any searched page: its selector may be wrong. Show such pages", "The log-in wiki fails; its pages wait: no form",
	)
	saysAll(t, "the overview", body, `href="/urls?reason=no_field"`, `href="/urls?reason=rendering"`, `href="/urls?reason=no_browser"`)
	if strings.Contains(text, "field rare was") {
		t.Error("two pages are no reason to doubt a selector")
	}
	s := readingStatus("")
	at := day()
	s.Browser.Trouble, s.Browser.Since = "no sandbox here", &at
	_, text = show(s)
	saysAll(t, "without a browser", text, "No browser can be started; pages to be rendered wait: no sandbox here Show them", "does not start")
	if _, text = show(admin.Status{Status: crawl.Status{Crawler: "a"}}); strings.Contains(text, "Rendering") || strings.Contains(text, "Log-ins") || strings.Contains(text, "main content") {
		t.Errorf("a crawl without all that shows it:\n%s", text)
	}
	if _, text = show(admin.Status{Status: crawl.Status{Crawler: "a", Browser: &render.Status{Program: "x", Limit: 1}}}); !strings.Contains(text, "not running: it is started when a page requires it") {
		t.Errorf("a browser that no page has needed yet:\n%s", text)
	}
}

// TestReadingOfHostAndURL: a host's page has its counts and log-ins, that of a URL says what its page needs, and how
// that stands.
func TestReadingOfHostAndURL(t *testing.T) {
	s := readingStatus("")
	s.Browser.Trouble = "no sandbox here"
	x := admin.Explanation{URL: "http://a.test/", Canonical: "http://a.test/", Decision: "crawl", Fetch: "app", Render: "auto", LogIn: "wiki"}
	c := newConsole(t, admin.Reader, answers(t, map[string]any{
		"GET /status": []admin.Status{s},
		"GET /host": admin.HostDetails{
			HostStatus: admin.HostStatus{Host: "http://a.test"},
			Pages:      &meter.HostPagesStatus{Rendered: 3, RenderFailed: 1, Searched: 5, NoField: 2, Main: 4, NoMain: 1, LogIns: []string{"shop"}},
		},
		"GET /hosts/all": map[string]any{"hosts": []any{}}, "POST /explain": []any{x}, "GET /sent": map[string]any{},
	}))
	_, body := visitPage(t, c, "/hosts/http:%2F%2Fa.test")
	saysAll(t, "the host", textOf(body), "Rendered 3 pages by a browser, 1 failed", "5 pages searched since the service started, 2 of them without one of the fields",
		"searched for in 4 pages since the service started, none in 1", "Log-in shop basic , good ; 1 log-in")
	saysAll(t, "the host", body, `href="/urls?host=http%3A%2F%2Fa.test&amp;reason=no_field"`)
	if strings.Contains(textOf(body), "wiki") {
		t.Error("it shows the log-in of another host")
	}
	_, body = visitPage(t, c, "/url?url=http://a.test/")
	saysAll(t, "the URL", textOf(body), "Rendering by a browser if it is an application shell; no browser starts no sandbox here", "Log-in wiki : form , fails until")
}
