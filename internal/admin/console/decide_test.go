package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
)

// TestAnswers: the inspector shows the answer, what the outbox adds, and what to do.
func TestAnswers(t *testing.T) {
	status, fifo, at := 760, "index", day()
	stored := func(s report.StoredURL) admin.Explanation {
		s.URL = "http://x.test/"
		return admin.Explanation{Decision: "crawl", Accept: true, Index: true, Fifo: &fifo, Stored: &admin.StoredExplanation{Known: true, StoredURL: &s, Robots: "allowed"}}
	}
	excluded := func(x admin.Explanation) admin.Explanation {
		x.Decision, x.Status, x.ExcludedBy = "ignore", &status, &crawlspace.Reason{Gate: "rules", File: "/etc/x/CrawlConfig.xml", Line: 12, Rule: "rule 3"}
		return x
	}
	indexed := report.StoredURL{Class: "ok", Indexed: true, Fate: "indexed", EnteredAt: &at}
	missing := report.StoredURL{Class: "permanent", Fate: "permanent_error", Reason: "not_found", LastError: "404 Not Found"}
	pending := missing
	pending.Fate, pending.Indexed = "deletion_pending", true
	isPending := stored(pending)
	isPending.Stored.DeletionOrder = &admin.Deletion{WaitsFor: "visit", Since: at, LastSeen: at, Visits: 2, NotBefore: &at}
	for _, tt := range []struct {
		name      string
		explained admin.Explanation
		order     *push.Listed
		want      []string
	}{
		{"unknown", admin.Explanation{Decision: "crawl", Index: true, Fifo: &fifo, Stored: &admin.StoredExplanation{}}, nil, []string{"Not in the index: no link to it was found yet", "A link to it would", `action="/url/add"`}},
		{"unknown and excluded", excluded(admin.Explanation{Stored: &admin.StoredExplanation{}}), nil, []string{"Not in the index: links to it are ignored: rule 3, /etc/x/CrawlConfig.xml:12", `href="/rules"`}},
		{"excluded", excluded(stored(report.StoredURL{Class: "ignored", Fate: "excluded", Reason: "rules", LastError: "rule 3 at CrawlConfig.xml:12:5"})), nil, []string{"Not in the index: the rules ignore it (rule 3 at CrawlConfig.xml:12:5)", `href="/rules"`}},
		{"indexed", stored(indexed), nil, []string{`class="notice good"`, "In the index, or on its way there</bdi> since <time datetime=\"2026-03-04T05:06:07Z\""}},
		{"indexed and excluded", excluded(stored(indexed)), nil, []string{`class="notice good"`, "The rules in force exclude it: rule 3, /etc/x/CrawlConfig.xml:12."}},
		{"on its way", stored(indexed), &push.Listed{State: "waiting"}, []string{`class="notice warn"`, "Its newest document is still in the outbox", `href="/outbox"`}},
		{"refused", stored(indexed), &push.Listed{State: "dead", Target: "papi", Words: "too large"}, []string{`class="notice bad"`, "Not in the index, or in an older version: papi refused its document (too large)", `href="/outbox?state=dead"`}},
		{"pending", isPending, &push.Listed{Entry: push.Entry{Op: push.Delete}, State: "pending"}, []string{
			`class="notice warn"`, "In the index, but its deletion is pending: the site does not have it (404 Not Found)",
			"It has been pending since <time datetime=\"2026-03-04T05:06:07Z\" title=\"2026-03-04 05:06:07 UTC\" data-local>", "Release the deletion", `href="/deletions?url=http%3A%2F%2Fx.test%2F"`,
		}},
		{"deletion waits", stored(missing), &push.Listed{Entry: push.Entry{Op: push.Delete}, State: push.Waiting}, []string{"the site does not have it", "The deletion of its document is still in the outbox", `href="/outbox"`}},
		{"deletion refused", stored(missing), &push.Listed{Entry: push.Entry{Op: push.Delete}, State: push.DeadLetter, Target: "papi", Words: "locked"}, []string{"the site does not have it", `class="notice bad"`, "Perhaps still in the index: papi refused to delete its document (locked)", `href="/outbox?state=dead"`}},
		{"waits", stored(report.StoredURL{Class: "pending", Fate: "pending", State: "waiting"}), nil, []string{"it waits to be fetched", `href="/hosts?host=http%3A%2F%2Fx.test%2F"`}},
		{"duplicate", stored(report.StoredURL{Class: "ok", DuplicateOf: "http://x.test/b", Fate: "duplicate", Reason: "duplicate"}), nil, []string{"another document has the same content: http://x.test/b", `href="/url?url=http%3A%2F%2Fx.test%2Fb"`}},
		{"redirect", stored(report.StoredURL{Class: "redirect", RedirectTo: "http://x.test/c", Fate: "redirect", Reason: "redirect"}), nil, []string{"it redirects: http://x.test/c", `href="/url?url=http%3A%2F%2Fx.test%2Fc"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.explained.URL, tt.explained.Canonical = "http://x.test/", "http://x.test/"
			api := map[string]any{"POST /explain": []any{tt.explained}}
			if tt.order != nil {
				if tt.order.State == push.DeadLetter {
					tt.explained.Stored.Refused = tt.order
				}
				api["GET /document"] = admin.Sent{URL: "http://x.test/", Order: tt.order}
			}
			code, body := visitPage(t, newConsole(t, admin.Operator, answers(t, api)), "/url?url=http://x.test/")
			for _, want := range tt.want {
				if code != http.StatusOK || !strings.Contains(body, want) {
					t.Errorf("%d, no %q in\n%s", code, want, body)
				}
			}
		})
	}
	api := answers(t, map[string]any{"POST /explain": []any{isPending}})
	if _, body := visitPage(t, newConsole(t, admin.Reader, api), "/url?url=http://x.test/"); strings.Contains(body, "Release the deletion") || !strings.Contains(body, `href="/deletions?url=`) {
		t.Errorf("a reader is told\n%s", body)
	}
}

func TestInspectorWithoutURL(t *testing.T) {
	c := newConsole(t, admin.Reader, answers(t, map[string]any{"POST /explain": []any{admin.Unreadable{URL: "x", Error: "no scheme"}}}))
	if code, body := visitPage(t, c, "/url"); code != http.StatusOK || !strings.Contains(body, "Enter any URL, known or not") {
		t.Errorf("%d\n%s", code, body)
	}
	if code, body := visitPage(t, c, "/url?url=x"); code != http.StatusOK || !strings.Contains(body, "This URL cannot be crawled: <bdi>no scheme</bdi>") {
		t.Errorf("%d\n%s", code, body)
	}
}

// TestLinksOnDemand: the links of all pages are read only for who asks.
func TestLinksOnDemand(t *testing.T) {
	api := knownURL("http://x.test/", "words")
	delete(api, "GET /links")
	c := newConsole(t, admin.Reader, answers(t, api))
	if code, _ := visitPage(t, c, "/url?url=http://x.test/"); code != http.StatusOK {
		t.Errorf("without asking for links: %d", code)
	}
	if code, _ := visitPage(t, c, "/url?url=http://x.test/&show=links"); code != http.StatusNotFound {
		t.Errorf("asking for links: %d", code)
	}
}

func TestSteerOneURL(t *testing.T) {
	const raw = "http://x.test/"
	api := knownURL(raw, "words")
	api["POST /add"] = []crawl.Submitted{{URL: raw, Result: "queued"}}
	api["POST /refresh"], api["POST /remove"] = crawl.Refreshed{URLs: 1}, crawl.Removed{URLs: 1, Deletions: 1}
	recorded, notes := recording(t, api)
	c := newConsole(t, admin.Operator, recorded)
	for _, form := range []struct {
		path, extra, want string
	}{
		{"/url/add", "", `{"urls":["http://x.test/"]}`},
		{"/url/refresh", "full", `{"urls":["http://x.test/"],"full":true}`},
		{"/url/remove", "sure", `{"urls":["http://x.test/"]}`},
		{"/url/remove", "sure forever", `{"urls":["http://x.test/"],"forever":true}`},
	} {
		*notes = nil
		fields := url.Values{"url": {raw}}
		for _, name := range strings.Fields(form.extra) {
			fields.Set(name, "yes")
		}
		w := sendForm(t, c, form.path, fields)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/url?url=http%3A%2F%2Fx.test%2F" || len(*notes) != 1 {
			t.Fatalf("%s: %d, to %s, %v", form.path, w.Code, w.Header().Get("Location"), *notes)
		}
		wantBody(t, (*notes)[0], strings.TrimPrefix(form.path, "/url"), form.want)
	}
	*notes = nil
	if w := sendForm(t, c, "/url/remove", url.Values{"url": {raw}}); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Remove this URL?") || !strings.Contains(w.Body.String(), `name="forever"`) || len(*notes) > 0 {
		t.Errorf("remove does not ask first: %d, %v", w.Code, *notes)
	}
	if w := sendForm(t, c, "/url/remove", nil); w.Code != http.StatusBadRequest {
		t.Errorf("remove without a URL: %d", w.Code)
	}
}

