package console

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/meter"
	visiting "github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
)

// hostile are texts as crawled pages, servers and indexers may send them.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `" onmouseover="alert(1)`, `'><img src=x onerror=alert(1)>`, `</title><script>alert(1)</script>`,
		"\u202Eevil\u2066", "a\x00b\x1b[31mc", `{{.Data}}`, `javascript:alert(1)`, strings.Repeat("x", 1<<20),
	}
}

// forbidden returns what no page may hold: what could run, or turn the text around it.
func forbidden() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<script>|<script[^>]*src="[^/]|<img|<(?:[^>"]|"[^"]*")* (?:on[a-z]+|style)=|href="javascript:|[\x00-\x08\x0b\x0c\x0e-\x1f\x{202a}-\x{202e}\x{2066}-\x{2069}]`)
}

// TestForbidden: the test below can fail.
func TestForbidden(t *testing.T) {
	for _, s := range []string{`<script>alert(1)</script>`, `<a onclick="x">`, `<p style="x">`, `<a href="javascript:x">`, "\u202E", "\x00", `<script src="http://a/">`} {
		if !forbidden().MatchString(s) {
			t.Errorf("%q is not found", s)
		}
	}
}

// TestHostileTextIsShown: on the overview and the pages of hosts hostile text runs
// nowhere, breaks out of nothing, and is cut.
func TestHostileTextIsShown(t *testing.T) {
	at := time.Unix(1e9, 0)
	never, tags := forbidden(), regexp.MustCompile(`<[^>]*>`)
	for _, bad := range hostile() {
		status := admin.Status{Status: crawl.Status{
			Crawler: "a", Idle: bad, ConfigError: bad,
			Targets:  []crawl.TargetStatus{{Name: bad, LastError: bad, DownSince: &at}},
			Sessions: []visiting.SessionStatus{{Name: bad, State: "failed", Words: bad}},
		}}
		reading := readingStatus(bad)
		status.Fields, status.Rendered, status.Browser = reading.Fields, reading.Rendered, reading.Browser
		status.Browser.Trouble, status.Browser.Since = bad, &at
		status.Schedules = []crawl.Schedule{{Spec: bad, Group: bad, Next: at}}
		host := admin.HostStatus{Host: bad, Waiting: 1, ClosedUntil: &at, ClosedBy: bad, Address: bad}
		c := newConsole(t, admin.Operator, answers(t, map[string]any{
			"GET /status":    []admin.Status{status},
			"GET /hosts":     []admin.HostStatus{host},
			"GET /hosts/all": report.HostsPage{Known: 1, Hosts: []report.HostRow{{Host: bad, URLs: 1, Robots: bad, Ill: true}}},
			"GET /hosts/ill": []scheduler.IllHost{{Origin: bad, Since: at}},
			"GET /host":      admin.HostDetails{HostStatus: host, Queue: []admin.QueuedURL{{URL: bad, Source: bad}}, Pages: &meter.HostPagesStatus{LogIns: []string{bad}}},
			"GET /urls":      map[string]any{"items": []report.StoredURL{{URL: bad, Class: "ok"}}, "next": bad},
		}))
		for _, path := range []string{
			"/", "/hosts?sort=-urls", "/hosts?show=waiting", "/hosts?show=resting", "/hosts?show=ill", "/hosts/x",
		} {
			code, body := visitPage(t, c, path)
			if code != http.StatusOK {
				t.Errorf("%s with %.20q: %d", path, bad, code)
			}
			body = strings.ReplaceAll(body, strings.Repeat("x", 1<<20), "LONG") // the whole URL, in links alone
			if found := never.FindString(body); found != "" {
				t.Errorf("%s with %.20q holds %.80q", path, bad, found)
			}
			// The address of a link holds a whole URL; text is cut.
			if text := tags.ReplaceAllString(body, ""); len(text) > 20_000 || strings.Contains(text, "LONG") {
				t.Errorf("%s with %.20q has %d bytes of text", path, bad, len(text))
			}
		}
	}
}

// TestProblemsAreShown: what the API refuses becomes a page of its status, with the words escaped.
func TestProblemsAreShown(t *testing.T) {
	for _, bad := range hostile() {
		p := &admin.Problem{Status: http.StatusServiceUnavailable, Title: bad, Detail: bad, Findings: []admin.Finding{{File: bad, Message: bad}}}
		c := newConsole(t, admin.Reader, answers(t, map[string]any{"GET /status": p}))
		code, body := visitPage(t, c, "/")
		if found := forbidden().FindString(body); code != http.StatusServiceUnavailable || found != "" {
			t.Errorf("%.20q: %d, %.80q", bad, code, found)
		}
	}
}

// TestTroublesLeadToTheirPages: each thing that needs a person links to where it is
// dealt with; a reader is not led to what a reader may not see.
func TestTroublesLeadToTheirPages(t *testing.T) {
	at := time.Unix(1e9, 0)
	status := admin.Status{Status: crawl.Status{
		Crawler: "a", ConfigError: "CrawlConfig.xml:3:5: broken", Paused: true, Outbox: crawl.OutboxStatus{Pending: 1, Dead: 1200},
		Targets: []crawl.TargetStatus{{Name: "papi", DownSince: &at, LastError: "refused"}},
	}}
	status.IllHosts, status.DeletionsSince, status.Lost = 2, &at, 3
	status.DeletionsByClass = map[string]uint64{"most": 1}
	status.Edits = []admin.EditStatus{{Edit: deletion.Edit{Number: 17, State: deletion.EditHeld}, LossCounts: admin.LossCounts{Pending: 15, Moves: 15}}, {Edit: deletion.Edit{Number: 18}, LossCounts: admin.LossCounts{Pending: 1}}}
	status.Store = &admin.StoreStatus{Stats: store.Stats{Stats: kv.Stats{DiskFree: 1 << 20, DiskSize: 1 << 40}}}
	api := answers(t, map[string]any{"GET /status": []admin.Status{status}})
	_, body := visitPage(t, newConsole(t, admin.Operator, api), "/")
	for _, want := range []string{
		`href="/rules"`, `href="/hosts?show=ill"`, "1 pending deletion or new text is among more than a fifth of a host's documents, the oldest since", `href="/deletions">Release or drop them`, "Edit 17 of the rules: 15 moves off a target pending until the operator releases them.", `href="/deletions?edit=17"`, "1,200 dead letters: an indexer refuses them.",
		`href="/urls?fate=body_lost">Show 3 URLs</a>`, "3 documents were damaged on disk before they were sent",
		`<dt>Documents lost</dt><dd class="warn-text"><a href="/urls?fate=body_lost">3</a>`,
		"2 hosts are ill", "The disk is nearly full: 1.0 MiB are free", "The indexer <bdi>papi</bdi> has been unreachable since", "CrawlConfig.xml:3:5: broken", "The crawl is paused", `action="/resume"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the operator's overview lacks %q", want)
		}
	}
	_, body = visitPage(t, newConsole(t, admin.Reader, api), "/")
	for _, not := range []string{"Release or drop", `id="pause"`, `<textarea`} {
		if strings.Contains(usable(body), not) {
			t.Errorf("the reader's overview has %q", not)
		}
	}
}

