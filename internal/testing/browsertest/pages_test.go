package browsertest

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

//go:embed checks.js
var checks string

// shownPage is a page of the console as the tests visit it.
type shownPage struct {
	name, path string
	operator   bool   // no reader sees it
	ready      string // what the page says when it is there
}

// allPages returns the pages of the console, with what a crawl of the site puts into them.
func allPages(w *world) []shownPage {
	host := strings.TrimPrefix(w.siteURL, "http://")
	of := func(path string) string { return url.Values{"url": {w.siteURL + path}}.Encode() }
	return []shownPage{
		{name: "overview", path: "/", ready: "The field nowhere was not found in any searched page"},
		{name: "urls", path: "/urls", ready: "CSV of what is shown"},
		{name: "urls-filtered", path: "/urls?status=404&sort=-fetched_at&reason=not_found", ready: "matching the filter"},
		{name: "rules", path: "/rules", operator: true, ready: "Test cases"},
		{name: "manual", path: "/docs/"},
		{name: "manual-page", path: "/docs/first-crawl"},
		{name: "manual-tables", path: "/docs/configuration"},
		{name: "hosts", path: "/hosts", ready: "1 host with stored URLs"},
		{name: "host", path: "/hosts/" + url.PathEscape("http://"+host), ready: "searched for in"},
		{name: "events", path: "/events", ready: "The last 1,000 are kept"},
		{name: "outbox", path: "/outbox", ready: "Outbox"},
		{name: "deletions", path: "/deletions", ready: "No deletion is pending"},
		{name: "reports", path: "/reports", ready: "Reports"},
		{name: "report-broken", path: "/reports/broken", ready: "/hostile/headers.html"},
		{name: "report-errors", path: "/reports/errors"},
		{name: "report-documents", path: "/reports/documents", ready: "By push source"},
		{name: "report-changes", path: "/reports/changes", ready: " changes"},
		{name: "report-rounds", path: "/reports/rounds"},
		{name: "hosts-ill", path: "/hosts?show=ill"},
		{name: "manual-search", path: "/docs/?q=deletion"},
		{name: "inspector", path: "/url", ready: "URL inspector"},
		{name: "url", path: "/url?" + of("/products/"), ready: "crawled only for its links"},
		{name: "url-missing", path: "/url?" + of("/hostile/headers.html"), ready: "Not in the index"},
		{name: "url-unknown", path: "/url?" + of("/nobody-links-here.html"), ready: "the URL is unknown"},
		{name: "url-log-in", path: "/url?" + of("/old/x.html"), ready: "if it is an application shell"},
		{name: "url-hostile", path: "/url?" + of(hostilePaths()[2]), ready: "In the index"},
		{name: "document", path: "/documents?" + of("/")},
	}
}

// TestPages: every page opens in light and dark, wide and narrow, without a fault, as
// people with keyboard, screen reader or poor sight need it.
func TestPages(t *testing.T) {
	w := shared(t)
	pictures := pictureDir(t)
	for _, role := range []string{"operator", "reader"} {
		tab := newTab(t, w.origin)
		if role == "operator" {
			tab.open("/signin")
			tab.look(pictures, "signin")
			tab.signIn(w.operator)
		} else {
			tab.signIn(w.reader)
		}
		for _, p := range allPages(w) {
			if role == "reader" && p.operator {
				continue
			}
			ok := t.Run(role+"/"+p.name, func(t *testing.T) {
				tab.in(t, func() {
					tab.open(p.path)
					if p.ready != "" {
						tab.see(p.ready)
					}
					if role == "operator" {
						tab.look(pictures, p.name)
					} else {
						tab.looksForReader(pictures, p.name)
					}
				})
			})
			if !ok {
				t.Logf("%s: %s", p.name, p.path)
			}
		}
	}
}

// in has a test of its own look at the tab.
func (tb *tab) in(t *testing.T, f func()) {
	outer := tb.t
	tb.t = t
	before := len(tb.faults())
	defer func() {
		all := tb.faults()
		for _, fault := range all[before:] {
			t.Error(fault)
		}
		tb.mu.Lock()
		tb.noted = tb.noted[:before]
		tb.mu.Unlock()
		tb.t = outer
	}()
	f()
}

