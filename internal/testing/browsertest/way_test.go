package browsertest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// editorReady is true once the editor can be used.
const editorReady = `document.getElementById("editor")?.sextant`

// put has the editor hold its text with one part in the place of another.
func (tb *tab) put(old, with string) {
	tb.t.Helper()
	if !eval[bool](tb, `(() => {
		const editor = document.getElementById("editor").sextant, text = editor.text();
		if (!text.includes(`+quoted(old)+`)) return false;
		editor.replace(text.replace(`+quoted(old)+`, () => `+quoted(with)+`));
		return true;
	})()`) {
		tb.t.Fatalf("the editor's text has no %q", old)
	}
}

// quoted is s as JavaScript writes it.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // every string can be written
	}
	return string(b)
}

// press presses the button with these words, within what the selector names.
func (tb *tab) press(within, words string) {
	tb.t.Helper()
	find := `[...document.querySelectorAll(` + quoted(within+" button, "+within+" a") + `)].find((b) => b.checkVisibility() && !b.disabled && b.textContent.trim().startsWith(` + quoted(words) + `))`
	tb.wait("the button "+words, `((b) => b && (b.click(), true))(`+find+`)`)
}

// TestWay is a session of an operator in the browser: crawl, break the XML in the editor, find the error's line, fix
// it, preview, save, meet another user's change, see why a page is missing, hold and release a deletion.
func TestWay(t *testing.T) {
	needsBrowser(t)
	w, err := startWorld(hostilePages())
	if err != nil {
		t.Fatal(err)
	}
	tab := newTab(t, w.origin)
	tab.signIn(w.operator)
	tab.see("Overview")
	if err := w.crawled(); err != nil {
		t.Fatal(err)
	}

	tab.press("nav", "Configuration")
	tab.wait("the editor", editorReady)
	tab.breakAndMend(w)
	tab.conflict(w)
	tab.missing(w)
	tab.cases(w)
	tab.hold(w, pictureDir(t))
	if strange := outside.strange(); len(strange) > 0 {
		t.Errorf("the browser asked for %q", strange)
	}
}

// breakAndMend has a rule that ignores the archive: first written wrongly.
func (tb *tab) breakAndMend(w *world) {
	tb.t.Helper()
	const before, broken, mended = `<Path val="/internal/"/>`, `<Pfad val="/internal/"/>`, `<Path val="/internal/"/><Path val="/products/"/>`
	text, err := os.ReadFile(w.config)
	if err != nil {
		tb.t.Fatal(err)
	}
	line := strings.Count(string(text)[:strings.Index(string(text), before)], "\n") + 1
	tb.put(before, broken)
	tb.wait("the error is told", `document.getElementById("found-list").textContent.includes("unknown element <Pfad>")`)
	if said := eval[string](tb, `document.getElementById("found-list").textContent`); !strings.Contains(said, "Line "+strconv.Itoa(line)+":") {
		tb.t.Errorf("the error is on line %d, told is %q", line, said)
	}
	tb.press("#found-list", "Line "+strconv.Itoa(line))
	tb.wait("the error is marked in the text", `document.getElementById("editor").shadowRoot.querySelector(".cm-lintRange-error")`)
	tb.wait("it cannot be saved", `document.querySelector("#rules [value=save]").disabled && document.getElementById("state").textContent.includes("cannot be saved")`)

	tb.put(broken, before)
	tb.put("      <!-- Profiles are found", "      <Rule>"+mended[len(before):]+"<Ignore/></Rule>\n      <!-- Profiles are found")
	tb.wait("no error is left", `document.getElementById("found").textContent.startsWith("0 errors") || document.getElementById("found").textContent.startsWith("No")`)
	tb.press("#preview", "Preview")
	tb.wait("what would change", `document.querySelector("#preview .result").textContent.includes("would be deleted")`)
	if said := eval[string](tb, `document.querySelector("#preview .result").innerText`); !strings.Contains(said, "/products/") {
		tb.t.Errorf("the preview names no page of /products/: %s", said)
	} else if !strings.Contains(said, "URLs by rule ") {
		tb.t.Errorf("the preview does not say which rule does it: %s", said)
	}
	tb.press("#rules", "Save and reload")
	tb.wait("it asks for a word", `!document.getElementById("word").hidden && document.getElementById("word-count").textContent.includes("would be deleted") && document.getElementById("word-by").textContent.includes("by rule ")`)
	if now, err := os.ReadFile(w.config); err != nil || string(now) != string(text) {
		tb.t.Errorf("it was saved before the answer: %v", err)
	}
	tb.press("#word", "Save and delete")
	tb.see("Saved, and in force")
	if now, err := os.ReadFile(w.config); err != nil || !strings.Contains(string(now), `<Path val="/products/"/><Ignore/>`) {
		tb.t.Errorf("what was saved is not in the file: %v", err)
	}
	tb.open("/rules")
	tb.see("CrawlConfig")
	if n := eval[int](tb, `document.querySelectorAll("#versions tbody tr").length`); n != 2 {
		tb.t.Errorf("%d versions are listed, want the one before and the one in force", n)
	}
}