func TestDecideDeletions(t *testing.T) {
	api := knownURL("http://x.test/", "404")
	api["POST /deletions/release"], api["POST /deletions/drop"] = admin.Decided{Deletions: 2}, admin.Decided{Deletions: 1}
	api["GET /deletions/counts"] = admin.DeletionCounts{
		LossCounts: admin.LossCounts{Pending: 412}, UpTo: 900, OfIllHosts: 3,
		Items: []admin.DeletionGroup{
			{DeletionKey: admin.DeletionKey{Edit: 17}, LossCounts: admin.LossCounts{Pending: 400}},
			{LossCounts: admin.LossCounts{Pending: 12}},
		},
	}
	recorded, notes := recording(t, api)
	c := newConsole(t, admin.Operator, recorded)
	two := url.Values{"url": {"http://x.test/1", "http://x.test/2"}}
	w := sendForm(t, c, "/deletions/release", two)
	for _, want := range []string{"Release 2 deletions?", "are no longer found", `name="url" value="http://x.test/2"`, `name="sure"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %q in\n%s", want, w.Body)
		}
	}
	if len(*notes) > 0 {
		t.Fatalf("released before it was confirmed: %v", *notes)
	}
	two.Set("sure", "yes")
	if w := sendForm(t, c, "/deletions/release", two); w.Code != http.StatusSeeOther {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
	sendForm(t, c, "/deletions/drop", url.Values{"which": {"all"}, "sure": {"yes"}})
	if len(*notes) != 2 {
		t.Fatalf("the API was asked %v", *notes)
	}
	wantBody(t, (*notes)[0], "/deletions/release", `{"urls":["http://x.test/1","http://x.test/2"]}`)
	wantBody(t, (*notes)[1], "/deletions/drop", `{"all":true,"up_to":900}`)
	for _, tt := range []struct {
		do         string
		form       url.Values
		head, body string
	}{
		{"drop", url.Values{}, "Drop all 12 deletions?", `{"all":true,"up_to":900}`},
		{"release", url.Values{"host": {"http://www.example.com"}, "reason": {"not_found"}}, "Release all 412 deletions of http://www.example.com (not_found)?", `{"host":"http://www.example.com","reason":"not_found","up_to":900}`},
		{"release", url.Values{"edit": {"17"}}, "Release all 412 deletions of edit 17?", `{"edit":17,"up_to":900}`},
		{"drop", url.Values{"up_to": {"7"}}, "Drop all 12 deletions?", `{"all":true,"up_to":7}`},
	} {
		tt.form.Set("which", "all")
		*notes = nil
		if w := sendForm(t, c, "/deletions/"+tt.do, tt.form); !strings.Contains(w.Body.String(), "<h1>"+tt.head+"</h1>") || len(*notes) > 0 {
			t.Errorf("no %q in\n%s", tt.head, w.Body)
		}
		tt.form.Set("sure", "yes")
		if w := sendForm(t, c, "/deletions/"+tt.do, tt.form); w.Header().Get("Location") != "/deletions" || len(*notes) != 1 {
			t.Fatalf("%s: to %q, asked %v", tt.head, w.Header().Get("Location"), *notes)
		}
		wantBody(t, (*notes)[0], "/deletions/"+tt.do, tt.body)
	}
	if w := sendForm(t, c, "/deletions/drop", url.Values{}); w.Code != http.StatusSeeOther || len(*notes) != 1 {
		t.Errorf("nothing selected: %d, %v", w.Code, *notes)
	}
}

// TestDeletionGroups: deletions are grouped by host, by reason and by edit, and a reader sees no button.
func TestDeletionGroups(t *testing.T) {
	at := day()
	counts := map[string]string{
		"host":   `{"host":"http://x.test","pending":10}`,
		"reason": `{"reason":"not_found","pending":2},{"reason":"rules","pending":8}`,
		"edit":   `{"edit":17,"pending":8},{"pending":2}`,
		"class":  `{"class":"most","pending":10}`,
		"":       ``,
	}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/deletions":
			_ = json.NewEncoder(w).Encode(map[string]any{"items": []any{admin.Deletion{
				Class: "most", WaitsFor: "well_host", Visits: 3, Reason: "not_found", Host: "http://x.test", URL: "http://x.test/1", Text: "404 Not Found", Since: at, LastSeen: at,
			}}})
		case "/api/v1/status":
			_ = json.NewEncoder(w).Encode([]admin.Status{{
				Status: crawl.Status{Crawler: "a"}, Losing: []admin.LosingHost{{Host: "http://x.test", Pending: 10, Documents: 12, Class: "most", Ill: true, SilentSince: &at}},
			}})
		default:
			_, _ = fmt.Fprintf(w, `{"pending":10,"up_to":44,"groups":2,"items":[%s]}`, counts[r.URL.Query().Get("by")])
		}
	})
	_, body := visitPage(t, newConsole(t, admin.Operator, api), "/deletions")
	for _, want := range []string{
		"Pending: 10 deletions.", "10 deletions, the newest first", "By host", "By reason", "By class",
		`<th scope="row" class="wide">edit 17</th><td class="num">8</td>`,
		`href="/deletions?edit=17"`, `href="/deletions?host=http%3A%2F%2Fx.test"`,
		`<input type="hidden" name="reason" value="rules"><input type="hidden" name="edit" value=""><input type="hidden" name="up_to" value="44"><button class="danger">Release 8</button>`, "404 Not Found",
		"when its host is well", `<span class="tag bad">ill</span>`, `<td class="num">12</td>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	if n := strings.Count(body, ">Drop</button>"); n != 3 {
		t.Errorf("%d buttons drop a group, want those of a host and two reasons: a drop leaves alone what an edit made", n)
	}
	_, body = visitPage(t, newConsole(t, admin.Reader, api), "/deletions")
	for _, not := range []string{`"danger">Release`, `type="checkbox"`} {
		if strings.Contains(usable(body), not) {
			t.Errorf("a reader can use %q", not)
		}
	}
	if strings.Contains(body, "Release 8") {
		t.Error("a reader is shown the buttons of the groups")
	}
	wrong := answers(t, map[string]any{"GET /deletions/counts": &admin.Problem{Status: http.StatusBadRequest, Detail: `"x" is no reason`}})
	if code, body := visitPage(t, newConsole(t, admin.Reader, wrong), "/deletions?reason=x&host=h"); code != http.StatusOK || !strings.Contains(body, "is no reason") || !strings.Contains(body, `name="host" value="h"`) {
		t.Errorf("a wrong filter: %d\n%s", code, body)
	}
}

// TestDecideFiltered: all whose URLs have a part are not all there are.
func TestDecideFiltered(t *testing.T) {
	notes := []asked{}
	c := newConsole(t, admin.Operator, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if q := r.URL.Query(); q.Get("reason") != "not_found" || q.Get("url") != "/old/" || r.Header.Get("Accept") != "application/jsonl" {
				t.Errorf("asked for %s", r.URL)
			}
			_, _ = w.Write([]byte(`{"url":"http://x.test/1"}` + "\n" + `{"url":"http://x.test/2"}` + "\n"))
			return
		}
		b := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(b)
		notes = append(notes, asked{r.URL.Path, string(b)})
		_, _ = w.Write([]byte(`{"deletions":2}`))
	}))
	form := url.Values{"which": {"all"}, "reason": {"not_found"}, "in_url": {"/old/"}}
	if w := sendForm(t, c, "/deletions/drop", form); !strings.Contains(w.Body.String(), "Drop all 2 deletions (not_found) with /old/ in their URLs?") || len(notes) > 0 {
		t.Fatalf("%v\n%s", notes, w.Body)
	}
	form.Set("sure", "yes")
	if w := sendForm(t, c, "/deletions/drop", form); w.Header().Get("Location") != "/deletions" || len(notes) != 1 {
		t.Fatalf("%v, to %s", notes, w.Header().Get("Location"))
	}
	wantBody(t, notes[0], "/api/v1/deletions/drop", `{"urls":["http://x.test/1","http://x.test/2"]}`)
}

