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
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// configuration is an API that keeps one text.
type configuration struct {
	t          *testing.T
	text, etag string
	kept       []admin.ConfigVersion
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
	mux.HandleFunc("GET /api/v1/config/cases", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"c"`)
		_, _ = io.WriteString(w, "http://a/ crawl # </textarea>\r\n")
	})
	return mux
}

func (a *configuration) answer(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.t.Error(err)
	}
}

// TestRulesPage: the text stands in the page as text, whatever it holds.
func TestRulesPage(t *testing.T) {
	api := &configuration{t: t, etag: `"1"`, text: "\n<a>\r\n</textarea><script>alert(1)</script>\r\n</a>",
		kept: []admin.ConfigVersion{{Name: "CrawlConfig.xml.20260102-030405", Kept: time.Unix(1e9, 0), Bytes: 7}}}
	c := newConsole(t, admin.Operator, api.handler())
	status, body := visitPage(t, c, "/rules")
	for _, want := range []string{
		">\n\n&lt;a&gt;\n&lt;/textarea&gt;&lt;script&gt;", `name="etag" value="&#34;1&#34;"`, `data-file="CrawlConfig.xml" data-crawlers="[&#34;a&#34;]">`,
		`class="take" data-name="CrawlConfig.xml.20260102-030405"`, "7 B",
		"<caption>1 text that was in force</caption>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%d, without %s:\n%s", status, want, body)
		}
	}
	if strings.Contains(body, "<script>") || !strings.Contains(body, `value="lf"`) {
		t.Error("a script stands in the page, or its line ends are others")
	}
	api.text = "<a>\r\n</a>"
	if _, body := visitPage(t, c, "/rules"); !strings.Contains(body, `value="crlf"`) {
		t.Error("the line ends of Windows are not kept")
	}
	reader := newConsole(t, admin.Reader, api.handler())
	if status, body := visitPage(t, reader, "/rules"); status != http.StatusForbidden || strings.Contains(body, "&lt;a&gt;") || strings.Contains(body, `href="/rules"`) {
		t.Errorf("a reader: %d\n%s", status, body)
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
