package console

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
)

// asked is what an API was asked to change, or for a list of JSON Lines.
type asked struct{ what, body string }

// recording returns an API that answers as answers does, and notes POST requests.
func recording(t *testing.T, byPath map[string]any) (http.Handler, *[]asked) {
	api, notes := answers(t, byPath), &[]asked{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path != "/api/v1/explain" {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			*notes = append(*notes, asked{strings.TrimPrefix(r.URL.Path, "/api/v1"), string(b)})
		}
		api.ServeHTTP(w, r)
	}), notes
}

// wantBody fails where a body is other JSON.
func wantBody(t *testing.T, got asked, what, body string) {
	t.Helper()
	var a, b any
	if json.Unmarshal([]byte(got.body), &a) != nil || json.Unmarshal([]byte(body), &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) || got.what != what {
		t.Errorf("the API was asked %s %s, want %s %s", got.what, got.body, what, body)
	}
}

// day returns when all happened.
func day() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

// knownURL returns an answer of explain and document about a URL whose texts are all one.
func knownURL(raw, text string) map[string]any {
	at := day()
	target := text[:min(len(text), 1000)] // its name is the configuration's
	stored := &report.StoredURL{
		URL: raw, Status: 200, Class: "ok", Fifo: "index", Indexed: true, FetchedAt: &at, Referrer: text, RedirectTo: text, DuplicateOf: text, Source: text,
		ETag: text, LastModified: text,
		LastError: text, Fate: "indexed", Reason: "unreadable",
		State: "at rest", EnteredAt: &at, FoundAt: &at, MediaType: text, Aliases: []string{text},
	}
	fifo := "index"
	order := push.Listed{State: push.DeadLetter, Entry: push.Entry{URL: raw, Source: text}, Target: target, Words: text, RefusedAt: at}
	document := &push.Document{
		URL: raw, Title: text, Text: text, Source: text, Content: []byte(text), ContentType: text, Charset: text, Language: text, Referrer: text,
		LastModified: text, Metas: map[string][]string{text: {text}},
	}
	explained := admin.Explanation{
		URL: raw, Canonical: raw, Decision: "crawl", Accept: true, Index: true, Follow: true, Fifo: &fifo, Source: text, Metas: map[string][]string{text: {text}},
		Rules:  []admin.RuleExplanation{{Index: 1, File: text, Line: 3, Group: text, Matched: true, Changed: []string{"index"}}, {Index: 2, File: text, Group: text}},
		Stored: &admin.StoredExplanation{Known: true, StoredURL: stored, Robots: "allowed"},
	}
	return map[string]any{
		"GET /status":           []admin.Status{{Status: crawl.Status{Crawler: "a", Outbox: crawl.OutboxStatus{Dead: 1, Pending: 1}, Targets: []crawl.TargetStatus{{Name: target, LastError: text}}}}},
		"POST /explain":         []any{explained},
		"GET /document":         admin.Sent{URL: raw, Stored: stored, Order: &order, Document: document},
		"GET /links":            report.LinkedFrom{Page: text, Redirect: text},
		"GET /outbox":           map[string]any{"items": []any{order}, "next": "dead.1"},
		"GET /deletions":        map[string]any{"items": []any{admin.Deletion{Class: text, URL: raw, Host: text, Reason: text, WaitsFor: text, Text: text, Source: text, Since: at}}, "next": "7"},
		"GET /deletions/counts": admin.DeletionCounts{LossCounts: admin.LossCounts{Pending: 3}, Groups: 2, Items: []admin.DeletionGroup{{DeletionKey: admin.DeletionKey{Host: text, Reason: text}}, {DeletionKey: admin.DeletionKey{Host: text, Reason: text, Edit: 17}}}},
		"POST /fetch": admin.Fetched{
			URL: raw, Canonical: raw, Robots: "allowed", Location: text, Document: document, Stored: stored, Links: []crawl.TrialLink{{Href: text, URL: text, By: text}, {Href: text}},
			Answer: &admin.FetchedAnswer{Status: 200, Headers: http.Header{"X-Odd": {text}}}, ExcludedBy: text,
			Page: &admin.FetchedPage{Title: text, Text: text, Language: text, Canonical: text, Directives: []string{text}},
		},
		"GET /report/broken":    report.Broken{URL: raw, Words: text, Error: "4xx", Pages: 9, LinkedFrom: []report.LinkedFrom{{Page: text, Redirect: text}}},
		"GET /report/changes":   report.Change{Change: "new", URL: raw, Words: text, Source: text},
		"GET /report/errors":    report.Errors{URLs: 1, Hosts: 1, Classes: []report.ErrorCount{{Class: "4xx", Example: raw, Words: text}}, ByHost: []report.HostErrors{{Host: text}}},
		"GET /report/documents": report.Documents{BySource: []report.GroupCount{{Name: text}}, ByType: []report.GroupCount{{Name: text}}, ByHost: []report.GroupCount{{Name: text}}},
	}
}

// lookedAt returns the pages that show text from outside.
func lookedAt() []string {
	return []string{
		"/url?url=http://x.test/&show=links", "/documents?url=http://x.test/", "/outbox", "/outbox?state=waiting", "/deletions",
		"/reports", "/reports/broken", "/reports/changes", "/reports/errors", "/reports/documents",
	}
}

