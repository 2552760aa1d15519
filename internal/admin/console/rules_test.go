package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// configuration is an API that keeps one text.
type configuration struct {
	t          *testing.T
	text, etag string
	kept       []admin.ConfigVersion
	put        []string // what was saved
	word       []string // what ?yes= said then
}

func (a *configuration) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/config", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", a.etag)
		w.Header().Set("Content-Disposition", `inline; filename=CrawlConfig.xml`)
		_, _ = io.WriteString(w, a.text)
	})
	mux.HandleFunc("GET /api/v1/config/versions", func(w http.ResponseWriter, _ *http.Request) {
		a.answer(w, http.StatusOK, map[string]any{"items": a.kept})
	})
	mux.HandleFunc("GET /api/v1/config/version", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("name") != "CrawlConfig.xml.20260102-030405" {
			a.answer(w, http.StatusNotFound, admin.Problem{Status: http.StatusNotFound, Title: "Not Found", Detail: "no such text"})
			return
		}
		_, _ = io.WriteString(w, "<old/>\r\n")
	})
	mux.HandleFunc("GET /api/v1/config/cases", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"c"`)
		_, _ = io.WriteString(w, "http://a/ crawl # </textarea>\r\n")
	})
	mux.HandleFunc("POST /api/v1/preview", func(w http.ResponseWriter, r *http.Request) {
		var in admin.PreviewRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			a.t.Error(err)
		}
		switch {
		case strings.Contains(in.Config, "broken"):
			a.answer(w, http.StatusUnprocessableEntity, admin.Problem{Status: http.StatusUnprocessableEntity, Detail: "errors", Findings: []admin.Finding{broken()}})
		case strings.Contains(in.Config, "slow"):
			a.answer(w, http.StatusServiceUnavailable, admin.Problem{Status: http.StatusServiceUnavailable, Detail: "too much at once"})
		case strings.Contains(in.Config, "deletes"):
			by := review.PreviewCause{Reason: crawlspace.Reason{Gate: crawlspace.GateRules, File: "CrawlConfig.xml", Line: 7, Rule: "rule 2"}, Count: 12}
			a.answer(w, http.StatusOK, review.Preview{Indexed: 20, Held: 12, Deleted: review.PreviewGroup{Count: 12, By: []review.PreviewCause{by}}})
		default:
			a.answer(w, http.StatusOK, review.Preview{Indexed: 20})
		}
	})
	mux.HandleFunc("POST /api/v1/check", func(w http.ResponseWriter, r *http.Request) {
		var in admin.CheckRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			a.t.Error(err)
		}
		check := admin.Check{Valid: true, Findings: []admin.Finding{}}
		if strings.Contains(in.Config, "broken") {
			check = admin.Check{Findings: []admin.Finding{broken()}}
		}
		a.answer(w, http.StatusOK, check)
	})
	mux.HandleFunc("PUT /api/v1/config", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			a.t.Error(err)
		}
		switch {
		case r.Header.Get("If-Match") != a.etag:
			a.answer(w, http.StatusPreconditionFailed, admin.Problem{Status: http.StatusPreconditionFailed, Detail: "changed"})
		case strings.Contains(string(text), "broken"):
			a.answer(w, http.StatusUnprocessableEntity, admin.Problem{Status: http.StatusUnprocessableEntity, Detail: "errors", Findings: []admin.Finding{broken()}})
		default:
			a.put, a.etag = append(a.put, string(text)), `"2"`
			a.word = append(a.word, r.URL.Query().Get("yes"))
			a.answer(w, http.StatusOK, admin.Written{ETag: a.etag, Kept: "old", Words: "the port is taken <b>"})
		}
	})
	return mux
}

func broken() admin.Finding {
	return admin.Finding{Severity: "error", File: "CrawlConfig.xml", Line: 3, Column: 5, Message: `unknown element <script>alert(1)</script>`}
}

func (a *configuration) answer(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.t.Error(err)
	}
}

// TestRulesPage: the text stands in the page as text, whatever it holds, and older ones can be taken.
func TestRulesPage(t *testing.T) {
	api := &configuration{t: t, etag: `"1"`, text: "\n<a>\r\n</textarea><script>alert(1)</script>\r\n</a>",
		kept: []admin.ConfigVersion{{Name: "CrawlConfig.xml.20260102-030405", Kept: time.Unix(1e9, 0), Bytes: 7}}}
	c := newConsole(t, admin.Operator, api.handler())
	status, body := visitPage(t, c, "/rules")
	for _, want := range []string{
		">\n\n&lt;a&gt;\n&lt;/textarea&gt;&lt;script&gt;", `name="etag" value="&#34;1&#34;"`, `data-file="CrawlConfig.xml" data-crawlers="[&#34;a&#34;]">`, // nothing is unsaved
		`href="/rules?take=CrawlConfig.xml.20260102-030405"`, "7 B",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%d, without %s:\n%s", status, want, body)
		}
	}
	if strings.Contains(body, "<script>") {
		t.Error("a script stands in the page")
	}
	if status, body := visitPage(t, c, "/rules?take=CrawlConfig.xml.20260102-030405"); status != http.StatusOK || !strings.Contains(body, "&lt;old/&gt;\n</textarea>") ||
		!strings.Contains(body, " data-unsaved>") || !strings.Contains(body, `value="crlf"`) {
		t.Errorf("an older text: %d\n%s", status, body)
	}
	if status, _ := visitPage(t, c, "/rules?take=other"); status != http.StatusNotFound {
		t.Errorf("a text that is not kept: %d", status)
	}
	reader := newConsole(t, admin.Reader, api.handler())
	if status, body := visitPage(t, reader, "/rules"); status != http.StatusForbidden || strings.Contains(body, "&lt;a&gt;") || strings.Contains(body, `href="/rules"`) {
		t.Errorf("a reader: %d\n%s", status, body)
	}
	if w := sendForm(t, reader, "/rules", url.Values{"do": {"save"}, "etag": {`"1"`}, "text": {"<b/>"}}); w.Code != http.StatusForbidden || len(api.put) > 0 {
		t.Errorf("a reader saves: %d, %q", w.Code, api.put)
	}
}

// TestRulesThatCannotBeEdited: a text that would be damaged is not put into the editor.
func TestRulesThatCannotBeEdited(t *testing.T) {
	for name, text := range map[string]string{
		"another encoding": `<?xml version="1.0" encoding='ISO-8859-1'?><a/>`, "another behind a mark": "\uFEFF<?xml version=\"1.0\" encoding=\"latin1\"?><a/>", "UTF-16": "\xff\xfe<\x00a\x00", "too large": strings.Repeat(" ", maxEdited) + "<a/>",
	} {
		c := newConsole(t, admin.Operator, (&configuration{t: t, text: text}).handler())
		if status, body := visitPage(t, c, "/rules"); status != http.StatusOK || strings.Contains(body, "<textarea") || !strings.Contains(body, `role="alert"`) {
			t.Errorf("%s: %d\n%.3000s", name, status, body)
		}
	}
	for _, text := range []string{"", "<a/>", `<?xml version="1.0" encoding="utf-8"?><ä/>`, "\uFEFF<a/>", `<a encoding="latin1"/>`} {
		if why := notEdited([]byte(text)); why != "" {
			t.Errorf("%q: %s", text, why)
		}
	}
}

// TestRulesWithoutScript: a form checks and saves; what was typed stays, whatever
// becomes of it; the line ends are the file's.
func TestRulesWithoutScript(t *testing.T) {
	api := &configuration{t: t, etag: `"1"`, text: "<now/>"}
	c := newConsole(t, admin.Operator, api.handler())
	send := func(what, etag, lines, text string) (int, string) {
		w := sendForm(t, c, "/rules", url.Values{"do": {what}, "etag": {etag}, "lines": {lines}, "text": {text}})
		return w.Code, w.Body.String()
	}
	const shown = "Line 3, column 5: <span class=\"tag bad\">error</span> <bdi>unknown element &lt;script&gt;"
	for _, one := range []struct {
		what, etag, text string
		status           int
		want             string
	}{
		{"check", `"1"`, "<broken/>", 200, shown},
		{"check", `"1"`, "<good/>", 200, "can be saved"},
		{"save", `"1"`, "<broken/>", 422, shown},
		{"save", `"1"`, `<?xml version="1.0" encoding="latin1"?>`, 422, "latin1"},
		{"save", `"0"`, "<mine/>", 412, "&lt;now/&gt;</textarea>"}, // theirs
	} {
		status, body := send(one.what, one.etag, "lf", one.text)
		if status != one.status || !strings.Contains(body, one.want) || !strings.Contains(body, strings.NewReplacer("<", "&lt;", ">", "&gt;", `"`, "&#34;").Replace(one.text)+"</textarea>") || !strings.Contains(body, "data-unsaved") {
			t.Errorf("%s %s: %d\n%s", one.what, one.text, status, body)
		}
	}
	if len(api.put) > 0 {
		t.Errorf("saved: %q", api.put)
	}
	if _, body := send("save", `"0"`, "lf", "<mine/>"); !strings.Contains(body, `name="etag" value="&#34;1&#34;"`) {
		t.Error("after a conflict the text cannot be saved again")
	}
	status, body := send("save", `"1"`, "lf", "<a>\r\n</a>")
	if status != http.StatusOK || !strings.Contains(body, "not in force: <bdi>the port is taken &lt;b&gt;") || !strings.Contains(body, `value="&#34;2&#34;"`) || strings.Contains(body, "data-unsaved") {
		t.Errorf("saved: %d\n%s", status, body)
	}
	send("save", `"2"`, "crlf", "<a>\r\n</a>")
	if len(api.put) != 2 || api.put[0] != "<a>\n</a>" || api.put[1] != "<a>\r\n</a>" {
		t.Errorf("what was saved: %q", api.put)
	}
}

