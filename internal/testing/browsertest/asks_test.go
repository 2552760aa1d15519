package browsertest

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// ran gives what tells that something of a crawled page became part of a page of the
// console: the value that its scripts set, scripts of the page itself, attributes that
// run, links that run, images.
const ran = `(() => {
	const found = [];
	if (window.pwned !== undefined) found.push("a script of a crawled page ran");
	for (const e of document.querySelectorAll("*")) {
		if (e.localName === "script" && (!e.src || new URL(e.src).origin !== location.origin)) found.push("a script in the page: " + e.outerHTML.slice(0, 200));
		if (["img", "iframe", "object", "embed", "base"].includes(e.localName)) found.push(e.outerHTML.slice(0, 200));
		for (const a of e.attributes) {
			if (a.name.startsWith("on")) found.push(a.name + " of " + e.outerHTML.slice(0, 200));
			if (/^\s*(javascript|data|vbscript):/i.test(a.value) && ["href", "src", "action", "formaction"].includes(a.name)) found.push(a.name + "=" + a.value.slice(0, 100));
		}
	}
	return found;
})()`

// TestHostilePages: titles, addresses, headers and bodies that mean ill are shown as
// text, wherever the console shows them, and nothing of them runs.
func TestHostilePages(t *testing.T) {
	w := shared(t)
	tab := newTab(t, w.origin)
	tab.signIn(w.operator)
	look := func(path, ready string) {
		t.Helper()
		tab.open(path)
		if ready != "" {
			tab.wait(ready, `document.body.textContent.includes(`+quoted(ready)+`)`)
		}
		for _, fault := range eval[[]string](tab, ran) {
			t.Errorf("%s: %s", path, fault)
		}
		tab.size(390, 844)
		if over := eval[int](tab, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("%s: %d pixels too wide: %s", path, over, eval[[]string](tab, widest))
		}
		tab.size(1280, 844)
		if n := eval[int](tab, `document.body.textContent.length`); n > 500_000 {
			t.Errorf("%s: the page has %d characters: what is long is not cut", path, n)
		}
	}
	for name, title := range hostileTitles() {
		raw := w.siteURL + "/hostile/" + name + ".html"
		look("/url?"+url.Values{"url": {raw}}.Encode(), "")
		if !strings.Contains(eval[string](tab, `document.getElementById("verdict").textContent`), "In the index") {
			t.Errorf("%s: it is not indexed: the test shows nothing", raw)
		}
		// A dry run shows the title as it is now.
		tab.press("main", "Fetch now")
		tab.wait("the dry run", `document.getElementById("dryrun")`)
		for _, fault := range eval[[]string](tab, ran) {
			t.Errorf("the dry run of %s: %s", raw, fault)
		}
		shown := eval[string](tab, `[...document.querySelectorAll("section[aria-labelledby=dryrun] dt")].find((d) => d.textContent === "Title").nextElementSibling.textContent`)
		if want := []rune(title)[:5]; name != "rtl" && name != "control" && !strings.HasPrefix(shown, string(want)) {
			t.Errorf("the title of %s is shown as %.80q", raw, shown)
		}
		if strings.ContainsAny(shown, "\u202e\u202c\u2066\u2067\u0007\u200b\ufeff") {
			t.Errorf("the title of %s is shown with characters that hide or turn text: %.80q", raw, shown)
		}
		if len([]rune(shown)) > 1000 {
			t.Errorf("the title of %s is shown with %d characters", raw, len([]rune(shown)))
		}
	}
	for _, path := range append(hostilePaths(), "/hostile/headers.html", "/hostile/elsewhere.html") {
		look("/url?"+url.Values{"url": {w.siteURL + path}}.Encode(), "URL inspector")
	}
	for _, path := range []string{"/", "/hosts", "/outbox", "/deletions", "/reports/broken", "/reports/errors", "/reports/changes"} {
		look(path, "")
	}
	// What the address line of the browser says is as hostile.
	attack := `"><script>` + set + `</script><img src=x onerror=` + set + `>`
	for _, path := range []string{"/url?url=", "/reports/broken?host=", "/deletions?url=", "/docs/?q=", "/hosts?host="} {
		tab.expected = true // some are refused: the status is not a fault here
		look(path+url.QueryEscape(attack), "")
	}
	for _, fault := range tab.faults() {
		if strings.Contains(fault, "console:") || strings.Contains(fault, "exception") || strings.Contains(fault, "leaves") {
			t.Error(fault)
		}
	}
}

// TestNothingLeavesTheMachine: all that the browser has asked for in all tests so far
// went to the services under test.
func TestNothingLeavesTheMachine(t *testing.T) {
	w := shared(t)
	tab := newTab(t, w.origin)
	tab.signIn(w.operator)
	for _, p := range allPages(w) {
		tab.open(p.path)
	}
	if tab.sent < len(allPages(w)) || outside.count() < len(allPages(w)) {
		t.Errorf("%d requests of the tab, %d of the browser are seen: not all are", tab.sent, outside.count())
	}
	if strange := outside.strange(); len(strange) > 0 {
		t.Errorf("the browser asked for %q", strange)
	}
}

