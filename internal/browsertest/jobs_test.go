package browsertest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// job is a thing that an operator wants to be done: its clicks are counted, from the
// overview on. Typing is none.
type job struct {
	*tab
	clicks int
}

// maxClicks is how many a job may take.
const maxClicks = 3

// job begins at the overview, in a tab that is signed in.
func (tb *tab) job(name string, do func(j *job)) {
	tb.t.Helper()
	tb.open("/")
	tb.wait("the overview", `document.querySelector("h1")?.textContent === "Overview" && document.readyState === "complete"`)
	j := &job{tab: tb}
	do(j)
	if j.clicks > maxClicks {
		tb.t.Errorf("%s takes %d clicks, at most %d are wanted", name, j.clicks, maxClicks)
	}
}

// click presses the link or button with these words within a selector.
func (j *job) click(within, words string) {
	j.t.Helper()
	j.clicks++
	j.press(within, words)
}

// write puts text into a field; with enter it sends the form, as a click would.
func (j *job) write(field, text string, enter bool) {
	j.t.Helper()
	j.wait("the field "+field, `document.getElementById(`+quoted(field)+`)`)
	if enter {
		j.clicks++
		text += "\r"
	}
	j.do(chromedp.SendKeys(chromedp.ID(field), text))
}

// at waits for a page.
func (j *job) at(path, heading string) {
	j.t.Helper()
	j.wait(path, `location.pathname === `+quoted(path)+` && document.readyState === "complete" && document.querySelector("h1")?.textContent.startsWith(`+quoted(heading)+`)`)
}

// TestJobs are what operators come to the console for; none takes more than three clicks.
func TestJobs(t *testing.T) {
	needsBrowser(t)
	w, err := startWorld(hostilePages())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.crawled(); err != nil {
		t.Fatal(err)
	}
	tab := newTab(t, w.origin)
	tab.signIn(w.operator)
	host := strings.TrimPrefix(w.siteURL, "http://")
	tab.job("pause", func(j *job) { j.pause(w) })
	tab.job("all 404s of a host, recrawled", func(j *job) { j.recrawl404(w, host) })
}

// pause pauses the crawl, sees that it is, and that this is remembered, and resumes it.
func (j *job) pause(w *world) {
	j.t.Helper()
	eval[bool](j.tab, `(window.confirm = () => true, true)`)
	j.click("main .statebar", "Pause")
	j.wait("the crawl is paused", `document.getElementById("state")?.textContent.includes("Paused")`)
	var now [1]struct{ Paused bool }
	if err := w.api(http.MethodGet, "/status", "", &now); err != nil || !now[0].Paused {
		j.t.Errorf("the crawl is not paused: %v", err)
	}
	j.click("main .statebar", "Resume")
	j.wait("the crawl goes on", `!document.getElementById("state")?.textContent.includes("Paused") && document.getElementById("pause")?.textContent === "Pause"`)
	var list struct{ Items []struct{ Kind string } }
	if err := w.api(http.MethodGet, "/events?kind=pause,resume", "", &list); err != nil || len(list.Items) != 2 || list.Items[0].Kind != "resume" {
		j.t.Errorf("remembered are %v, %v", list.Items, err)
	}
}

// recrawl404 has all 404s of the host fetched again; one of them is there now.
func (j *job) recrawl404(w *world, host string) {
	j.t.Helper()
	w.site.set("/hostile/headers.html", answer{status: http.StatusOK, body: "<title>Found again</title><p>Here it is once more."})
	j.click("nav", "URLs")
	j.at("/urls", "URLs")
	j.write("status", "404", false)
	j.write("host", host, true)
	j.see("/support/serials-1990")
	j.click("main", "Recrawl all that the filter finds")
	j.see("URLs wait to be crawled again")
	if err := w.until("the page that is there again is indexed", func() bool {
		var one struct{ Indexed bool }
		return w.api(http.MethodGet, "/url?url="+w.siteURL+"/hostile/headers.html", "", &one) == nil && one.Indexed
	}); err != nil {
		j.t.Error(err)
	}
}