// conflict saves over the text of somebody else, which it is shown first.
func (tb *tab) conflict(w *world) {
	tb.t.Helper()
	const root, theirs, mine = "<CrawlConfig ", "<!-- theirs -->\n<CrawlConfig ", "<!-- mine -->\n<CrawlConfig "
	tb.wait("the editor", editorReady)
	text, err := os.ReadFile(w.config)
	if err != nil {
		tb.t.Fatal(err)
	}
	other := strings.Replace(string(text), root, theirs, 1)
	if err := os.WriteFile(w.config, []byte(other), 0o600); err != nil {
		tb.t.Fatal(err)
	}
	tb.put(root, mine)
	tb.expect("/api/v1/config", http.StatusPreconditionFailed)
	tb.press("#rules", "Save and reload")
	tb.wait("both texts are shown", `["− <!-- theirs -->", "+ <!-- mine -->"].every((line) => document.getElementById("conflict-diff").innerText.includes(line))`)
	if now, err := os.ReadFile(w.config); err != nil || string(now) != other {
		tb.t.Errorf("what somebody else saved was overwritten: %v", err)
	}
	tb.press("#conflict", "Take their text")
	tb.wait("their text stands in the editor", editorReady+`.text().includes("<!-- theirs -->") && document.getElementById("conflict").hidden`)
	tb.put(theirs, mine)
	tb.press("#rules", "Save and reload")
	tb.see("Saved, and in force")
	if now, err := os.ReadFile(w.config); err != nil || !strings.Contains(string(now), mine) {
		tb.t.Errorf("what was saved over their text is not in the file: %v", err)
	}
}

// missing asks why a page that the new rule ignores is not in the index.
func (tb *tab) missing(w *world) {
	tb.t.Helper()
	tb.press("nav", "Inspector")
	tb.wait("the inspector", `document.querySelector("h1")?.textContent === "URL inspector" && document.getElementById("url")`)
	tb.do(chromedp.SendKeys(chromedp.ID("url"), w.siteURL+"/products/\r"))
	tb.wait("why it is missing", `document.getElementById("verdict")?.innerText.includes("the rules ignore it")`)
	if said := eval[string](tb, `document.getElementById("verdict").innerText`); !strings.Contains(said, "CrawlConfig.xml:") {
		tb.t.Errorf("the inspector does not name the rule's place: %s", said)
	}
}