// TestSteer: the buttons of the overview do what the API does, and lead back.
func TestSteer(t *testing.T) {
	var asked []string
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		if strings.HasPrefix(r.URL.Path, "/api/v1/add") {
			_, _ = w.Write([]byte(`[{"url":"a","result":"queued"},{"url":"b","result":"not_a_url","words":"no scheme"}]`))
			return
		}
		_, _ = w.Write([]byte("{}"))
	})
	c := newConsole(t, admin.Operator, api, "a", "b")
	for path, want := range map[string]string{"/pause?crawler=b": "POST /api/v1/pause?crawler=b", "/resume": "POST /api/v1/resume?crawler=a", "/add": "POST /api/v1/add?crawler=a"} {
		asked = nil
		w := sendForm(t, c, path, url.Values{"urls": {"a\r\nb"}})
		if w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/?crawler=") || len(asked) != 1 || asked[0] != want {
			t.Errorf("%s: %d to %s, asked %v", path, w.Code, w.Header().Get("Location"), asked)
		}
	}
	c = newConsole(t, admin.Reader, api)
	for _, path := range []string{"/pause", "/resume", "/add"} {
		asked = nil
		if w := sendForm(t, c, path, nil); w.Code != http.StatusForbidden || asked != nil {
			t.Errorf("%s of a reader: %d, asked %v", path, w.Code, asked)
		}
	}
}