// look checks a page in both themes and both sizes, and keeps pictures.
func (tb *tab) look(pictures, name string) {
	tb.t.Helper()
	for _, dark := range []bool{false, true} {
		tb.dark(dark)
		for _, width := range []int64{1440, 390} {
			tb.size(width, 844)
			theme := map[bool]string{false: "light", true: "dark"}[dark]
			label := fmt.Sprintf("%s-%s-%d", name, theme, width)
			tb.accessible(label)
			if !dark { // a theme changes only the contrast, which accessible checks
				for _, fault := range tb.axe(width > 1000) {
					tb.t.Errorf("%s: axe: %s", label, fault)
				}
			}
			tb.fits(label)
			tb.picture(pictures, label)
		}
	}
	tb.dark(false)
	tb.size(1280, 844)
}

// fits waits until the page is as wide as the window: plots are drawn anew a moment after
// its size has changed.
func (tb *tab) fits(label string) {
	tb.t.Helper()
	over := 0
	for end := time.Now().Add(pageTimeout); ; time.Sleep(pollPause) {
		over = eval[int](tb, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
		if over <= 0 {
			return
		}
		if time.Now().After(end) {
			break
		}
	}
	tb.t.Errorf("%s: the page is %d pixels too wide because of %s", label, over, eval[[]string](tb, widest))
}

// widest names elements that reach out of the window, and do not scroll on their own.
const widest = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.parentElement.closest("nav, .table-wrap, pre, .diff, .cm-scroller")).slice(0, 4).map((e) => "<" + e.localName + " id=" + e.id + " class=" + e.className + "> " + e.textContent.slice(0, 40))`

// axe returns the violations of axe-core's rules in the page as it is shown, nil without axe-core. The rule of contrast
// takes most of the time.
func (tb *tab) axe(contrast bool) []string {
	tb.t.Helper()
	if axe == "" {
		return nil
	}
	eval[bool](tb, `typeof axe === "object" || ((0, eval)(`+quoted(axe)+`), true)`)
	return eval[[]string](tb, fmt.Sprintf(`axe.run({preload: false, resultTypes: ["violations"], rules: {"color-contrast": {enabled: %t}}})
		.then(({violations}) => violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 200))))`, contrast))
}

// accessible runs the checks over what is shown now, once the page is loaded.
func (tb *tab) accessible(label string) {
	tb.t.Helper()
	tb.wait("the page "+label, `document.body && document.readyState === "complete"`)
	for _, fault := range eval[[]string](tb, checks) {
		tb.t.Errorf("%s: %s", label, fault)
	}
}

// looksForReader checks that the controls that change something are off on a page, with the reason beside them.
func (tb *tab) looksForReader(pictures, name string) {
	tb.t.Helper()
	tb.accessible(name + " for a reader")
	for _, control := range eval[[]string](tb, `[...document.querySelectorAll("main form[method=post i] :is(button:not([type=button]), textarea, input:not([type=hidden])), [formmethod=post i], [hx-post], [hx-put], [hx-delete], [hx-patch]")].filter((e) => !e.matches(":disabled")).map((e) => e.outerHTML)`) {
		tb.t.Errorf("%s: a reader is shown what changes something: %s", name, control)
	}
	if !eval[bool](tb, `[...document.querySelectorAll("main fieldset:disabled")].every((f) => f.innerText.includes("operator's token"))`) {
		tb.t.Errorf("%s: a reader is not told why buttons are off", name)
	}
	tb.picture(pictures, name+"-reader")
}

// picture keeps what the window shows, up to a height that can be looked at.
func (tb *tab) picture(dir, name string) {
	tb.t.Helper()
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(tb.ctx, pageTimeout)
	defer cancel()
	size := eval[[]float64](tb, `[innerWidth, Math.min(Math.max(document.documentElement.scrollHeight, innerHeight), 3000)]`)
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: new(true), OptimizeForSpeed: new(true), Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1},
	})
	if err != nil {
		tb.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), shot.Data, 0o600); err != nil {
		tb.t.Fatal(err)
	}
}

// pictureDir returns where pictures are kept; empty: none is taken.
func pictureDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SEXTANT_SCREENSHOTS")
	if dir == "" {
		return ""
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLists: every table can be sorted and saved as it is shown, and shows its total; counts are links to their URLs,
// and on a phone these break between their parts.
func TestLists(t *testing.T) {
	w := shared(t)
	tab := newTab(t, w.origin)
	tab.signIn(w.reader)
	tab.open("/hosts/" + url.PathEscape(w.siteURL))
	tab.press("main th", "Fifo")
	if !eval[bool](tab, `document.querySelector("th[aria-sort=ascending]") && [...document.querySelectorAll("tbody th")].every((e, i, all) => !i || all[i - 1].textContent <= e.textContent)`) {
		t.Error("the fifos are not sorted by their names")
	}
	saved := eval[string](tab, `(() => { let made; URL.createObjectURL = (b) => { made = b; return "#"; }; HTMLAnchorElement.prototype.click = () => {};
		document.querySelector(".table-foot button").click(); return made.text(); })()`)
	if lines := strings.Split(saved, "\r\n"); lines[0] != `"Fifo","URLs"` || lines[1] != `"follow","0"` {
		t.Errorf("saved are %q", lines)
	}
	tab.open("/reports/errors")
	count := eval[string](tab, `document.querySelector("td.num a").textContent`)
	tab.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("td.num a").click()`))
	tab.wait("the total is the count", `location.pathname === "/urls" && document.querySelector("caption")?.textContent.startsWith(`+quoted(count+" URL")+`)`)
	tab.size(390, 844)
	if split := eval[string](tab, splitWords); split != "" {
		t.Errorf("a line ends within a word: %q", split)
	}
}