func TestDecideLetters(t *testing.T) {
	api := knownURL("http://x.test/", "words")
	api["POST /outbox/retry"], api["POST /outbox/drop"] = admin.DecidedLetters{DeadLetters: 1}, admin.DecidedLetters{DeadLetters: 1}
	recorded, notes := recording(t, api)
	c := newConsole(t, admin.Operator, recorded)
	some := url.Values{"order": {"b+%26+c http://x.test/1", "a http://x.test/1", "a http://x.test/2"}}
	if w := sendForm(t, c, "/outbox/retry", some); w.Code != http.StatusSeeOther || len(*notes) != 2 {
		t.Fatalf("%d %v", w.Code, *notes)
	}
	wantBody(t, (*notes)[0], "/outbox/retry", `{"target":"a","urls":["http://x.test/1","http://x.test/2"]}`)
	wantBody(t, (*notes)[1], "/outbox/retry", `{"target":"b & c","urls":["http://x.test/1"]}`)
	*notes = nil
	if w := sendForm(t, c, "/outbox/drop", some); !strings.Contains(w.Body.String(), "Drop 3 dead letters?") || len(*notes) > 0 {
		t.Errorf("drop does not ask: %v\n%s", *notes, w.Body)
	}
	for _, tt := range []struct {
		form url.Values
		want string
	}{
		{url.Values{"which": {"all"}, "sure": {"yes"}}, `{"urls":null,"all":true}`},
		{url.Values{"which": {"all"}, "sure": {"yes"}, "target": {"a"}, "source": {"s"}}, `{"urls":null,"target":"a","source":"s"}`},
	} {
		*notes = nil
		sendForm(t, c, "/outbox/drop", tt.form)
		if len(*notes) != 1 {
			t.Fatalf("%v: %v", tt.form, *notes)
		}
		wantBody(t, (*notes)[0], "/outbox/drop", tt.want)
	}
}