// focused describes what has the focus; empty where nothing has it that one can see.
const focused = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) return "";
	const style = getComputedStyle(e), box = e.getBoundingClientRect();
	const seen = e.shadowRoot || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
	if (!seen || box.right <= 0 || box.bottom <= 0 || box.width < 1) return "UNSEEN " + e.outerHTML.slice(0, 120);
	return e.localName + "#" + e.id + " " + (e.textContent.trim() || e.value || e.name || e.getAttribute("aria-label") || "").replace(/\s+/g, " ").slice(0, 60);
})()`

// tabTo presses Tab until the focus is on what has these words.
func (tb *tab) tabTo(words string) {
	tb.t.Helper()
	var passed []string
	for range 80 {
		tb.do(chromedp.KeyEvent(kb.Tab))
		at := eval[string](tb, focused)
		if strings.HasPrefix(at, "UNSEEN") {
			tb.t.Errorf("the focus cannot be seen: %s", at)
		}
		if strings.Contains(at, words) {
			return
		}
		passed = append(passed, at)
	}
	tb.t.Fatalf("Tab does not come to %q, but to %q", words, passed)
}

// TestKeyboard goes through the console without a mouse: the skip link, sign-in, the
// navigation, and out of the editor again.
func TestKeyboard(t *testing.T) {
	w := shared(t)
	tab := newTab(t, w.origin)
	tab.open("/signin")
	tab.wait("the token has the focus", `document.activeElement.id === "token"`)
	tab.do(chromedp.KeyEvent(w.reader + "\r"))
	tab.wait("signed in", `location.pathname === "/" && document.readyState === "complete"`)

	tab.tabTo("Skip to the content")
	tab.do(chromedp.KeyEvent("\r"))
	tab.wait("the content has the focus", `document.activeElement.id === "main" || location.hash === "#main"`)
	tab.open("/")
	tab.tabTo("Deletions")
	tab.do(chromedp.KeyEvent("\r"))
	tab.wait("the page of the deletions", `location.pathname === "/deletions"`)
	tab.tabTo("Sign out")
	tab.do(chromedp.KeyEvent("\r"))
	tab.wait("signed out", `location.pathname === "/signin"`)

	// The editor takes Tab for itself, until Escape.
	tab.signIn(w.operator)
	tab.open("/rules")
	tab.wait("the editor", editorReady)
	tab.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("editor").sextant.focus()`))
	if !eval[bool](tab, `document.activeElement.id === "editor"`) {
		t.Fatal("the editor does not take the focus")
	}
	tab.do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Tab))
	if eval[bool](tab, `document.activeElement.id === "editor"`) {
		t.Error("Escape and Tab do not leave the editor")
	}
	if eval[bool](tab, `document.getElementById("editor").sextant.text() !== document.getElementById("text").defaultValue`) {
		t.Error("going through the editor has changed its text")
	}
	// Typing what the editor has closed moves over it.
	const typed = `<Rule><Path val="/x/"/><Not></Not> </Rule>`
	tab.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("editor").sextant.replace("")`),
		chromedp.Evaluate[chromedp.Void](`document.getElementById("editor").sextant.focus()`), chromedp.KeyEvent(typed))
	if text := eval[string](tab, `document.getElementById("editor").sextant.text()`); text != typed {
		t.Errorf("typed %s, the editor has %s", typed, text)
	}
}

// TestChecksFindFaults: each check finds what it is for.
func TestChecksFindFaults(t *testing.T) {
	needsBrowser(t)
	if axe == "" {
		testneed.Missing(t, "SEXTANT_AXE does not name axe.min.js: npm install axe-core")
	}
	faults := []struct{ body, want string }{
		{`<main><h1>x</h1><input></main>`, "label: "},
		{`<main><h1>x</h1><h3>y</h3></main>`, "heading-order: "},
		{`<main><h1>x</h1><table><tr><th scope="col">1</th></tr></table></main>`, "a table without a name"},
		{`<main><h1>x</h1><table aria-label="t"><tr><th>1</th></tr></table></main>`, "without scope"},
		{`<main><h1>x</h1><p class="pale">pale</p></main>`, "contrast 4.4"},
		{`<main><h1>x</h1><div class="box"><p>` + strings.Repeat("long ", 99) + `</p></div></main>`, "scrollable-region-focusable: "},
		{`<main><h1>x</h1><p id="a">1</p><p id="a">2</p></main>`, "there twice"},
		{`<main><h1>x</h1><label>y <input class="box" placeholder="z"></label></main>`, "contrast of the placeholder"},
		{`<main><h1>x</h1><div class="table-wrap box">` + strings.Repeat("long", 99) + `</div></main>`, "a table cut off"},
		{`<main><h1>x</h1><section class="card">1</section><section class="card">2</section></main>`, "boxes that touch"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		body := `<main><h1>x</h1><label>y <input></label><p class="dark">dark</p></main>`
		if i, err := strconv.Atoi(r.URL.Query().Get("n")); err == nil {
			body = faults[i].body
		}
		fmt.Fprint(w, `<!DOCTYPE html><html lang="en"><title>x</title><link rel="icon" href="data:,"><style>.pale{color:#787878;background:#fff}.dark{color:#767676;background:#fff}.box::placeholder{color:#999}.box{width:50px;height:20px;overflow:auto}</style>`+body)
	}))
	defer server.Close()
	tab := newTab(t, server.URL)
	tab.size(1440, 844)
	tab.open("/")
	if found := append(tab.axe(true), eval[[]string](tab, checks)...); len(found) > 0 {
		t.Errorf("a page without faults has %q", found)
	}
	for i, f := range faults {
		tab.open("/?n=" + strconv.Itoa(i))
		if found := strings.Join(append(tab.axe(true), eval[[]string](tab, checks)...), "\n"); !strings.Contains(found, f.want) {
			t.Errorf("%s: found %q, want %q", html.EscapeString(f.body), found, f.want)
		}
	}
}
