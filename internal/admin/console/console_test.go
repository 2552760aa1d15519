package console

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// fakeService is an API of fixed answers, and somebody who asks with a role.
type fakeService struct {
	api  http.Handler
	role admin.Role
}

func (f fakeService) Caller(*http.Request) (admin.Caller, *admin.Problem) {
	return admin.Caller{Role: f.role, Name: "test"}, nil
}

func (f fakeService) SignIn(*http.Request, string) (admin.Caller, *admin.Problem) {
	return admin.Caller{}, &admin.Problem{Status: http.StatusUnauthorized, Detail: "this token is wrong"}
}
func (f fakeService) As(admin.Caller) http.Handler { return f.api }

// newConsole returns a console over an API, for a visitor with a role. Without names there is one Crawler, a.
func newConsole(t *testing.T, role admin.Role, api http.Handler, crawlers ...string) *Console {
	t.Helper()
	if crawlers == nil {
		crawlers = []string{"a"}
	}
	return consoleOf(t, role, api, Settings{Crawlers: crawlers, Version: "test", Config: "/etc/sextant/CrawlConfig.xml"})
}

func consoleOf(t *testing.T, role admin.Role, api http.Handler, s Settings) *Console {
	t.Helper()
	c, err := New(fakeService{api, role}, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answers returns an API that answers with fixed JSON, by method and path without /api/v1. What is not there is 404.
func answers(t *testing.T, byPath map[string]any) http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range byPath {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/v1"+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(admin.TotalHeader, "1")
			status := http.StatusOK
			if p, ok := answer.(*admin.Problem); ok {
				status = p.Status
			}
			w.WriteHeader(status)
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		})
	}
	return mux
}

// get gives the answer of a page.
func get(t *testing.T, c *Console, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

// visitPage opens a page and gives the status and body of its answer.
func visitPage(t *testing.T, c *Console, path string) (int, string) {
	t.Helper()
	w := get(t, c, path)
	return w.Code, w.Body.String()
}

// sendForm posts a form as a page of the console does.
func sendForm(t *testing.T, c *Console, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://example.com") // the host of requests of httptest
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// textOf returns what a page says, without its markup.
func textOf(body string) string {
	_, body, _ = strings.Cut(body, "<main")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")), " ")
}

// saysAll fails where a page lacks something.
func saysAll(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: the page lacks %q:\n%s", what, w, text)
		}
	}
}

// TestEveryPageIsGuarded: pages require a token, and restrict what a browser may do with them.
func TestEveryPageIsGuarded(t *testing.T) {
	c := consoleOf(t, admin.Local, http.NotFoundHandler(), Settings{Crawlers: []string{"a"}})
	for _, p := range pages() {
		method, path, _ := strings.Cut(p.pattern, " ")
		path = strings.NewReplacer("{$}", "", "{host}", "x", "{path...}", "x", "{name}", "x").Replace(path)
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.Header.Set("Origin", "http://example.com")
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Security-Policy"); got != contentPolicy {
			t.Errorf("%s: policy %q", p.pattern, got)
		}
		if p.role > admin.Local && (w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/signin")) {
			t.Errorf("%s: %d %s, want the way to sign in", p.pattern, w.Code, w.Header().Get("Location"))
		}
		if strings.HasPrefix(path, "/sign") {
			continue
		}
		if p.role < admin.Reader {
			t.Errorf("%s needs no token", p.pattern)
		}
		if method == http.MethodPost && p.role < admin.Operator {
			t.Errorf("%s changes something for a reader", p.pattern)
		}
	}
}

// TestChangesComeFromPages: a form that does not say where it comes from does nothing.
func TestChangesComeFromPages(t *testing.T) {
	c := newConsole(t, admin.Operator, http.NotFoundHandler())
	for _, p := range pages() {
		method, path, _ := strings.Cut(p.pattern, " ")
		if method != http.MethodPost {
			continue
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if w.Code != http.StatusForbidden {
			t.Errorf("%s without an Origin: %d", p.pattern, w.Code)
		}
	}
}

func TestChosenCrawler(t *testing.T) {
	api := answers(t, map[string]any{"GET /status": []admin.Status{{Status: crawl.Status{Crawler: "a"}}, {Status: crawl.Status{Crawler: "b & c"}}}})
	c := newConsole(t, admin.Reader, api, "a", "b & c")
	if status, body := visitPage(t, c, "/?crawler=b+%26+c"); status != http.StatusOK || !strings.Contains(body, `<option selected>b &amp; c</option>`) || !strings.Contains(body, `href="/?crawler=b&#43;%26&#43;c"`) && !strings.Contains(body, `href="/?crawler=b&#43;%26&#43;c`) {
		t.Errorf("%d\n%s", status, body)
	}
	if status, _ := visitPage(t, c, "/?crawler=nobody"); status != http.StatusNotFound {
		t.Errorf("a Crawler that is not there: %d", status)
	}
	if _, body := visitPage(t, newConsole(t, admin.Reader, api), "/"); strings.Contains(body, "chooser") {
		t.Error("one Crawler can be chosen")
	}
}

// TestChooserAfterForms: what answers a form has no address of its own, so the chooser
// there leads to a page that can be opened.
func TestChooserAfterForms(t *testing.T) {
	c := newConsole(t, admin.Operator, answers(t, knownURL("http://x.test/", "words")), "a", "b")
	chooser := regexp.MustCompile(`<form class="chooser" method="get" action="([^"]*)">`)
	for path, want := range map[string]string{
		"/url/remove": "/url", "/url/fetch": "/url", "/deletions/release": "/deletions", "/outbox/drop": "/outbox", "/pause": "/",
	} {
		w := sendForm(t, c, path, url.Values{"url": {"http://x.test/"}, "which": {"all"}})
		found := chooser.FindStringSubmatch(w.Body.String())
		if found == nil {
			t.Errorf("%s: no Crawler can be chosen: %d\n%s", path, w.Code, w.Body)
			continue
		}
		if to, _, _ := strings.Cut(found[1], "?"); to != want {
			t.Errorf("%s: another Crawler leads to %s, want %s", path, to, want)
		}
	}
}