// TestNextPages: a list leads to its next page with its filter and the Crawler.
func TestNextPages(t *testing.T) {
	queries := map[string]url.Values{}
	api := answers(t, knownURL("http://x.test/", "words"))
	c := newConsole(t, admin.Reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries[r.URL.Path] = r.URL.Query()
		api.ServeHTTP(w, r)
	}), "a", "b")
	for path, next := range map[string]string{
		"/deletions?url=x&reason=404&cursor=5":      `href="/deletions?crawler=a&amp;cursor=7&amp;reason=404&amp;url=x"`,
		"/outbox?state=dead&source=s&cursor=dead.0": `href="/outbox?crawler=a&amp;cursor=dead.1&amp;source=s&amp;state=dead"`,
	} {
		if _, body := visitPage(t, c, path); !strings.Contains(body, next) {
			t.Errorf("%s: no %s in\n%s", path, next, body)
		}
	}
	if q := queries["/api/v1/deletions"]; q.Get("cursor") != "5" || q.Get("reason") != "404" || q.Get("crawler") != "a" {
		t.Errorf("deletions were asked for with %v", q)
	}
	if q := queries["/api/v1/outbox"]; q.Get("cursor") != "dead.0" || q.Get("source") != "s" {
		t.Errorf("orders were asked for with %v", q)
	}
}

