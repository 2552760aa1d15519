package browsertest

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// job is an operator's task: its clicks are counted from the overview on, without typing.
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

// TestJobs is what operators come to the console for; none takes more than three clicks.
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
	tab.job("why is a page missing", func(j *job) { j.missing(w) })
	tab.job("pause", func(j *job) { j.pause(w) })
	tab.job("all 404s of a host, recrawled", func(j *job) { j.recrawl404(w, host) })
	tab.job("what changed since yesterday, in order", func(j *job) { j.changes() })
	tab.job("preview and save", func(j *job) { j.previewAndSave(w) })
	tab.job("correct broken XML", func(j *job) { j.correct(w) })
	if err := w.crawled(); err != nil {
		t.Fatal(err)
	}
	w.rest(t)
	tab.job("release the deletions of one host", func(j *job) { j.release(w) })
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

// missing asks why a page is not in the index.
func (j *job) missing(w *world) {
	j.t.Helper()
	j.click("nav", "Inspector")
	j.at("/url", "URL inspector")
	j.write("url", w.siteURL+"/support/serials-1990", true)
	j.wait("why it is missing", `document.getElementById("verdict")?.innerText.includes("ot in the index")`)
}

// changes looks at what changed since yesterday, the latest first, then the oldest.
func (j *job) changes() {
	j.t.Helper()
	j.click("nav", "Reports")
	j.at("/reports", "Reports")
	j.click("main", "Changes")
	j.at("/reports/changes", "Changes")
	const times = `[...document.querySelectorAll("main tbody time")].map((e) => e.dateTime)`
	if n := eval[int](j.tab, times+`.length`); n < 20 {
		j.t.Errorf("%d changes are shown", n)
	}
	if !eval[bool](j.tab, times+`.every((t, i, all) => i === 0 || all[i - 1] >= t)`) {
		j.t.Errorf("the changes are not the latest first: %v", eval[[]string](j.tab, times))
	}
	j.click("main thead", "Time")
	j.wait("sorted the other way", `document.querySelector("main th[aria-sort=ascending]")`)
	if !eval[bool](j.tab, times+`.every((t, i, all) => i === 0 || all[i - 1] <= t)`) {
		j.t.Error("the changes are not the oldest first")
	}
}

// previewAndSave sees what a rule would change, and saves it.
func (j *job) previewAndSave(w *world) {
	j.t.Helper()
	j.click("nav", "Configuration")
	j.wait("the editor", editorReady)
	j.put(`<Path val="/internal/"/>`, `<Path val="/internal/"/><Path val="/nowhere/"/>`)
	j.click("#preview", "Preview")
	j.wait("what would change", `document.querySelector("#preview .result")?.textContent.trim()`)
	j.click("#rules", "Save and reload")
	j.saved(w, "/nowhere/")
}

// saved waits until the file has some words.
func (j *job) saved(w *world, words string) {
	j.t.Helper()
	if err := w.until("the file has "+words, func() bool {
		text, err := os.ReadFile(w.config)
		return err == nil && strings.Contains(string(text), words)
	}); err != nil {
		j.t.Fatal(err)
	}
	j.wait("the page says that it is saved", `document.body.innerText.includes("Saved, and in force")`)
}

// correct finds the XML broken that somebody wrote on the machine, and corrects it.
func (j *job) correct(w *world) {
	j.t.Helper()
	text, err := os.ReadFile(w.config)
	if err != nil {
		j.t.Fatal(err)
	}
	broken := strings.Replace(string(text), "/nowhere/\"/>", "/nowhere/\"", 1)
	if err := os.WriteFile(w.config, []byte(broken), 0o600); err != nil {
		j.t.Fatal(err)
	}
	j.wait("the overview tells of it", `document.getElementById("trouble-config")`)
	j.click("main li", "Correct it")
	j.wait("the editor", editorReady)
	j.put(`/nowhere/"`, `/elsewhere/"/>`)
	j.click("#rules", "Save and reload")
	j.saved(w, "/elsewhere/")
}

// rest has deletions of the site rest.
func (w *world) rest(t *testing.T) {
	t.Helper()
	for _, name := range []string{"apples", "bees"} {
		w.site.set("/old/"+name+".html", answer{status: http.StatusNotFound, body: "gone"})
	}
	if err := w.api(http.MethodPost, "/refresh", `{"text":"/old/"}`, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.until("deletions rest", func() bool {
		var n struct{ Pending uint64 }
		return w.api(http.MethodGet, "/deletions/counts", "", &n) == nil && n.Pending == 2
	}); err != nil {
		t.Fatal(err)
	}
}

// release has the deletions of one host leave.
func (j *job) release(w *world) {
	j.t.Helper()
	j.click("nav", "Deletions")
	j.at("/deletions", "Deletions")
	j.click(`section:has(#by-host)`, "Release 2")
	j.see("Release all 2 deletions of " + w.siteURL)
	j.click("main", "Release 2 deletions")
	j.see("2 deletions released.")
}