// TestHostsByParts: the list goes on by its next link, and ends.
func TestHostsByParts(t *testing.T) {
	var all []admin.HostStatus
	for i := range 1000 {
		all = append(all, admin.HostStatus{Host: "http://h.test:" + string(rune('0'+i%10)), Waiting: uint64(1000 - i)})
	}
	c := newConsole(t, admin.Reader, answers(t, map[string]any{
		"GET /hosts": all, "GET /status": []map[string]any{{"crawler": "a", "hosts": map[string]int{"with_work": 5000}}},
	}))
	next := regexp.MustCompile(`rel="next" href="([^"]*)"`)
	path, pages, rows := "/hosts?show=waiting", 0, 0
	for path != "" && pages < 20 {
		code, body := visitPage(t, c, path)
		if code != http.StatusOK {
			t.Fatalf("%s: %d", path, code)
		}
		saysAll(t, path, body, "<caption>5,000 hosts")
		rows += strings.Count(body, `<th scope="row"`)
		path, pages = "", pages+1
		if m := next.FindStringSubmatch(body); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if pages != 10 || rows != 1000 {
		t.Errorf("%d rows on %d pages", rows, pages)
	}
	for _, from := range []string{"-1", "1000", "x"} {
		if code, _ := visitPage(t, c, "/hosts?show=waiting&from="+from); code != http.StatusBadRequest {
			t.Errorf("from=%s: %d", from, code)
		}
	}
	w := get(t, c, "/hosts?host=https%3A%2F%2Fa.test%2Fx%3Fy")
	if got := w.Header().Get("Location"); got != "/hosts/https:%2F%2Fa.test%2Fx%3Fy" {
		t.Errorf("the search leads to %s", got)
	}
	if code, _ := visitPage(t, newConsole(t, admin.Reader, answers(t, map[string]any{"GET /host": admin.HostDetails{}, "GET /status": []map[string]string{{"crawler": "a"}}, "GET /hosts/all": report.HostsPage{}})), w.Header().Get("Location")); code != http.StatusOK {
		t.Errorf("the page of the host: %d", code)
	}
}

// TestTotalsAreShown: a page that shows a part of a list has the length of the whole list above it.
func TestTotalsAreShown(t *testing.T) {
	until := time.Now().Add(time.Hour)
	rests := slices.Repeat([]admin.HostStatus{{Host: "http://h.test", ClosedUntil: &until, ClosedBy: "backoff"}}, 101)
	order := []push.Listed{{Entry: push.Entry{URL: "http://a.test/"}}}
	for _, c := range []struct {
		path, api string
		answer    any
		want      string
	}{
		{"/hosts?show=resting", "GET /hosts", rests, "3,500 hosts that may not be visited"},
		{"/hosts?show=resting", "GET /hosts", rests[:2], "2 hosts that may not be visited"},
		{"/hosts?show=ill", "GET /hosts/ill", make([]scheduler.IllHost, 101), "2,000 hosts whose"},
		{"/outbox?state=dead&source=s", "GET /outbox", map[string]any{"items": order, "total": 1}, "1 dead letter matching"},
		{"/outbox?state=waiting&source=s", "GET /outbox", map[string]any{"items": order, "total": 12_000},
			"12,000 orders matching"},
		{"/outbox?state=pending&source=s", "GET /outbox", map[string]any{"items": order, "total": admin.MostCounted, "next": "x"},
			"At least 10,000 orders matching"},
		{"/outbox?state=waiting&source=s", "GET /outbox", map[string]any{"items": order, "total": 9999, "next": "x"},
			"9,999 orders matching"},
	} {
		api := answers(t, map[string]any{c.api: c.answer, "GET /status": []map[string]any{{
			"crawler": "a", "hosts": map[string]int{"closed": 4000}, "ill_hosts": 2000,
			"closed_for": map[string]int{"throttle": 500, "backoff": 3500},
		}}})
		_, body := visitPage(t, newConsole(t, admin.Reader, api), c.path)
		saysAll(t, c.path, body, "<caption>"+c.want)
	}
}

// TestHostsListComesAfterThePage: the page of all hosts does not ask for the list, which counts all stored URLs; the
// page loads it afterwards, a page of it at a time.
func TestHostsListComesAfterThePage(t *testing.T) {
	var asked []string
	api := answers(t, map[string]any{
		"GET /status":    []map[string]string{{"crawler": "a"}},
		"GET /hosts/all": report.HostsPage{Known: 50_000, Hosts: []report.HostRow{{Host: "http://a.test", URLs: 1}}},
	})
	c := newConsole(t, admin.Reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/status" {
			asked = append(asked, r.URL.Path+" "+r.URL.Query().Get("limit"))
		}
		api.ServeHTTP(w, r)
	}))
	code, body := visitPage(t, c, "/hosts")
	m := regexp.MustCompile(`id="list" hx-get="([^"]*)" hx-trigger="load"`).FindStringSubmatch(body)
	if code != http.StatusOK || m == nil || asked != nil {
		t.Fatalf("%d, asked for %q:\n%s", code, asked, body)
	}
	_, body = visitPage(t, c, strings.ReplaceAll(m[1], "&amp;", "&"))
	saysAll(t, "the list", body, "http://a<wbr>.test", "50,000 hosts with stored URLs", `rel="next"`)
	if want := []string{"/api/v1/hosts/all 100"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// TestVendoredFiles: scripts of others are those that VENDOR.md names, unchanged.
func TestVendoredFiles(t *testing.T) {
	notes, err := os.ReadFile("static/vendor/VENDOR.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS("."), "static/vendor", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".md") {
			return err
		}
		body, err := os.ReadFile(name) // the licences are not embedded
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(d.Name()) + ` \|.*` + hex.EncodeToString(sum[:]))
		if !row.Match(notes) {
			t.Errorf("VENDOR.md has no row of %s with its sum %x", d.Name(), sum)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFiles: what is kept by browsers has a name of its content, and notes are not served.
func TestFiles(t *testing.T) {
	c := newConsole(t, admin.Nobody, http.NotFoundHandler())
	get := func(path, etag string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", etag)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w
	}
	named := c.files.address("style.css")
	w := get(named, "")
	if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("%s: %d %v", named, w.Code, w.Header())
	}
	if w := get(named, w.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("again: %d", w.Code)
	}
	if w := get("/static/style.css?v=old", ""); w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("an old name: %v", w.Header())
	}
	for _, path := range []string{"/static/vendor/VENDOR.md", "/static/", "/static/../console.go", "/static/none.js"} {
		if w := get(path, ""); w.Code == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
}

// TestFilesOfTemplates: what templates name is there.
func TestFilesOfTemplates(t *testing.T) {
	f, err := loadFiles()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\{\{static "([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			if _, ok := f.byPath["/static/"+m[1]]; !ok {
				t.Errorf("%s names %s, which is not there", name, m[1])
			}
		}
		if found := regexp.MustCompile(`(?i) style="| on[a-z]+="|<script>|<style|https?://[a-z0-9.]+/[^"]*\.(js|css)`).Find(text); found != nil {
			t.Errorf("%s holds %s, which the policy forbids", name, found)
		}
	}
}