// TestRulesAskFirst: what a text deletes is told before it is saved; the answer saves it.
func TestRulesAskFirst(t *testing.T) {
	api := &configuration{t: t, etag: `"1"`, text: "<now/>"}
	c := newConsole(t, admin.Operator, api.handler())
	send := func(do, text string) string {
		w := sendForm(t, c, "/rules", url.Values{"do": {do}, "etag": {api.etag}, "lines": {"lf"}, "text": {text}})
		if w.Code != http.StatusOK {
			t.Errorf("%s %s: %d", do, text, w.Code)
		}
		return w.Body.String()
	}
	for text, words := range map[string][]string{
		"<deletes/>": {"It deletes 12 of 20 documents.", "without your word", "12 documents by <bdi>rule 2, CrawlConfig.xml:7", `value="save-delete"`, `value="save-hold"`, "&lt;deletes/&gt;</textarea>", "data-unsaved"},
		"<slow/>":    {"could not be counted: <bdi>too much at once", `value="save-hold"`},
	} {
		body := send("save", text)
		for _, want := range words {
			if !strings.Contains(body, want) {
				t.Errorf("%s: without %s:\n%s", text, want, body)
			}
		}
	}
	if len(api.put) > 0 {
		t.Fatalf("saved before the answer: %q", api.put)
	}
	send("save-delete", "<deletes/>")
	send("save-hold", "<deletes/>")
	if len(api.put) != 2 || !slices.Equal(api.word, []string{"true", ""}) {
		t.Errorf("saved: %q with the word %q", api.put, api.word)
	}
}

