package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/push"
)

// TestVerdicts: the inspector says in words what is decided, and why.
func TestVerdicts(t *testing.T) {
	status, fifo, at := 760, "index", day()
	rules := []admin.RuleExplanation{
		{Index: 1, File: "/etc/x/CrawlConfig.xml", Line: 9, Matched: true, Changed: []string{"index"}},
		{Index: 3, File: "/etc/x/CrawlConfig.xml", Line: 12, Matched: true, Changed: []string{"accept"}},
	}
	excluded := func(by *admin.ExcludedBy) admin.Explanation {
		return admin.Explanation{Decision: "ignore", Status: &status, ExcludedBy: by, Rules: rules}
	}
	stored := func(index bool, s crawl.StoredURL) admin.Explanation {
		return admin.Explanation{Decision: "crawl", Accept: true, Index: index, Fifo: &fifo, Rules: rules, Stored: &admin.StoredExplanation{Known: true, StoredURL: &s, Robots: "allowed"}}
	}
	forbidden := stored(true, crawl.StoredURL{Class: "ignored", LastError: "robots.txt forbids it"})
	forbidden.Stored.Robots = "forbidden"
	killed := stored(true, crawl.StoredURL{Class: "ok"})
	killed.KilledBy = &crawlspace.Reason{Gate: "kill", File: "kill.txt", Line: 4}
	for _, tt := range []struct {
		name      string
		explained admin.Explanation
		order     *admin.OutboxOrder
		want      []string
	}{
		{"rule", excluded(&admin.ExcludedBy{Gate: "rules", File: "/etc/x/CrawlConfig.xml", Line: 12, Rule: "rule 3"}), nil, []string{"Not in the index, because rule 3 at CrawlConfig.xml:12 says Ignore", `href="/rules"`, "not known"}},
		{"default", excluded(&admin.ExcludedBy{Gate: "default"}), nil, []string{"because no rule accepts it", "add a rule with Accept"}},
		{"gate", excluded(&admin.ExcludedBy{Gate: "domain", File: "crawl.rules", Line: 3, Rule: "forbid domain *"}), nil, []string{"it is stopped by the domain gate, crawl.rules:3: forbid domain *"}},
		{"unknown", admin.Explanation{Decision: "crawl", Index: true, Fifo: &fifo}, nil, []string{"Not in the index", "no page with a link to it was read yet", `action="/url/add"`}},
		{"indexed", stored(true, crawl.StoredURL{Class: "ok", Indexed: true, EnteredAt: &at}), nil, []string{"In the index</bdi> since <time datetime=\"2026-03-04T05:06:07Z\""}},
		{"on its way", stored(true, crawl.StoredURL{Class: "ok", Indexed: true, EnteredAt: &at}), &admin.OutboxOrder{State: "waiting", Op: "add"}, []string{"On its way to the index", `href="/outbox"`}},
		{"refused", stored(true, crawl.StoredURL{Class: "ok", Indexed: true}), &admin.OutboxOrder{State: "dead", Op: "add", Target: "papi", Words: "too large"}, []string{"The indexer refuses its document", "papi says: too large", `href="/outbox?state=dead"`}},
		{"held", stored(true, crawl.StoredURL{Class: "permanent", LastError: "404 Not Found"}), &admin.OutboxOrder{State: "held", Op: "delete"}, []string{"because the site does not have it", "The deletion of its document is held", `href="/deletions"`}},
		{"deletion waits", excluded(&admin.ExcludedBy{Gate: "default"}), &admin.OutboxOrder{State: push.Waiting, Op: "delete"}, []string{"because no rule accepts it", "The deletion of its document waits in the outbox", `href="/outbox"`}},
		{"deletion refused", stored(true, crawl.StoredURL{Class: "permanent"}), &admin.OutboxOrder{State: push.DeadLetter, Op: "delete", Target: "papi", Words: "locked"}, []string{"because the site does not have it", `class="notice bad"`, "The indexer refuses to delete its document", "papi says: locked", `href="/outbox?state=dead"`}},
		{"waits", stored(true, crawl.StoredURL{Class: "pending", State: "waiting", Fifo: "index"}), nil, []string{"it waits to be fetched", "the queue index"}},
		{"duplicate", stored(true, crawl.StoredURL{Class: "ok", DuplicateOf: "http://x.test/b"}), nil, []string{"because it is a duplicate", `href="/url?url=http%3A%2F%2Fx.test%2Fb"`}},
		{"redirect", stored(true, crawl.StoredURL{Class: "redirect", RedirectTo: "http://x.test/c"}), nil, []string{"because it redirects", `href="/url?url=http%3A%2F%2Fx.test%2Fc"`}},
		{"noindex", stored(true, crawl.StoredURL{Class: "ok", Directives: []string{"noindex"}}), nil, []string{"because the page asks for noindex"}},
		{"rule noindex", stored(false, crawl.StoredURL{Class: "ok"}), nil, []string{"because rule 1 at CrawlConfig.xml:9 says NoIndex"}},
		{"robots", forbidden, nil, []string{"because robots.txt forbids it"}},
		{"killed", killed, nil, []string{"because the kill list names it", "kill gate, kill.txt:4"}},
		{"temporary", stored(true, crawl.StoredURL{Class: "temporary", LastError: "503", Errors: 2}), nil, []string{"because the last visit failed", "503; 2 times in a row"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.explained.URL, tt.explained.Canonical = "http://x.test/", "http://x.test/"
			api := map[string]any{"POST /explain": []any{tt.explained}}
			if tt.order != nil {
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
}

func TestInspectorWithoutURL(t *testing.T) {
	c := newConsole(t, admin.Reader, answers(t, map[string]any{"POST /explain": []any{admin.Unreadable{URL: "x", Error: "no scheme"}}}))
	if code, body := visitPage(t, c, "/url"); code != http.StatusOK || !strings.Contains(body, "Any URL, also one that is not known") {
		t.Errorf("%d\n%s", code, body)
	}
	if code, body := visitPage(t, c, "/url?url=x"); code != http.StatusOK || !strings.Contains(body, "This is no URL that can be crawled: <bdi>no scheme</bdi>") {
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
	} {
		*notes = nil
		w := sendForm(t, c, form.path, url.Values{"url": {raw}, form.extra: {"yes"}})
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/url?url=http%3A%2F%2Fx.test%2F" || len(*notes) != 1 {
			t.Fatalf("%s: %d, to %s, %v", form.path, w.Code, w.Header().Get("Location"), *notes)
		}
		wantBody(t, (*notes)[0], strings.TrimPrefix(form.path, "/url"), form.want)
	}
	*notes = nil
	if w := sendForm(t, c, "/url/remove", url.Values{"url": {raw}}); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Remove this URL?") || len(*notes) > 0 {
		t.Errorf("remove does not ask first: %d, %v", w.Code, *notes)
	}
	if w := sendForm(t, c, "/url/remove", nil); w.Code != http.StatusBadRequest {
		t.Errorf("remove without a URL: %d", w.Code)
	}
}

func TestDecideDeletions(t *testing.T) {
	api := knownURL("http://x.test/", "404")
	api["POST /deletions/release"], api["POST /deletions/drop"] = admin.Decided{Deletions: 2}, admin.Decided{Deletions: 1}
	recorded, notes := recording(t, api)
	c := newConsole(t, admin.Operator, recorded)
	two := url.Values{"url": {"http://x.test/1", "http://x.test/2"}}
	w := sendForm(t, c, "/deletions/release", two)
	for _, want := range []string{"Release 2 held deletions?", "are no longer found", `name="url" value="http://x.test/2"`, `name="sure"`} {
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
	wantBody(t, (*notes)[1], "/deletions/drop", `{"all":true}`)
	if w := sendForm(t, c, "/deletions/drop", url.Values{"which": {"all"}}); !strings.Contains(w.Body.String(), "Drop all held deletions?") || !strings.Contains(w.Body.String(), "the documents stay in the index") {
		t.Errorf("drop all does not ask:\n%s", w.Body)
	}
	if w := sendForm(t, c, "/deletions/drop", url.Values{}); w.Code != http.StatusSeeOther || len(*notes) != 2 {
		t.Errorf("nothing selected: %d, %v", w.Code, *notes)
	}
}

// TestDecideFiltered: all that a filter finds is not all there are.
func TestDecideFiltered(t *testing.T) {
	notes := []asked{}
	c := newConsole(t, admin.Operator, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if r.URL.Query().Get("reason") != "404" || r.Header.Get("Accept") != "application/jsonl" {
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
	form := url.Values{"which": {"all"}, "in_reason": {"404"}}
	if w := sendForm(t, c, "/deletions/drop", form); !strings.Contains(w.Body.String(), "Drop all 2 held deletions that the filter finds?") || len(notes) > 0 {
		t.Fatalf("%v\n%s", notes, w.Body)
	}
	form.Set("sure", "yes")
	if w := sendForm(t, c, "/deletions/drop", form); w.Header().Get("Location") != "/deletions?reason=404" || len(notes) != 1 {
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
	many := strings.Repeat(`{"change":"new","url":"http://x.test/","at":"2026-01-02T03:04:05Z"}`+"\n", entriesShown+1)
	var asked url.Values
	c := newConsole(t, admin.Reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		_, _ = w.Write([]byte(many))
	}))
	_, body := visitPage(t, c, "/reports/changes?since=7d&host=x.test")
	for _, want := range []string{"There are more", `href="/api/v1/report/changes?format=csv&amp;host=x.test&amp;pages=0&amp;since=7d&amp;top=0"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%.3000s", want, body)
		}
	}
	if n := strings.Count(body, "<tr><td>new"); n != entriesShown {
		t.Errorf("%d entries are shown", n)
	}
	if asked.Get("limit") != "501" || asked.Get("since") != "7d" || asked.Get("host") != "x.test" {
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
	if code, body := visitPage(t, unknown, "/documents?url=http://x.test/"); code != http.StatusOK || !strings.Contains(body, "Nothing is known of") {
		t.Errorf("an unknown document: %d\n%s", code, body)
	}
	gone := newConsole(t, admin.Reader, answers(t, map[string]any{"GET /document": admin.Sent{URL: "http://x.test/"}}))
	if w := get(t, gone, "/documents/text?url=http://x.test/"); w.Code != http.StatusNotFound {
		t.Errorf("a document that has gone: %d", w.Code)
	}
	if code, body := visitPage(t, gone, "/documents?url=http://x.test/"); code != http.StatusOK || !strings.Contains(body, "No order about it is in the outbox") {
		t.Errorf("a document that has gone: %d\n%s", code, body)
	}
}

func TestLasting(t *testing.T) {
	if got := lasting(int64(3 * time.Hour / time.Second)); got != "3 h" {
		t.Errorf("3 h are %q", got)
	}
}