// TestReportsAreCut: a page shows the first of many, and where all of them are.
func TestReportsAreCut(t *testing.T) {
	many := strings.Repeat(`{"change":"new","url":"http://x.test/","at":"2026-01-02T03:04:05Z"}`+"\n", entriesShown)
	var asked url.Values
	c := newConsole(t, admin.Reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		w.Header().Set(admin.TotalHeader, "1203")
		_, _ = w.Write([]byte(many))
	}))
	_, body := visitPage(t, c, "/reports/changes?since=7d&host=x.test")
	for _, want := range []string{
		`rel="next" href="/reports/changes?from=100&amp;host=x.test&amp;since=7d"`, `aria-sort="descending"`, "1,203 changes<",
		`href="/api/v1/report/changes?format=csv&amp;host=x.test&amp;pages=0&amp;since=7d&amp;sort=-at&amp;top=0"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%.3000s", want, body)
		}
	}
	if n := strings.Count(body, `<tr><td class="nowrap">new`); n != entriesShown {
		t.Errorf("%d entries are shown", n)
	}
	if asked.Get("limit") != "100" || asked.Get("sort") != "-at" || asked.Get("since") != "7d" || asked.Get("host") != "x.test" {
		t.Errorf("asked for %v", asked)
	}
	if code, _ := visitPage(t, c, "/reports/other"); code != http.StatusNotFound {
		t.Errorf("no such report: %d", code)
	}
}

// TestDownloads: what was sent is given as a file that no browser shows.
func TestDownloads(t *testing.T) {
	c := newConsole(t, admin.Reader, answers(t, knownURL("http://x.test/", "<script>")))
	for path, media := range map[string]string{"/documents/text": "text/plain; charset=utf-8", "/documents/content": "application/octet-stream"} {
		w := get(t, c, path+"?url=http://x.test/")
		if w.Code != http.StatusOK || w.Body.String() != "<script>" || w.Header().Get("Content-Type") != media || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment;") {
			t.Errorf("%s: %d %v %q", path, w.Code, w.Header(), w.Body)
		}
	}
	unknown := newConsole(t, admin.Reader, answers(t, nil))
	if code, body := visitPage(t, unknown, "/documents?url=http://x.test/"); code != http.StatusOK || !strings.Contains(body, "is unknown and has no order") {
		t.Errorf("an unknown document: %d\n%s", code, body)
	}
	gone := newConsole(t, admin.Reader, answers(t, map[string]any{"GET /document": admin.Sent{URL: "http://x.test/"}}))
	if w := get(t, gone, "/documents/text?url=http://x.test/"); w.Code != http.StatusNotFound {
		t.Errorf("a document that has gone: %d", w.Code)
	}
	if code, body := visitPage(t, gone, "/documents?url=http://x.test/"); code != http.StatusOK || !strings.Contains(body, "The outbox has no order for it") {
		t.Errorf("a document that has gone: %d\n%s", code, body)
	}
}

func TestLasting(t *testing.T) {
	if got := lasting(int64(3 * time.Hour / time.Second)); got != "3 h" {
		t.Errorf("3 h are %q", got)
	}
}