// TestRulesPageAtALine: verdicts lead to the line of the rule; the cases stand in the page as text.
func TestRulesPageAtALine(t *testing.T) {
	api := &configuration{t: t, etag: `"1"`, text: "<now/>"}
	mux := http.NewServeMux()
	mux.Handle("/", api.handler())
	at := func(file string, line int) *crawlspace.Reason {
		return &crawlspace.Reason{Gate: "rules", Rule: "rule 2", File: file, Line: line}
	}
	mux.HandleFunc("POST /api/v1/explain", func(w http.ResponseWriter, r *http.Request) {
		var in admin.ExplainRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		x := admin.Explanation{URL: in.URLs[0], Canonical: in.URLs[0], ExcludedBy: at("/etc/sextant/CrawlConfig.xml", 1234)}
		if strings.Contains(in.URLs[0], "gate") {
			x.ExcludedBy = at("/etc/sextant/crawl.rules", 3)
		}
		api.answer(w, http.StatusOK, []admin.Explanation{x})
	})
	c := newConsole(t, admin.Operator, mux)
	for raw, want := range map[string]string{"http://a/x": "/rules?line=1234", "http://a/gate": "/url?url=http%3A%2F%2Fa%2Fgate"} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/url/rule?url="+url.QueryEscape(raw), nil))
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%s leads to %d %s, want %s", raw, w.Code, w.Header().Get("Location"), want)
		}
	}
	if status, body := visitPage(t, c, "/rules?line=1234"); status != http.StatusOK || !strings.Contains(body, ` data-line="1234"`) ||
		!strings.Contains(body, `data-etag="&#34;c&#34;"`) || !strings.Contains(body, ">\nhttp://a/ crawl # &lt;/textarea&gt;\n</textarea>") {
		t.Errorf("%d\n%s", status, body)
	}
	if status, body := visitPage(t, c, "/url?url=http://a/x"); status != http.StatusOK || !strings.Contains(body, `rule 2, <a href="/rules?line=1234"><bdi>CrawlConfig.xml:1234`) {
		t.Errorf("the inspector: %d\n%s", status, body)
	}
	if status, body := visitPage(t, newConsole(t, admin.Reader, mux), "/url?url=http://a/x"); status != http.StatusOK || strings.Contains(body, "/rules") {
		t.Errorf("a reader is led to the editor: %d\n%s", status, body)
	}
}

// TestVendorSums: the files of others are those whose versions and licences are told.
func TestVendorSums(t *testing.T) {
	table := testdir.Read(t, "static/vendor/VENDOR.md")
	told := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+) \|.*\| (\w{64}) \|$`).FindAllStringSubmatch(string(table), -1) {
		told[m[1]] = m[2]
	}
	entries, err := os.ReadDir("static/vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") {
			continue
		}
		text, err := os.ReadFile("static/vendor/" + e.Name())
		sum := sha256.Sum256(text)
		if err != nil || told[e.Name()] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: sum %x, told %s, %v", e.Name(), sum, told[e.Name()], err)
		}
		delete(told, e.Name())
	}
	for name := range told {
		t.Errorf("%s is told of and not there", name)
	}
}