// cases goes from the verdict to the rule's line, writes a test case for it, and saves it
// where the command finds it.
func (tb *tab) cases(w *world) {
	tb.t.Helper()
	tb.press("#verdict", "Its line in the editor")
	tb.wait("the editor at the rule", editorReady+` && document.getElementById("editor").shadowRoot.querySelector(".cm-activeLine")?.textContent.includes("/products/")`)
	text := w.siteURL + "/products/  ignore by=rules\n" + w.siteURL + "/  crawl  # the front\n"
	tb.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("test-cases").value = ` + quoted(text)))
	tb.press("#test", "Test")
	tb.wait("both cases pass", `document.querySelector("#test .asked").textContent === "2 cases passed"`)
	tb.press("#test", "Save cases")
	tb.wait("the cases are saved", `document.querySelector("#test .asked").textContent === "2 cases saved."`)
	out, err := exec.Command(program, "test", "-c", w.config).CombinedOutput()
	if err != nil || string(out) != "2 cases, 0 failed\n" {
		tb.t.Errorf("sextant test: %s, %v", out, err)
	}
	tb.open("/rules")
	tb.wait("they are there again", `document.getElementById("test-cases")?.value === `+quoted(text))
	tb.wait("the editor", editorReady)
	tb.put("<Path val=\"/products/\"/><Ignore/>", "<Path val=\"/products/nothing/\"/><Ignore/>")
	tb.press("#rules", "Save and reload")
	tb.wait("it tells of the case that fails", `!document.getElementById("word").hidden && document.getElementById("word-count").textContent.includes("1 of 2 test cases would fail")`)
	tb.press("#word", "Do not save")
	tb.wait("the question is gone", `document.getElementById("word").hidden`)
	tb.put("/products/nothing/", "/products/")
	tb.open("/")
	tb.see("Overview")
}

// hold takes pages away from the site, and releases one deletion that rests, by keyboard.
func (tb *tab) hold(w *world, pictures string) {
	tb.t.Helper()
	for _, name := range []string{"apples", "bees", "cherries", "dates"} {
		w.site.set("/old/"+name+".html", answer{status: http.StatusNotFound, body: "gone"})
	}
	if err := w.api(http.MethodPost, "/refresh", `{"match":"<Path val=\"/old/\"/>"}`, nil); err != nil {
		tb.t.Fatal(err)
	}
	filtered := "/deletions?" + url.Values{"url": {"/old/"}}.Encode()
	tb.wait("a deletion rests", `fetch(`+quoted(filtered)+`).then((r) => r.text()).then((text) => { window.rests = text.includes("/old/bees.html") }) && window.rests`)
	tb.open("/outbox?state=pending")
	tb.look(pictures, "outbox-pending")
	tb.open(filtered)
	tb.see("/old/bees.html")
	tb.look(pictures, "deletions")
	// By keyboard alone.
	tb.tabTo("/old/bees.html") // its box is before its link
	if box := eval[string](tb, `document.activeElement.type || ""`); box != "checkbox" {
		tb.t.Fatalf("Tab comes to %q before the box of the deletion", box)
	}
	tb.do(chromedp.KeyEvent(" "))
	for range 40 { // back to the button, past the boxes above
		if eval[bool](tb, `document.activeElement.textContent.trim() === "Release selected"`) {
			break
		}
		tb.do(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(kb.ModifierShift)))
	}
	tb.do(chromedp.KeyEvent("\r"))
	tb.wait("it asks first", `document.querySelector("h1")?.textContent.startsWith("Release 1 deletion")`)
	tb.look(pictures, "confirm")
	tb.tabTo("button# Release")
	tb.do(chromedp.KeyEvent("\r"))
	tb.see("1 deletion released")
	tb.wait("the deletion does not rest any more", `!document.querySelector('input[name=url][value$="/old/bees.html"]')`)
	err := w.until("the document is gone", func() bool {
		var all []struct {
			Stored struct {
				Known, Indexed bool
			}
		}
		return w.api(http.MethodPost, "/explain", `{"urls":["`+w.siteURL+`/old/bees.html"]}`, &all) == nil && !all[0].Stored.Indexed
	})
	if err != nil {
		tb.t.Error(err)
	}
}