// splitWords names a URL of a table in which a line ends within a word that would fit on a line.
const splitWords = `(() => {
	for (const url of document.querySelectorAll("td.wide a.url bdi, td a.url bdi")) for (const text of url.childNodes) {
		const range = document.createRange();
		if (text.nodeType !== Node.TEXT_NODE || text.length > 16) continue;
		range.selectNode(text);
		if (range.getClientRects().length > 1) return url.textContent + ": " + text.data;
	}
	return "";
})()`

// TestNavigation: it leads to every page that the tests know, and to no other.
func TestNavigation(t *testing.T) {
	w := shared(t)
	for role, token := range map[string]string{"operator": w.operator, "reader": w.reader} {
		tab := newTab(t, w.origin)
		tab.signIn(token)
		entries := eval[[]string](tab, `[...document.querySelectorAll("header nav a[href]")].map((a) => a.pathname)`)
		for _, p := range entries {
			i := slices.IndexFunc(allPages(w), func(known shownPage) bool { return strings.Split(known.path, "?")[0] == p })
			if i < 0 {
				t.Errorf("%s: no test visits %s", role, p)
			} else if role == "reader" && allPages(w)[i].operator {
				t.Errorf("a reader is shown the way to %s", p)
			}
		}
		if len(entries) < 2 {
			t.Errorf("%s: the navigation has %q", role, entries)
		}
	}
}

// TestReaderIsRefused: what a reader is not shown is refused, too.
func TestReaderIsRefused(t *testing.T) {
	w := shared(t)
	tab := newTab(t, w.origin)
	tab.signIn(w.reader)
	for _, p := range allPages(w) {
		if !p.operator {
			continue
		}
		tab.expect(p.path, 403)
		tab.open(p.path)
		if h := eval[string](tab, `document.querySelector("h1").textContent`); h == "Configuration" {
			t.Errorf("a reader sees %s", p.path)
		}
	}
	for _, ask := range []string{
		`fetch("/api/v1/reload", {method: "POST"})`, `fetch("/api/v1/config")`, `fetch("/api/v1/config", {method: "PUT", body: "<CrawlConfig/>"})`,
		`fetch("/api/v1/deletions/release", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"all":true}'})`,
	} {
		tab.expected = true // errors of these requests stand on the console
		if status := eval[int](tab, ask+`.then((r) => r.status)`); status != 403 {
			t.Errorf("%s by a reader is answered with %d", ask, status)
		}
	}
	tab.expect("/nosuch", 404)
	tab.open("/nosuch")
	tab.see("Not Found")
	tab.accessible("an unknown path")
}