// TestHostileText: whatever a page has for title, text or URL is text on all pages, and not much of it.
func TestHostileText(t *testing.T) {
	for name, text := range map[string]string{
		"script":   `<script>alert(1)</script>`,
		"handler":  `"><img src=x onerror="alert(1)"><svg/onload=alert(1)>' autofocus onfocus='alert(1)`,
		"close":    `</pre></textarea></title></bdi><base href="https://evil.test/"><form action="https://evil.test/">`,
		"link":     `javascript:alert(document.cookie)//"><a href="javascript:alert(1)">x</a>`,
		"large":    strings.Repeat("Aa", 1<<19) + "<b>",
		"rtl":      "abc\u202Egnp.exe\u202C \u2066\u05D0\u05D1\u2069",
		"control":  "a\x00b\x1b[31mc\x7f\u0085\u200b\ufeff\r\nd",
		"template": `{{.}} ${7*7} {{template "layout"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			raw := "http://x.test/"
			if len(text) < 1000 {
				raw += text
			}
			c := newConsole(t, admin.Operator, answers(t, knownURL(raw, text)))
			bodies := map[string]string{}
			for _, path := range lookedAt() {
				status, body := visitPage(t, c, path)
				if bodies[path] = body; status != http.StatusOK {
					t.Fatalf("%s: %d\n%.2000s", path, status, body)
				}
			}
			w := sendForm(t, c, "/url/fetch", map[string][]string{"url": {raw}})
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Nothing was stored or pushed") {
				t.Fatalf("a dry run: %d\n%.2000s", w.Code, w.Body)
			}
			bodies["/url/fetch"] = w.Body.String()
			bodies["/url/remove"] = sendForm(t, c, "/url/remove", map[string][]string{"url": {raw}}).Body.String()
			for path, body := range bodies {
				if len(body) > 1<<20 {
					t.Errorf("%s has %d bytes", path, len(body))
				}
				harmlessPage(t, path, body)
			}
		})
	}
}

// harmlessPage fails where a page holds an element, attribute or character that no template of the console has.
func harmlessPage(t *testing.T, path, body string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.TextNode && strings.ContainsFunc(n.Data, hidden) {
			t.Errorf("%s shows hidden characters: %.80q", path, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		attr := map[string]string{}
		for _, a := range n.Attr {
			if attr[a.Key] = a.Val; strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" {
				t.Errorf("%s: <%s %s=%.80q>", path, n.Data, a.Key, a.Val)
			}
		}
		for _, key := range []string{"href", "src", "action", "formaction", "hx-get"} {
			if to, ok := attr[key]; ok && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) && !strings.HasPrefix(to, "#") {
				t.Errorf("%s: <%s %s=%.80q> leads elsewhere", path, n.Data, key, to)
			}
		}
		switch n.Data {
		case "img", "svg", "base", "iframe", "object", "embed", "style", "b":
			t.Errorf("%s holds <%s>", path, n.Data)
		case "script":
			if n.FirstChild != nil || !strings.HasPrefix(attr["src"], "/static/") {
				t.Errorf("%s holds a script of its own", path)
			}
		}
	}
}

// TestShownAsText: hostile text is not left out, it is shown.
func TestShownAsText(t *testing.T) {
	const script = `<script>alert(1)</script>`
	c := newConsole(t, admin.Reader, answers(t, knownURL("http://x.test/", script)))
	for _, path := range lookedAt() {
		if path == "/reports" {
			continue
		}
		if _, body := visitPage(t, c, path); !strings.Contains(body, "&lt;script&gt;alert(1)&lt;/script&gt;") {
			t.Errorf("%s does not show it:\n%s", path, body)
		}
	}
}

// usable returns a page without its disabled parts.
func usable(page string) string {
	return regexp.MustCompile(`(?s)<fieldset[^>]* disabled>.*?</fieldset>`).ReplaceAllString(page, "")
}

// TestReadersButtonsAreOff: on a reader's pages the buttons that change something are off, with the reason, and their
// forms are refused.
func TestReadersButtonsAreOff(t *testing.T) {
	api, notes := recording(t, knownURL("http://x.test/", "words"))
	reader, operator := newConsole(t, admin.Reader, api), newConsole(t, admin.Operator, api)
	for _, path := range lookedAt() {
		_, page := visitPage(t, reader, path)
		if body := usable(page); strings.Contains(body, `type="checkbox"`) || strings.Contains(body, "formaction") || strings.Contains(body, `class="danger"`) {
			t.Errorf("%s offers a reader to change something:\n%s", path, body)
		}
	}
	for path, want := range map[string][]string{
		"/url?url=http://x.test/": {"Recrawl", "Fetch now as a dry run", ">Remove<"},
		"/outbox":                 {"Retry selected", "Drop all", `value="words http://x.test/"`},
		"/deletions":              {"Release selected", "Drop all", `value="http://x.test/"`},
	} {
		_, body := visitPage(t, operator, path)
		_, readers := visitPage(t, reader, path)
		for _, words := range want {
			if !strings.Contains(body, words) || strings.Contains(usable(readers), words) || !strings.Contains(readers, "this needs the operator's token") {
				t.Errorf("%s: %q is to be used by operators only", path, words)
			}
		}
	}
	for _, path := range []string{"/url/add", "/url/refresh", "/url/fetch", "/url/remove", "/deletions/release", "/deletions/drop", "/outbox/retry", "/outbox/drop"} {
		if w := sendForm(t, reader, path, map[string][]string{"url": {"http://x.test/"}, "which": {"all"}, "sure": {"yes"}}); w.Code != http.StatusForbidden {
			t.Errorf("%s by a reader: %d", path, w.Code)
		}
	}
	if len(*notes) > 0 {
		t.Errorf("a reader changed something: %v", *notes)
	}
}
